// Deposits events into histo-images, and gives all views of them when the stream has ended.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/direct/histo_filling.hpp"

namespace tofstream {
namespace {

struct HistoDepositGadget {
  struct Params {
    ImageParams image;
    std::array<int, 2> views = {40, 3};
    float acceptance_deg = 10;
    HistoLattice lattice = HistoLattice::view;
    DepositKind deposit = DepositKind::linear;
    DepositSpread spread = DepositSpread::none;
    HistoCounts counts = HistoCounts::real;
    std::filesystem::path mu_map;
    HistoRandomsParams randoms;
    HistoScatterParams scatter;
    std::int64_t most_lines = 50'000'000;
    BackendChoice backend = BackendChoice::automatic;
    double device_reserve_gib = 4;
  };
  static constexpr auto params = describe(
      param<&Params::image>("image", histo_image_words),
      param<&Params::views>("views", range(1, 4096), histo_views_words),
      param<&Params::acceptance_deg>("acceptance_deg", range(0.01, 80), unit("degrees"), acceptance_words),
      param<&Params::lattice>("lattice", histo_lattice_words), param<&Params::deposit>("deposit", deposit_words),
      param<&Params::spread>("spread", spread_words), param<&Params::counts>("counts", histo_counts_words),
      param<&Params::mu_map>("mu_map", reads_file, histo_mu_map_words),
      param<&Params::randoms>("randoms", "Random coincidences, which histo-images then hold beside the counts"),
      param<&Params::scatter>("scatter", histo_scatter_words),
      param<&Params::most_lines>("most_lines", range(1000, 2147483648.0), histo_most_lines_words),
      param<&Params::backend>("backend", "Where events are deposited; the sensitivity is computed on the CPU"),
      param<&Params::device_reserve_gib>("device_reserve_gib", at_least(0), unit("GiB"), histo_reserve_words));
  static constexpr bool own_thread = true;  // emits all views from flush
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) { return histo_memory(histo_settings(p), 1); }

  HistoDepositGadget(const Params& p, Context& context) : histo_(std::in_place, histo_settings(p), context) {}

  void process(EventBatch batch, Emit<ViewBatch>& /*emit*/, Context& context) {
    histo_->add(std::move(batch), context);
  }

  void flush(Emit<ViewBatch>& emit, Context& context) {
    if (!histo_->has_begun()) return context.log().warning("no events came: there are no histo-images");
    histo_->report(context);
    const auto set = histo_->view_set(histo_->start_s(), histo_->duration_s());
    histo_->bring_to_host();
    histo_->lay_down_randoms(context);
    for (int number = 0; number < static_cast<int>(set->places.size()); ++number) {
      ViewBatch view = histo_->views({&number, 1}, set, histo_->mean_exposure());
      view.records.front().counts = histo_->events_of_views()[static_cast<std::size_t>(number)];
      emit(std::move(view));
    }
    histo_.reset();
  }

 private:
  std::optional<HistoFilling> histo_;  // none after the end
};

TOFSTREAM_GADGET(HistoDepositGadget, "histo_deposit",
                 "Deposits events at their most likely points into a histo-image for each view (DIRECT)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
