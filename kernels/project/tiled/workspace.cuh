// Projections over a plan of visits: what a pass needs on a device, and the passes, forward, back and the EM step
// (conventions.md, list-mode EM), which is both with the ratio of each event between them.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/cuda/check.hpp"
#include "kernels/project/tiled/direct_targets.cuh"
#include "kernels/project/tiled/tile_kernels.cuh"

namespace tofstream::tiled {

/// What EM needs of a plan's events beside their lines, from the first one on; null as in EventView.
struct EventTerms {
  const float *additive = nullptr, *counts = nullptr;
  static EventTerms from(const EventView& events, std::int64_t first) {
    return {events.additive ? events.additive + first : nullptr, events.counts ? events.counts + first : nullptr};
  }
};

/// What the passes of one projector need on the current CUDA device, and the passes themselves. One at a time.
class Workspace {
 public:
  /// `deterministic`: the same events and image give the same sums, bit for bit, at the cost of 8 bytes a voxel and
  /// some time.
  explicit Workspace(bool deterministic = false);
  /// Space for making the plans that this workspace projects.
  PlanSpace& plan_space() { return space_; }
  /// Words of shared memory that a tile may have.
  int words() const { return static_cast<int>(space_.shared_bytes / static_cast<std::int64_t>(sizeof(float))); }

  /// Begins a pass: its first step clears the tally.
  void begin() { first_ = true; }
  /// accumulator += A^T(y / (A x + c/m)) over the events of `made`, queued on the stream.
  template <class Footprint>
  void em_step(const Visits& made, const Footprint& footprint, const EventTerms& terms, const float* image,
               float* accumulator, Stream stream) {
    if (made.events == 0) return;
    prepare(made, stream);
    if (made.visits.empty() && first_) clear_tally(stream);
    sum_visits(made, footprint, image, first_, stream);
    first_ = false;
    take_ratios(made.view(), footprint.unit(), terms, stream);
    if (made.visits.empty()) return;  // no line meets the image
    add_ratios(made, footprint, RatiosBySlot{slots(), shares_.data()}, accumulator, stream);
  }
  /// expectation[i] = (A x)_i of each event of `made`, queued on the stream; `expectation`: that of the first of these
  /// events.
  template <class Footprint>
  void forward(const Visits& made, const Footprint& footprint, const float* image, float* expectation, Stream stream) {
    if (made.events == 0) return;
    prepare(made, stream);
    sum_visits(made, footprint, image, false, stream);
    take_expectations(made.view(), footprint.unit(), expectation, stream);
  }
  /// image += A^T y over the events of `made`, queued on the stream; `values` null (for ones), or that of the first of
  /// these events.
  template <class Footprint>
  void back(const Visits& made, const Footprint& footprint, const float* values, float* image, Stream stream) {
    if (made.visits.empty()) return;
    prepare(made, stream);
    if (made.visit_events.empty()) made.visit_events = events_of_visits(made, stream);
    const ValuesOfEvents given{made.visit_events.data(), values, footprint.unit(), ++passes_of_values_};
    add_ratios(made, footprint, given, image, stream);
  }
  /// The tally of the pass. Waits for its end.
  EmTally tally(Stream stream);
  /// image += what add(target) adds to a target of the direct path, in sums whose bits do not depend on the order.
  /// `add` adds the same each time, at most 2^BandTarget::room_log2 times to a voxel. Waits for the first kernels.
  template <class Add>
  void add_in_bands(float* image, std::int64_t voxels, Stream stream, const Add& add) {
    fit_sums(voxels, stream);
    auto found = Buffer<std::uint32_t>::zeros(Memory::device, 1, stream);
    add(BandTarget{image, sums_.data(), found.data(), BandTarget::which});
    const std::uint32_t bands = found.to_vector(stream).front();
    for (int band = 0; band < exponent_bands; ++band) {
      if (!(bands >> band & 1u)) continue;
      const int shift = BandTarget::shift_of(band);
      add(BandTarget{image, sums_.data(), found.data(), band, std::exp2(shift)});
      take_sums(image, shift, stream);
    }
  }

 private:
  template <class... Parameters, class... Arguments>
  void launch_tiles(void (*kernel)(Parameters...), const Visits& made, int threads, Stream stream,
                    Arguments... arguments) {
    const int bytes = made.tiling.words() * static_cast<int>(sizeof(float));
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "reserve shared memory for a tile");
    kernel<<<static_cast<unsigned>(space_.blocks), threads, static_cast<std::size_t>(bytes), stream>>>(arguments...);
    check_launch("project tiles");
  }
  /// Each share becomes its visit's part of the line integral, and slots are listed.
  template <class Footprint>
  void sum_visits(const Visits& made, const Footprint& footprint, const float* image, bool first, Stream stream) {
    if (made.visits.empty()) return;  // no line meets the image
    launch_tiles(detail::forward_tiles<Footprint>, made, Footprint::threads, stream, made.view(), footprint, image,
                 shares_.data(), slots(), first, state_.data());
  }
  /// image += each visit's ratio, as find_scales is given it, along its path.
  template <class Footprint, class Given>
  void add_ratios(const Visits& made, const Footprint& footprint, const Given& given, float* image, Stream stream) {
    constexpr bool of_values = std::is_same_v<Given, ValuesOfEvents>;
    std::uint32_t pass = 0;
    if constexpr (of_values) pass = given.pass;
    const VisitView view = made.view();
    const BackTarget target{image, sums_.data()};
    BackState* const state = &state_.data()->back;
    find_scales(view, made.visits.size(), given, ratios_.data(), footprint.largest_weight(), scales_, state, stream);
    launch_tiles(detail::back_tiles<Footprint, of_values>, made, Footprint::threads, stream, view, footprint,
                 ratios_.data(), scales_.scales.data(), scales_.range.data(), outliers(), target, state, pass);
    const auto add_outliers = [&](int band) {
      detail::back_outliers<<<static_cast<unsigned>(space_.blocks), detail::outlier_threads, 0, stream>>>(
          view, footprint, ratios_.data(), outliers(), state, target, band);
      check_launch("add outliers");
    };
    if (!deterministic_) return add_outliers(detail::all_bands);
    take_sums_of_tiles(image, stream);
    const std::uint32_t bands = scales_.range.to_vector(stream).front().outlier_bands;
    for (int band = 0; band < exponent_bands; ++band)
      if (bands >> band & 1u) {
        add_outliers(band);
        take_sums(image, BackTarget::outlier_shift(band), stream);
      }
  }
  /// Reserves all memory of a pass before its first kernel: a pass that stopped halfway would leave a state that the
  /// next one must not find.
  void prepare(const Visits& made, Stream stream);
  void clear_tally(Stream stream);
  unsigned blocks_for(const VisitView& plan) const;
  /// From each event's shares its expectation; its shares become what its visits are to add back: scale / expectation.
  void take_ratios(const VisitView& plan, float unit, const EventTerms& terms, Stream stream);
  /// From each event's shares its expectation, without additive terms.
  void take_expectations(const VisitView& plan, float unit, float* expectation, Stream stream);
  /// The event of each visit.
  Buffer<VisitEvent> events_of_visits(const Visits& made, Stream stream) const;
  /// Where visits' slots are listed: what becomes their ratios.
  std::uint32_t* slots() { return reinterpret_cast<std::uint32_t*>(ratios_.data()); }
  /// The list of visits whose ratio is too large. It lies over the shares, which have been copied in the visits' order
  /// by then.
  std::uint32_t* outliers() { return reinterpret_cast<std::uint32_t*>(shares_.data()); }
  void fit_sums(std::int64_t voxels, Stream stream);
  /// accumulator += sums, which are whole numbers of 2^-shift, or of the shift that tiles have in common; the sums are
  /// zero again.
  void take_sums(float* accumulator, int shift, Stream stream);
  void take_sums_of_tiles(float* accumulator, Stream stream);

  bool deterministic_;
  bool first_ = true;
  std::uint32_t passes_of_values_ = 0;
  PlanSpace space_;
  Buffer<PassState> state_;
  Buffer<PassState> state_read_;  // on the host
  Buffer<float> shares_;          // of a slot: its part of the line integral, then its ratio
  Buffer<float> ratios_;          // of a visit
  TileScales scales_;
  Buffer<long long> sums_;  // of a voxel; empty unless deterministic
};

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
