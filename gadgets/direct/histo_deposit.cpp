// Deposits events into histo-images, and gives all views of them when the stream has ended.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/direct/histo_randoms.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/step/projector_kinds.hpp"
#include "gadgets/step/scanner_lines.hpp"
#include "gadgets/views.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/direct/deposit.hpp"
#include "kernels/direct/direct.hpp"
#include "kernels/direct/histo_sensitivity.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {

constexpr auto enum_names(HistoLattice) {
  return names(HistoLattice::view, "view", HistoLattice::image, "image");
}
constexpr auto enum_names(DepositKind) {
  return names(DepositKind::nearest, "nearest", DepositKind::linear, "linear");
}

namespace {

struct HistoDepositGadget {
  struct Params {
    ImageParams image;
    std::array<int, 2> views = {40, 3};
    float acceptance_deg = 10;
    HistoLattice lattice = HistoLattice::view;
    DepositKind deposit = DepositKind::linear;
    std::filesystem::path mu_map;
    HistoRandomsParams randoms;
    std::int64_t most_lines = 50'000'000;
    BackendChoice backend = BackendChoice::automatic;
  };
  static constexpr auto params = describe(
      param<&Params::image>("image", "The image that will be reconstructed, of voxels"),
      param<&Params::views>("views", range(1, 4096),
                            "Intervals of azimuth in [0, 180) degrees, and of the co-polar angle within the "
                            "acceptance: a view each, and at most 4096 of them"),
      param<&Params::acceptance_deg>("acceptance_deg", range(0.01, 80), unit("degrees"),
                                     "Lines more oblique than this are rejected"),
      param<&Params::lattice>("lattice",
                              "Points of a histo-image: view, turned and sheared along the view, so that nothing is "
                              "resampled twice; image, the image's voxels, as operators one_stage and fft need it"),
      param<&Params::deposit>(
          "deposit",
          "linear: an event counts at the eight points around it; nearest: at the one next to it, as "
          "published, which makes rings and slices where crystals and voxels have one pitch"),
      param<&Params::mu_map>("mu_map", reads_file,
                             "NIfTI of attenuation (1/cm) on any grid: attenuates the histo-images' sensitivity; none: "
                             "no attenuation"),
      param<&Params::randoms>("randoms",
                              "Random coincidences, which histo-images then hold beside the counts; "
                              "scatter is not corrected"),
      param<&Params::most_lines>("most_lines", range(1000, 2147483648.0),
                                 "The sensitivity sums all of the scanner's lines where there are at most so many, "
                                 "else a sample of this size"),
      param<&Params::backend>("backend", "Where events are deposited; the sensitivity is computed on the CPU"));
  static constexpr bool own_thread = true;  // emits all views from flush
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) {
    const auto views = static_cast<std::size_t>(p.views[0]) * static_cast<std::size_t>(p.views[1]);
    const std::size_t arrays = p.randoms.from == HistoRandomsFrom::none ? 2 : 3;  // counts, sensitivity, randoms
    constexpr std::size_t sums = 2 + 1;  // whole numbers of 8 bytes, and the counts in the end
    return {.host_bytes = memory_product(arrays * views, p.image.bytes()),
            .device_bytes = wants_cuda(p.backend) ? memory_product(sums * views, p.image.bytes()) : 0,
            .message_bytes = memory_product(arrays, p.image.bytes()),
            .lower = "views",
            .note = "where the image is not square, its views on `lattice: view` are as wide as its longer side"};
  }

  HistoDepositGadget(const Params& p, Context& context)
      : p_(p), backend_(p.backend), directions_{p.views[0], p.views[1], p.acceptance_deg}, randoms_(p.randoms) {
    validate(directions_);
    if (p.image.basis == Basis::blobs)
      throw std::invalid_argument("image: histo-images are for images of voxels, not of blobs");
    if (!p.mu_map.empty()) read_attenuation(context);
  }

  void process(EventBatch batch, Emit<ViewBatch>& /*emit*/, Context& context) {
    if (batch.delayed) return randoms_.take_delayeds(batch, context);
    quantity_.add(batch.quantity);
    note_time(batch);
    if (batch.scanner && !has_begun_) begin(batch.scanner, context);
    if (batch.count == 0) return;
    if (!has_begun_)
      throw std::runtime_error(
          "the events do not say which scanner recorded them, so nobody knows their sensitivity: take them from a "
          "decoder or a simulator");
    require_depositable(batch);
    randoms_.note_window(batch.tof);
    const DepositTally tally = deposit(std::move(batch));
    tally_ += tally;
    const auto reject = [&](std::uint64_t events_out, const char* why) {
      if (events_out > 0) context.books().rejected(events_out, why);
    };
    reject(tally.beyond_acceptance, "more oblique than acceptance_deg");
    reject(tally.outside, "deposited outside the histo-images");
    reject(tally.no_line, "no line, or a ToF that is not finite");
  }

  void flush(Emit<ViewBatch>& emit, Context& context) {
    if (!has_begun_) return context.log().warning("no events came: there are no histo-images");
    report(context);
    if (tally_.deposited == 0)
      throw std::runtime_error(
          fmt::format("nothing was deposited: {} events are more oblique than acceptance_deg {:g}, {} lie outside the "
                      "histo-images of image: {}",
                      tally_.beyond_acceptance, p_.acceptance_deg, tally_.outside, grid_in_words(grid_)));
    if (on_device_) bring_counts();
    additive_ = randoms_.lay_down({grid_, directions_, p_.lattice, p_.most_lines}, duration_s_, context);
    const auto set = finished_set();
    const auto quantity = quantity_of_views();
    const std::vector<std::uint64_t> events = events_of_views(set->pixels());
    for (std::size_t v = 0; v < set->places.size(); ++v) emit(view(v, set, events[v], quantity));
    counts_ = {};
    terms_ = {};
    additive_ = {};
  }

 private:
  void read_attenuation(Context& context) {
    mu_ = read_mu_map(p_.mu_map);
    const std::string warning = other_mu_energy(p_.mu_map.string(), mu_map_energy_keV(p_.mu_map), annihilation_keV);
    if (!warning.empty()) context.log().warning(warning);
  }

  // The sensitivity comes first, so that what is wrong with the views is said before all events have come.
  void begin(const std::shared_ptr<const Scanner>& scanner, Context& context) {
    grid_ = p_.image.grid(scanner.get());
    context.report("image", grid_in_words(grid_));
    set_ = direct_view_set(grid_, directions_, p_.lattice);
    make_terms(*scanner, context);
    randoms_.begin(scanner);
    has_begun_ = true;
    if (backend_ == Backend::cuda) {
      on_device_.emplace(grid_, directions_, p_.lattice, p_.deposit);
    } else {
      on_host_.emplace(grid_, directions_, p_.lattice, p_.deposit);
      counts_ = Buffer<float>::zeros(Memory::host, on_host_->points());
    }
    context.report("backend", std::string(on_device_ ? "cuda" : "cpu"));
  }

  DepositTally deposit(EventBatch batch) {
    if (!on_device_) return on_host_->add(host_batch(std::move(batch)).view(), counts_.data());
    if (!on_host(batch.memory())) return on_device_->add(batch.view());
    return on_device_->add(batch.to(Memory::device).view());
  }
  void bring_counts() {
    counts_ = on_device_->counts().to(Memory::host);
    synchronize(nullptr);
    on_device_.reset();
  }

  void make_terms(const Scanner& scanner, Context& context) {
    HistoSensitivity sensitivity(grid_, directions_, p_.lattice);
    const auto& joseph = table_of<ProjectorKind>().at("joseph_projector");
    const auto projector =
        joseph.make(joseph.default_params().get(), sensitivity.lattice_grid(), Backend::cpu, scanner, context);
    terms_ = Buffer<float>::zeros(Memory::host, sensitivity.points());
    std::int64_t used = 0;
    const auto lay_down = [&](const EventView& lines, const float* values, double done) {
      if (context.cancelled()) throw std::runtime_error("the run is being ended: the sensitivity is not computed");
      used += sensitivity.add(lines, values, *projector, terms_.data());
      context.progress(done, 1, "of the sensitivity");
    };
    const ScannerLinesCount count = lines_of(scanner).visit(
        scanner, sensitivity.box(), {.most_lines = p_.most_lines, .mu_per_mm = mu_ ? &*mu_ : nullptr}, lay_down);
    context.report("sensitivity_lines", count.drawn);
    context.report("sensitivity_lines_accepted", used);
    if (count.drawn < count.all)
      context.log().info(fmt::format("the histo-images' sensitivity is from {} of {} lines", count.drawn, count.all));
    require_lines_in_all_views();
  }

  void require_lines_in_all_views() const {
    const std::int64_t pixels = set_.pixels();
    for (std::size_t v = 0; v < set_.places.size(); ++v) {
      const auto of_view =
          terms_.span().subspan(v * static_cast<std::size_t>(pixels), static_cast<std::size_t>(pixels));
      if (std::ranges::any_of(of_view, [](float term) { return term > 0; })) continue;
      throw std::invalid_argument(
          fmt::format("acceptance_deg: no line of the scanner is in the view at an azimuth of {:g} and a tilt of {:g} "
                      "degrees: lower "
                      "acceptance_deg, or take fewer views",
                      set_.places[v].angle_deg, set_.places[v].tilt_deg));
    }
  }

  void require_depositable(const EventBatch& batch) {
    if (batch.tof_mm.empty() || !(batch.tof.sigma_mm > 0))
      throw std::runtime_error("histo-images need events with ToF: reconstruct others from list mode");
    if (!batch.tof_width_mm.empty())
      throw std::runtime_error(
          "the events' ToF bins differ in width, and histo-images have one resolution: reconstruct from list mode");
    if (!batch.additive.empty())
      throw std::runtime_error(
          "the events have terms for randoms or scatter of their own, which do not tell those of a whole line: leave "
          "out randoms and scatter of event_corrections and give randoms here, or reconstruct from list mode");
    const float sigma_mm = deposited_sigma_mm(batch.tof);
    if (tof_sigma_mm_ == 0) tof_sigma_mm_ = sigma_mm;
    if (std::abs(sigma_mm - tof_sigma_mm_) > 1e-3f * tof_sigma_mm_)
      throw std::runtime_error(
          fmt::format("events of two ToF resolutions came, with a sigma of {:g} and {:g} mm: histo-images have one",
                      tof_sigma_mm_, sigma_mm));
  }

  // An event lies at the middle of its bin, whose width adds its variance.
  static float deposited_sigma_mm(const TofModel& tof) {
    constexpr float uniform = 12;
    return std::sqrt(tof.sigma_mm * tof.sigma_mm + tof.bin_width_mm * tof.bin_width_mm / uniform);
  }

  void note_time(const EventBatch& batch) {
    if (batch.duration_s > 0) start_s_ = std::min(start_s_, batch.start_s);
    duration_s_ += batch.duration_s;
    exposed_s_ += batch.duration_s * batch.exposure;
  }

  std::shared_ptr<const ViewSet> finished_set() {
    set_.histo.lie_along_view = p_.lattice == HistoLattice::view;
    set_.histo.centre_mm = DirectLattice::of(grid_, HistoLattice::image, {}).centre_mm.as<float>();
    set_.histo.tof_sigma_mm = tof_sigma_mm_;
    for (ViewPlace& place : set_.places) {
      place.start_s = duration_s_ > 0 ? start_s_ : 0;
      place.duration_s = duration_s_;
    }
    return std::make_shared<const ViewSet>(set_);
  }

  // The views' sensitivity attenuates, and the attenuation of the events' own terms cancels.
  std::shared_ptr<const Quantity> quantity_of_views() const {
    if (!quantity_.get()) return nullptr;
    auto made = std::make_shared<Quantity>(*quantity_.get());
    made->attenuated_by = {};
    if (!p_.mu_map.empty()) (*made)[Correction::attenuation] = {CorrectionState::made, p_.mu_map.string()};
    if (!randoms_.how().empty()) (*made)[Correction::randoms] = {CorrectionState::made, randoms_.how()};
    return made;
  }

  // Sums of linear weights round; what that leaves goes to the view with the most events, so that none is lost.
  std::vector<std::uint64_t> events_of_views(std::int64_t pixels) const {
    std::vector<std::uint64_t> events;
    for (std::size_t v = 0; v < set_.places.size(); ++v) {
      const auto of_view =
          counts_.span().subspan(v * static_cast<std::size_t>(pixels), static_cast<std::size_t>(pixels));
      double sum = 0;
      for (const float count : of_view) sum += static_cast<double>(count);
      events.push_back(static_cast<std::uint64_t>(std::llround(sum)));
    }
    const auto all = std::accumulate(events.begin(), events.end(), std::uint64_t{0});
    *std::ranges::max_element(events) += tally_.deposited - all;  // modulo 2^64, so a surplus goes too
    return events;
  }

  ViewBatch view(std::size_t number, const std::shared_ptr<const ViewSet>& set, std::uint64_t events,
                 const std::shared_ptr<const Quantity>& quantity) const {
    const std::int64_t pixels = set->pixels();
    const auto part = [&](const Buffer<float>& all) {
      return Buffer<float>::from(
          all.span().subspan(number * static_cast<std::size_t>(pixels), static_cast<std::size_t>(pixels)));
    };
    ViewBatch batch{.count = pixels, .set = set};
    batch.records = {{.view = static_cast<std::int32_t>(number),
                      .exposure = duration_s_ > 0 ? exposed_s_ / duration_s_ : 1,
                      .counts = events}};
    batch.quantity = quantity;
    batch.weigh(1);
    batch.counts = part(counts_);
    batch.multiplicative = part(terms_);
    if (additive_.size() > 0) batch.additive = part(additive_);
    return batch;
  }

  void report(Context& context) const {
    context.report("deposited", static_cast<std::int64_t>(tally_.deposited));
    context.report("rejected", static_cast<std::int64_t>(tally_.rejected()));
    context.log().info(fmt::format("{} of {} events deposited into {} views; {} are more oblique, {} lie outside",
                                   tally_.deposited, tally_.deposited + tally_.rejected(), set_.places.size(),
                                   tally_.beyond_acceptance, tally_.outside));
  }

  Params p_;
  GadgetBackend backend_;
  DirectViews directions_;
  std::optional<Image> mu_;
  Grid grid_;
  ViewSet set_;
  bool has_begun_ = false;
  std::optional<HistoDeposit> on_host_;
  std::optional<HistoDepositCuda> on_device_;
  HistoRandoms randoms_;
  Buffer<float> counts_, terms_, additive_;  // of all views
  DepositTally tally_;
  float tof_sigma_mm_ = 0;
  double start_s_ = std::numeric_limits<double>::infinity(), duration_s_ = 0, exposed_s_ = 0;
  QuantitySoFar quantity_;
};

TOFSTREAM_GADGET(HistoDepositGadget, "histo_deposit",
                 "Deposits events at their most likely points into a histo-image for each view (DIRECT)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
