// Decays to counts on a detector: see simulate.hpp.
#include "kernels/spect/simulate.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/random/poisson_distribution.hpp>
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/correct/decay.hpp"
#include "kernels/math/units.hpp"
#include "kernels/simulate/random.hpp"

namespace tofstream {
namespace {

constexpr std::int64_t camera_draws_a_block = 1 << 15;
constexpr std::uint64_t camera_blocks_a_view = std::uint64_t{1} << 32;
constexpr std::uint64_t camera_pilot_streams = std::uint64_t{1} << 62;  // numbers that no view reaches

void require_camera(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

// Unit vectors of a view: towards the camera and along its columns.
struct CameraAxes {
  Vec3d towards, along_u;
  explicit CameraAxes(double angle_deg) {
    const double t = angle_deg * 3.141592653589793 / 180;
    towards = {std::sin(t), std::cos(t), 0};
    along_u = {-std::cos(t), std::sin(t), 0};
  }
};

}  // namespace

// Where counts of a view go, and how many there were.
struct CameraSimulator::Draws {
  std::vector<std::uint32_t> pixels;  // empty: they are only counted
  std::atomic<std::int64_t> recorded = 0;
};

CameraSimulator::CameraSimulator(std::shared_ptr<const ViewSet> set, Phantom phantom, const CameraSimulation& camera)
    : set_(std::move(set)), phantom_(std::move(phantom)), camera_(camera) {
  set_->validate();
  validate(camera_.psf);
  require_camera(!std::holds_alternative<KernelTable>(camera_.psf),
                 "simulation: the point spread must be a Gaussian, not a table");
  require_camera(std::isfinite(camera_.counts_per_decay) && camera_.counts_per_decay > 0,
                 "simulation: counts_per_decay must be positive");
  require_camera(camera_.beam == Beam::parallel || camera_.focal_mm > 0,
                 "simulation: a converging beam needs its focal length");
  require_camera(std::isfinite(camera_.half_life_s) && camera_.half_life_s >= 0,
                 "simulation: the half-life must be positive, or 0 for none");
  for (std::size_t i = 0; i < phantom_.solids().size(); ++i) {
    const Solid& solid = phantom_.solids()[i];
    const double activity = solid.activity_Bq_mL.value_or(0);
    if (activity <= 0) continue;
    const double cube_mL = 8 * solid.half_axis_mm(0) * solid.half_axis_mm(1) * solid.half_axis_mm(2) * mL_per_mm3;
    draw_rate_ += activity * cube_mL;
    active_.push_back(i);
    share_.push_back(draw_rate_);
  }
  if (active_.empty())
    throw std::invalid_argument(fmt::format("phantom {} has no activity for the camera to see", phantom_.name()));
  for (double& share : share_) share /= draw_rate_;
  require_before_the_face();
}

// No activity may lie behind the face or the focus.
void CameraSimulator::require_before_the_face() const {
  for (std::size_t v = 0; v < set_->places.size(); ++v) {
    const ViewPlace& place = set_->places[v];
    const CameraAxes axes(place.angle_deg);
    for (const std::size_t i : active_) {
      const Solid& solid = phantom_.solids()[i];
      const double middle = dot(axes.towards, solid.centre_mm()), reach = solid.extent(axes.towards);
      if (middle + reach >= place.radius_mm)
        throw std::invalid_argument(fmt::format(
            "phantom {} reaches {:.1f} mm towards the camera of view {} (at {:g} degrees), whose face is at {:g} mm: "
            "give the camera a larger radius",
            phantom_.name(), middle + reach, v, place.angle_deg, place.radius_mm));
      if (camera_.beam != Beam::parallel && place.radius_mm - (middle - reach) >= camera_.focal_mm)
        throw std::invalid_argument(fmt::format(
            "phantom {} reaches {:.1f} mm from the face of view {}, beyond the beam's focus at {:g} mm: give the "
            "camera a longer focal length or a smaller radius",
            phantom_.name(), place.radius_mm - (middle - reach), v, camera_.focal_mm));
    }
  }
}

std::int64_t CameraSimulator::draws_of(const ViewPlace& place, double seconds, std::uint64_t stream) const {
  const double left = camera_.half_life_s > 0 ? mean_decay(place.start_s, seconds, camera_.half_life_s) : 1;
  const double mean = draw_rate_ * camera_.counts_per_decay * seconds * left;
  constexpr double most = 1e13;
  if (!(mean < most))
    throw std::invalid_argument(fmt::format(
        "a view of {:g} s would need {:.3g} decays: give a smaller activity, sensitivity or time", seconds, mean));
  RandomStream random(camera_.seed, stream);
  return boost::random::poisson_distribution<std::int64_t, double>(mean)(random);
}

void CameraSimulator::draw_block(const ViewPlace& place, std::uint64_t stream, std::int64_t draws, Draws& to) const {
  RandomStream random(camera_.seed, stream);
  const CameraAxes axes(place.angle_deg);
  std::int64_t recorded = 0;
  for (std::int64_t n = 0; n < draws; ++n) {
    const auto k = static_cast<std::size_t>(std::ranges::upper_bound(share_, random.uniform()) - share_.begin());
    const std::size_t i = active_[std::min(k, active_.size() - 1)];
    const Solid& solid = phantom_.solids()[i];
    const Vec3d unit{random.symmetric(), random.symmetric(), random.symmetric()};
    if (!solid.unit_contains(unit)) continue;
    const Vec3d point = solid.from_unit(unit);
    const auto& covers = phantom_.covers_of(i);
    if (std::ranges::any_of(covers, [&](std::size_t c) { return phantom_.solids()[c].contains(point); })) continue;

    const double depth = place.radius_mm - dot(axes.towards, point);
    const double u = dot(axes.along_u, point) - place.centre_u_mm, w = point.z - place.centre_w_mm;
    const double shrink = camera_.beam == Beam::parallel ? 1 : (camera_.focal_mm - depth) / camera_.focal_mm;
    const double shrink_w = camera_.beam == Beam::cone ? shrink : 1;
    const double face_u = u / shrink, face_w = w / shrink_w;
    if (camera_.attenuation) {
      const Vec3d face = double{place.radius_mm} * axes.towards + (face_u + place.centre_u_mm) * axes.along_u +
                         Vec3d{0, 0, face_w + place.centre_w_mm};
      if (random.uniform() >= std::exp(-phantom_.attenuation(point, face))) continue;
    }
    // A gain of 1.3 is one count, and another one with a chance of 0.3.
    const double gain = 1 / (shrink * shrink_w);
    const auto times = static_cast<int>(gain + random.uniform());
    const double sigma = psf_sigma_mm(camera_.psf, depth);
    for (int time = 0; time < times; ++time) {
      const double hit_u = face_u + (sigma > 0 ? sigma / shrink * random.normal() : 0);
      const double hit_w = face_w + (sigma > 0 ? sigma / shrink_w * random.normal() : 0);
      const double column = std::floor(hit_u / set_->pixel_mm.x + 0.5 * set_->size[0]);
      const double row = std::floor(hit_w / set_->pixel_mm.y + 0.5 * set_->size[1]);
      if (!(column >= 0 && column < set_->size[0] && row >= 0 && row < set_->size[1])) continue;
      ++recorded;
      if (to.pixels.empty()) continue;
      const auto pixel =
          static_cast<std::size_t>(row) * static_cast<std::size_t>(set_->size[0]) + static_cast<std::size_t>(column);
      std::atomic_ref(to.pixels[pixel]).fetch_add(1, std::memory_order_relaxed);
    }
  }
  to.recorded.fetch_add(recorded, std::memory_order_relaxed);
}

ViewBatch CameraSimulator::view(int number) const {
  const ViewPlace& place = set_->places.at(static_cast<std::size_t>(number));
  const std::uint64_t stream = static_cast<std::uint64_t>(number) * camera_blocks_a_view;
  const std::int64_t draws = draws_of(place, place.duration_s, stream);
  Draws drawn{.pixels = std::vector<std::uint32_t>(static_cast<std::size_t>(set_->pixels()))};
  const std::int64_t blocks = (draws + camera_draws_a_block - 1) / camera_draws_a_block;
  tbb::parallel_for(std::int64_t{0}, blocks, [&](std::int64_t block) {
    const std::int64_t here = std::min(camera_draws_a_block, draws - block * camera_draws_a_block);
    draw_block(place, stream + 1 + static_cast<std::uint64_t>(block), here, drawn);
  });
  ViewBatch batch{.count = set_->pixels(), .set = set_};
  batch.records.push_back({.view = number, .counts = static_cast<std::uint64_t>(drawn.recorded.load())});
  batch.counts = Buffer<float>(Memory::host, batch.count);
  std::ranges::transform(drawn.pixels, batch.counts.data(), [](std::uint32_t n) { return static_cast<float>(n); });
  batch.weigh(1);
  return batch;
}

double CameraSimulator::expected_cps(int number) const {
  const ViewPlace& place = set_->places.at(static_cast<std::size_t>(number));
  Draws drawn;
  draw_block(place, camera_pilot_streams + static_cast<std::uint64_t>(number), camera_draws_a_block, drawn);
  return draw_rate_ * camera_.counts_per_decay * static_cast<double>(drawn.recorded.load()) /
         static_cast<double>(camera_draws_a_block);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
