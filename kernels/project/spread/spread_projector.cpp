// Bins that are projected line by line: see spread_projector.hpp.
#include "kernels/project/spread/spread_projector.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/project/spread/bin_sums.hpp"
#include "kernels/types/recorded_lines.hpp"

namespace tofstream {
namespace {

constexpr std::int64_t bins_at_a_time = 1 << 18;  // where there is no plan

// The lines of bins.
struct Spread final : ProjectionPlan {
  EventBatch lines;
  Buffer<std::int64_t> first;
  std::unique_ptr<ProjectionPlan> plan;

  std::size_t bytes() const override { return lines.bytes() + first.bytes() + (plan ? plan->bytes() : 0); }
};

template <class T>
std::vector<T> on_the_host(const T* values, std::int64_t count, Memory memory, Stream stream) {
  std::vector<T> result(static_cast<std::size_t>(count));
  detail::copy(result.data(), Memory::host, values, memory, result.size() * sizeof(T), stream);
  synchronize(stream);
  return result;
}

class SpreadProjector final : public ListModeProjector {
 public:
  SpreadProjector(std::unique_ptr<ListModeProjector> lines, std::shared_ptr<const Scanner> scanner)
      : lines_(std::move(lines)), scanner_(std::move(scanner)), memory_(memory_of(lines_->backend())) {}

  const Grid& grid() const override { return lines_->grid(); }
  Backend backend() const override { return lines_->backend(); }
  float reach_mm() const override { return lines_->reach_mm(); }
  std::optional<Image> closed_form_sensitivity() const override { return lines_->closed_form_sensitivity(); }

  void forward(const EventView& bins, const float* image, float* expectation, Stream stream) override {
    planned_forward(nullptr, bins, image, expectation, stream);
  }
  void back(const EventView& bins, const float* values, float* image, Stream stream) override {
    planned_back(nullptr, bins, values, image, stream);
  }
  EmTally em_step(const EventView& bins, const float* image, float* accumulator, Stream stream) override {
    return planned_em_step(nullptr, bins, image, accumulator, stream);
  }

  // A CPU's would be made for each pass, and take the memory of all lines at once.
  std::unique_ptr<ProjectionPlan> plan(const EventView& bins, Stream stream) override {
    if (backend() == Backend::cpu || bins.count == 0) return nullptr;
    auto spread = std::make_unique<Spread>(spread_of(bins, stream));
    spread->plan = lines_->plan(spread->lines.view(), stream);
    return spread;
  }

  void planned_forward(const ProjectionPlan* plan, const EventView& bins, const float* image, float* expectation,
                       Stream stream) override {
    for_each_piece(plan, bins, stream, [&](const Spread& spread, const EventView& piece, std::int64_t begin) {
      Buffer<float> values(memory_, spread.lines.count, stream);
      lines_->planned_forward(spread.plan.get(), spread.lines.view(), image, values.data(), stream);
      detail::means_of_lines(spread.first.data(), piece.count, values.data(), expectation + begin, backend(), stream);
    });
  }

  void planned_back(const ProjectionPlan* plan, const EventView& bins, const float* values, float* image,
                    Stream stream) override {
    for_each_piece(plan, bins, stream, [&](const Spread& spread, const EventView& piece, std::int64_t begin) {
      Buffer<float> of_lines(memory_, spread.lines.count, stream);
      detail::share_among_lines(spread.first.data(), piece.count, values ? values + begin : nullptr, of_lines.data(),
                                backend(), stream);
      lines_->planned_back(spread.plan.get(), spread.lines.view(), of_lines.data(), image, stream);
    });
  }

  EmTally planned_em_step(const ProjectionPlan* plan, const EventView& bins, const float* image, float* accumulator,
                          Stream stream) override {
    EmTally tally;
    for_each_piece(plan, bins, stream, [&](const Spread& spread, const EventView& piece, std::int64_t) {
      Buffer<float> values(memory_, spread.lines.count, stream);
      lines_->planned_forward(spread.plan.get(), spread.lines.view(), image, values.data(), stream);
      tally += detail::ratios_among_lines(piece, spread.first.data(), values.data(), backend(), stream);
      lines_->planned_back(spread.plan.get(), spread.lines.view(), values.data(), accumulator, stream);
    });
    return tally;
  }

 private:
  // visit(lines, bins, number of the first of them): all bins of a plan at once, otherwise some at a time.
  template <class Visit>
  void for_each_piece(const ProjectionPlan* plan, const EventView& bins, Stream stream, Visit&& visit) const {
    if (const auto* planned = dynamic_cast<const Spread*>(plan)) return visit(*planned, bins, 0);
    for (std::int64_t begin = 0; begin < bins.count; begin += bins_at_a_time) {
      const EventView piece = bins.slice(begin, std::min(bins_at_a_time, bins.count - begin));
      visit(spread_of(piece, stream), piece, begin);
    }
  }

  Spread spread_of(const EventView& bins, Stream stream) const {
    if (!bins.bin)
      throw std::runtime_error(
          "bins whose lines are to be projected one by one lost their numbers: a gadget between the source and the "
          "projector made other events of them; leave it out, or `spread: true` of the source");
    const BinPairs pairs = scanner_->lines->pairs(on_the_host(bins.bin, bins.count, memory_, stream));
    Spread spread;
    EventBatch& lines = spread.lines;
    lines.count = pairs.first.back();
    lines.detectors = scanner_->detectors;
    lines.tof = bins.tof;
    lines.detector1 = Buffer<std::uint32_t>::from(pairs.detector1);
    lines.detector2 = Buffer<std::uint32_t>::from(pairs.detector2);
    if (bins.tof_mm) lines.tof_mm = of_each_line(bins.tof_mm, pairs, stream);
    if (bins.tof_width_mm) lines.tof_width_mm = of_each_line(bins.tof_width_mm, pairs, stream);
    spread.first = Buffer<std::int64_t>::from(pairs.first);
    if (on_host(memory_)) return spread;
    spread.lines = lines.to(memory_, stream);
    spread.first = spread.first.to(memory_, stream);
    synchronize(stream);  // before the host's arrays go
    return spread;
  }

  Buffer<float> of_each_line(const float* of_bins, const BinPairs& pairs, Stream stream) const {
    const auto bins = static_cast<std::int64_t>(pairs.first.size()) - 1;
    const std::vector<float> values = on_the_host(of_bins, bins, memory_, stream);
    Buffer<float> lines(Memory::host, pairs.first.back());
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, bins, 4096), [&](const auto& range) {
      for (std::int64_t b = range.begin(); b < range.end(); ++b) {
        const auto at = static_cast<std::size_t>(b);
        std::fill(lines.data() + pairs.first[at], lines.data() + pairs.first[at + 1], values[at]);
      }
    });
    return lines;
  }

  const std::unique_ptr<ListModeProjector> lines_;
  const std::shared_ptr<const Scanner> scanner_;
  const Memory memory_;
};

}  // namespace

std::unique_ptr<ListModeProjector> spread_over_lines(std::unique_ptr<ListModeProjector> lines,
                                                     std::shared_ptr<const Scanner> scanner) {
  return std::make_unique<SpreadProjector>(std::move(lines), std::move(scanner));
}

std::unique_ptr<ListModeProjector> spread_where_asked(std::unique_ptr<ListModeProjector> lines,
                                                      std::shared_ptr<const Scanner> scanner) {
  if (!scanner->lines || !scanner->lines->are_spread()) return lines;
  return spread_over_lines(std::move(lines), std::move(scanner));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
