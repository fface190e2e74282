// Decays to responses, in blocks that run in parallel: see simulate.hpp.
#include "kernels/strip/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/math/units.hpp"
#include "kernels/simulate/alias_table.hpp"
#include "kernels/simulate/random.hpp"
#include "kernels/strip/strip_events.hpp"
#include "kernels/strip/strip_scanner.hpp"

namespace tofstream {
namespace {

constexpr int draws_per_block = 1 << 14;
constexpr std::uint64_t strip_pilot_streams = std::uint64_t{1} << 63;  // numbers that no block reaches
constexpr double cell_mm = 2;

void require_strips(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

/// Points of a phantom's plane x = 0 between the strips, drawn by its activity.
class PlaneSampler {
 public:
  PlaneSampler(const Phantom& phantom, double radius_mm) : radius_mm_(radius_mm) {
    const Box3 box = phantom.bounds();
    const double y_low = std::max(box.low.y, -radius_mm), y_high = std::min(box.high.y, radius_mm);
    constexpr double most_cells = 1e7;
    require_strips((y_high - y_low) * (box.high.z - box.low.z) < most_cells * cell_mm * cell_mm,
                   "simulation: the phantom is too long for strips");
    std::vector<double> bounds;
    for (double y = y_low; y < y_high; y += cell_mm)
      for (double z = box.low.z; z < box.high.z; z += cell_mm) {
        const double bound = bound_in(phantom, y, z);
        if (bound <= 0) continue;
        cells_.push_back({y, z, bound});
        bounds.push_back(bound);
        total_ += bound * cell_mm * cell_mm;
      }
    if (!bounds.empty()) table_.emplace(bounds);
  }

  /// The sum over all cells, as if each had its bound everywhere: Bq/mL mm^2. Nothing can be drawn where it is 0.
  double total() const { return total_; }
  struct Point {
    double y = 0, z = 0;
  };
  /// Nothing where the draw is rejected, in proportion to how far the cell's bound exceeds the activity there.
  std::optional<Point> draw(const Phantom& phantom, RandomStream& random) const {
    const Cell& cell = cells_[table_->draw(random)];
    const Point at{cell.y + cell_mm * random.uniform(), cell.z + cell_mm * random.uniform()};
    if (std::abs(at.y) >= radius_mm_ || random.uniform() * cell.bound >= phantom.activity_at({0, at.y, at.z}))
      return {};
    return at;
  }

 private:
  struct Cell {
    double y, z;   // its low corner
    double bound;  // of the activity in it
  };

  // The activity in a cell is one of those of the solids whose boxes it meets.
  static double bound_in(const Phantom& phantom, double y, double z) {
    constexpr double thin = 1e-6;
    const Box3 cell{{-thin, y, z}, {thin, y + cell_mm, z + cell_mm}};
    double bound = 0;
    for (const Solid& solid : phantom.solids())
      if (solid.activity_Bq_mL && solid.bounds().intersects(cell)) bound = std::max(bound, *solid.activity_Bq_mL);
    return bound;
  }

  double radius_mm_, total_ = 0;
  std::vector<Cell> cells_;
  std::optional<AliasTable> table_;
};

/// What blurs a response: n of unit normals with the covariance C, by C^-1 = L L^T and L^T x = n.
StripResponse<double> blur(const StripPrecision<double>& c, RandomStream& random) {
  const double up = std::sqrt(c.up), down = std::sqrt(c.down);
  const double dl_up = c.cross / up, dl_down = -c.cross / down;
  const double dl = std::sqrt(c.dl - dl_up * dl_up - dl_down * dl_down);
  const double x = random.normal() / dl;
  return {(random.normal() - dl_up * x) / up, (random.normal() - dl_down * x) / down, x};
}

struct Block {
  std::vector<StripResponse<float>> events;
  std::int64_t decays = 0;
};

}  // namespace

struct StripSimulator::Model {
  std::shared_ptr<const Scanner> scanner;
  StripGeometry strips;
  StripResolution resolution;
  Phantom phantom;
  StripSimulationOptions options;
  PlaneSampler plane;
  double draw_rate;  // of points, thinned out ones included, per second
  double activity_Bq = 0, expected_cps = 0;

  Model(std::shared_ptr<const Scanner> scanner_, const StripResolution& resolution_, Phantom phantom_,
        const StripSimulationOptions& options_)
      : scanner(std::move(scanner_)),
        strips(strip_geometry(*scanner)),
        resolution(resolution_),
        phantom(std::move(phantom_)),
        options(options_),
        plane(phantom, static_cast<double>(strips.radius_mm)),
        draw_rate(plane.total() * mL_per_mm3 * static_cast<double>(options.slice_mm)) {
    validate(strips, resolution);
    require_strips(options.slice_mm > 0 && std::isfinite(options.slice_mm), "simulation: slice_mm must be positive");
    run_pilot();
  }

  void run_pilot() {
    std::int64_t draws = 0, decays = 0, events = 0;
    for (std::uint64_t i = 0; plane.total() > 0 && i < 64 && (i < 8 || events < 10000); ++i) {
      const Block block = simulate(strip_pilot_streams + i);
      draws += draws_per_block;
      decays += block.decays;
      events += static_cast<std::int64_t>(block.events.size());
    }
    if (events == 0)
      throw std::invalid_argument(fmt::format(
          "the strips see no decay of phantom {}: it needs activity at x = 0 between them", phantom.name()));
    activity_Bq = draw_rate * static_cast<double>(decays) / static_cast<double>(draws);
    expected_cps = draw_rate * static_cast<double>(events) / static_cast<double>(draws);
  }

  Block simulate(std::uint64_t stream) const {
    RandomStream random(options.seed, stream);
    const double half = 0.5 * static_cast<double>(strips.length_mm);
    Block block;
    for (int i = 0; i < draws_per_block; ++i) {
      const auto point = plane.draw(phantom, random);
      if (!point) continue;
      ++block.decays;
      const double tan = std::tan(std::numbers::pi * (random.uniform() - 0.5));
      const auto exact = strip_response(strips, StripEmission<double>{tan, point->y, point->z});
      if (!(std::abs(exact.z_up_mm) <= half && std::abs(exact.z_down_mm) <= half)) continue;
      const auto off = blur(strip_precision(resolution, strips, exact), random);
      block.events.push_back({static_cast<float>(exact.z_up_mm + off.z_up_mm),
                              static_cast<float>(exact.z_down_mm + off.z_down_mm),
                              static_cast<float>(exact.dl_mm + off.dl_mm)});
    }
    return block;
  }

  double block_s() const { return draws_per_block / draw_rate; }
};

/// Blocks stand for equal times, which a block's events share equally; the time of a block without events goes to the
/// next event.
struct StripSimulator::Pending {
  std::deque<Block> blocks;
  std::size_t taken = 0;  // of the first block
  std::uint64_t next_block = 0;
  double start_s = 0;  // of the next batch
};

StripSimulator::StripSimulator(std::shared_ptr<const Scanner> scanner, const StripResolution& resolution,
                               Phantom phantom, const StripSimulationOptions& options)
    : model_(std::make_unique<const Model>(std::move(scanner), resolution, std::move(phantom), options)),
      pending_(std::make_unique<Pending>()) {}
StripSimulator::~StripSimulator() = default;
StripSimulator::StripSimulator(StripSimulator&&) noexcept = default;
StripSimulator& StripSimulator::operator=(StripSimulator&&) noexcept = default;

double StripSimulator::activity_Bq() const {
  return model_->activity_Bq;
}
double StripSimulator::expected_cps() const {
  return model_->expected_cps;
}

EventBatch StripSimulator::next_events(std::int64_t count) {
  require_strips(count > 0 && count < std::int64_t{1} << 31,
                 "simulation: a batch holds at least one and fewer than 2^31 events");
  EventBatch batch = make_strip_batch(model_->scanner, count);
  batch.start_s = pending_->start_s;
  std::int64_t done = 0;
  auto& blocks = pending_->blocks;
  while (done < count) {
    if (blocks.empty()) {
      const double events_a_block = std::max(1.0, model_->expected_cps * model_->block_s());
      std::vector<Block> made(static_cast<std::size_t>(
          std::clamp(std::ceil(static_cast<double>(count - done) / events_a_block), 1.0, 4096.0)));
      const std::uint64_t first = std::exchange(pending_->next_block, pending_->next_block + made.size());
      tbb::parallel_for(std::size_t{0}, made.size(), [&](std::size_t i) { made[i] = model_->simulate(first + i); });
      for (Block& block : made) blocks.push_back(std::move(block));
    }
    const Block& block = blocks.front();
    const std::size_t available = block.events.size() - pending_->taken;
    const std::size_t taken = std::min(available, static_cast<std::size_t>(count - done));
    for (std::size_t i = 0; i < taken; ++i) set_response(batch, done++, block.events[pending_->taken + i]);
    batch.duration_s += block.events.empty()
                            ? model_->block_s()
                            : model_->block_s() * static_cast<double>(taken) / static_cast<double>(block.events.size());
    pending_->taken += taken;
    if (taken < available) break;
    blocks.pop_front();
    pending_->taken = 0;
  }
  pending_->start_s += batch.duration_s;
  return batch;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
