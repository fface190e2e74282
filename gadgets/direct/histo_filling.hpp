// The histo-images of a scan while they fill: what gadgets that deposit events share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/direct/histo_randoms.hpp"
#include "gadgets/direct/histo_scatter.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/subset/store_params.hpp"
#include "gadgets/views.hpp"
#include "kernels/direct/deposit.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

constexpr auto enum_names(HistoLattice) {
  return names(HistoLattice::view, "view", HistoLattice::image, "image");
}
constexpr auto enum_names(DepositKind) {
  return names(DepositKind::nearest, "nearest", DepositKind::linear, "linear");
}
constexpr auto enum_names(DepositSpread) {
  return names(DepositSpread::none, "none", DepositSpread::tof_bin, "tof_bin");
}
constexpr auto enum_names(HistoCounts) {
  return names(HistoCounts::real, "float", HistoCounts::whole, "uint16");
}

inline constexpr auto* histo_image_words = "The image that will be reconstructed, of voxels";
inline constexpr auto* histo_views_words =
    "Intervals of azimuth in [0, 180) degrees, and of the co-polar angle within the acceptance: a view each, and at "
    "most 4096 of them";
inline constexpr auto* acceptance_words =
    "Lines more oblique than this are rejected; at most as oblique as the scanner's steepest line";
inline constexpr auto* histo_lattice_words =
    "Points of a histo-image: view, turned and sheared along the view, so that nothing is resampled twice; image, the "
    "image's voxels, as operators one_stage and fft need it";
inline constexpr auto* deposit_words =
    "linear: an event counts at the eight points around it; nearest: at the one next to it, as published, which makes "
    "rings and slices where crystals and voxels have one pitch";
inline constexpr auto* spread_words =
    "tof_bin: an event counts evenly over its ToF bin, whose width the projector's ToF then has once more; none: "
    "at the bin's middle";
inline constexpr auto* histo_counts_words =
    "uint16: counts take half the memory; with deposit: nearest alone, and a point with more than 65535 ends the run";
inline constexpr auto* histo_mu_map_words =
    "NIfTI of attenuation (1/cm) on any grid: attenuates the histo-images' sensitivity; none: no attenuation";
inline constexpr auto* histo_reserve_words =
    "GPU memory to leave free besides eight images. Where there is less room, events are deposited on the host, and "
    "their views copied for each pass";
inline constexpr auto* histo_scatter_words =
    "Scattered coincidences, of an estimate in a file; direct_scatter estimates them from the image instead";
inline constexpr auto* histo_most_lines_words =
    "The sensitivity sums all of the scanner's lines where there are at most so many, else a sample of this size";

struct HistoSettings {
  ImageParams image;
  DirectViews views;
  HistoLattice lattice = HistoLattice::view;
  DepositKind deposit = DepositKind::linear;
  DepositSpread spread = DepositSpread::none;
  HistoCounts counts = HistoCounts::real;
  std::filesystem::path mu_map;  // empty: no attenuation
  HistoRandomsParams randoms;
  HistoScatterParams scatter;
  std::int64_t most_lines = 0;
  BackendChoice backend = BackendChoice::automatic;
  std::size_t device_reserve = 0;  // bytes of GPU memory to leave free
};

/// From a gadget's parameters of these names.
template <class Params>
HistoSettings histo_settings(const Params& p) {
  return {.image = p.image,
          .views = {p.views[0], p.views[1], p.acceptance_deg},
          .lattice = p.lattice,
          .deposit = p.deposit,
          .spread = p.spread,
          .counts = p.counts,
          .mu_map = p.mu_map,
          .randoms = p.randoms,
          .scatter = p.scatter,
          .most_lines = p.most_lines,
          .backend = p.backend,
          .device_reserve = device_reserve(p)};
}

/// What a gadget needs that holds all views' arrays, and gives messages of `views_a_message` views. `lives_there`:
/// these are made where events are deposited.
MemoryNeed histo_memory(const HistoSettings& settings, std::size_t views_a_message, bool lives_there = false);

class HistoFilling {
 public:
  /// Throws std::invalid_argument for views or an image that cannot be, and what reading the mu map throws.
  HistoFilling(HistoSettings settings, Context& context);

  /// Deposits prompts, or keeps delayed coincidences for the randoms; the first batch that names the scanner begins
  /// them: the sensitivity is computed. The books get what is rejected. Throws std::runtime_error, or
  /// std::invalid_argument for a parameter that does not fit the scanner, where events cannot be deposited.
  void add(EventBatch batch, Context& context);
  bool has_begun() const { return grid_.has_value(); }

  /// At the end: what became of the events. Throws std::runtime_error where none was deposited.
  void report(Context& context) const;
  /// Deposited so far, of each view.
  const std::vector<std::uint64_t>& events_of_views() const { return events_; }
  double start_s() const { return duration_s_ > 0 ? start_s_ : 0; }
  double duration_s() const { return duration_s_; }
  /// The scan time so far, weighted with its exposure: decay and live time. 1 where the events state no time.
  double exposed_s() const { return duration_s_ > 0 ? duration_s_ * mean_exposure() : 1; }
  double mean_exposure() const { return duration_s_ > 0 ? exposed_s_ / duration_s_ : 1; }

  /// Adds the randoms of the whole scan to the views, once all delayed coincidences have come.
  void lay_down_randoms(Context& context);
  /// What the views are, for places of this time; a `duration_s` of 0 leaves it to the views' exposure.
  std::shared_ptr<const ViewSet> view_set(double start_s, double duration_s) const;
  /// These views in one batch as they stand, weighted, in the memory of the backend; without events in their records.
  /// `set`: of view_set(). Complete on return. Where the GPU has no room for what they hold besides counts, this comes
  /// from the host for each call.
  ViewBatch views(std::span<const int> numbers, std::shared_ptr<const ViewSet> set, double exposure);
  /// All views without their counts, each for 1 s of scan time: whence the sensitivity of the whole comes. On the host.
  ViewBatch all_without_counts(std::shared_ptr<const ViewSet> set) const;
  /// What an image of these views shows; null: not known.
  std::shared_ptr<const Quantity> quantity() const;
  /// Moves the counts to the host, after the last event.
  void bring_to_host();

 private:
  void begin(const Scanner& scanner, Context& context);
  void make_sensitivity(const Scanner& scanner, Context& context);
  void lay_down_scatter(const Scanner& scanner, Context& context);
  HistoPlace place() const { return {*grid_, p_.views, p_.lattice, p_.most_lines}; }
  void begin_deposit(Context& context);
  bool device_has_room(std::size_t bytes) const;
  void bring_to_device(Buffer<float>& there, const Buffer<float>& all);
  void add_scatter(ViewBatch& batch);
  void require_depositable(const EventBatch& batch);
  void note_time(const EventBatch& batch);
  DepositTally deposit(EventBatch batch);
  Memory memory() const { return on_device_ ? Memory::device : Memory::host; }

  bool has_pattern_ = false;  // of live fractions, which was warned of
  HistoSettings p_;
  GadgetBackend backend_;
  HistoRandoms randoms_;
  std::optional<Image> mu_;
  std::shared_ptr<const Scanner> scanner_;
  std::optional<Grid> grid_;
  ViewSet set_;
  std::optional<HistoDeposit> on_host_;
  std::optional<HistoDepositCuda> on_device_;
  Buffer<float> counts_, terms_, additive_;                        // of all views, on the host
  Buffer<std::uint16_t> whole_counts_;                             // likewise, in place of counts_
  Buffer<float> scatter_;                                          // likewise, for 1 s of exposure
  Buffer<float> device_terms_, device_additive_, device_scatter_;  // where the GPU has room for them
  std::vector<std::uint64_t> events_;
  DepositTally tally_;
  float tof_sigma_mm_ = 0;
  double start_s_ = std::numeric_limits<double>::infinity(), duration_s_ = 0, exposed_s_ = 0;
  QuantitySoFar quantity_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
