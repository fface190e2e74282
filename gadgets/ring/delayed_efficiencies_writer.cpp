// Crystals' efficiencies from the delayed coincidences of any scan, as the file that event_corrections reads.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/grouped.hpp"
#include "gadgets/motion/still.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"
#include "kernels/ring/normalise/delayed_efficiencies.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {
namespace {

struct DelayedEfficienciesWriter {
  struct Params {
    std::filesystem::path file = "normalisation.yaml";
    int azimuth_order = FluxOrders{}.azimuth;
    int axial_order = FluxOrders{}.axial;
  };
  static constexpr auto params =
      describe(param<&Params::azimuth_order>(
                   "azimuth_order", range(0, 30),
                   "Order of the Fourier series in azimuth of the photons' flux: what changes as slowly is flux, what "
                   "changes faster is efficiency"),
               param<&Params::axial_order>("axial_order", range(0, 12), "Order of its polynomials along z"),
               param<&Params::file>("file", in_run_folder, "Name in the output folder"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  DelayedEfficienciesWriter(const Params& p, Context& context) : p_(p), path_(context.output_file(p.file)) {}

  void process(const EventBatch& batch, Context& context) {
    require_still(batch, "delayed_efficiencies_writer");
    if (!on_host(batch.memory())) return process(host_batch(batch), context);
    if (!batch.scanner || !batch.detectors)
      throw std::runtime_error(
          "the events do not say which pairs of a scanner's detectors recorded them, and efficiencies are of those");
    if (!delayeds_) {
      scanner_ = batch.scanner;
      delayeds_.emplace(*scanner_);
    }
    if (batch.scanner != scanner_) throw std::runtime_error("events of two scanners came, and efficiencies are of one");
    if (!batch.delayed) {
      context.books().rejected(batch.event_count(), "prompts, not used: efficiencies come from delayeds");
      return;
    }
    delayeds_->add(batch);
    context.books().written(batch.event_count());
  }

  void flush(Context& context) {
    if (!delayeds_ || delayeds_->total() == 0)
      throw std::runtime_error(
          "no delayed coincidence came, and efficiencies come from these: the recording has none, or the decoder gives "
          "only prompts (its `events: both` gives the delayeds too)");
    const DelayedEfficiencies estimate =
        efficiencies_from_delayeds(*scanner_, *delayeds_, {p_.azimuth_order, p_.axial_order});
    const std::vector<std::string> words = words_of(estimate);
    for (const std::string& line : words) context.log().info(line);
    warn(estimate, context);
    NormalisationComponents components;
    components.crystal_efficiency = estimate.efficiency;
    formats::write_normalisation(path_, components,
                                 {.comments = words,
                                  .crystal_error = estimate.error,
                                  .crystal_events = estimate.counted,
                                  .dead = estimate.dead,
                                  .hot = estimate.hot,
                                  .unseen = estimate.unseen});
    context.report("file", path_.string());
    context.report("delayeds", delayeds_->total());
    context.report("dead_crystals", static_cast<std::int64_t>(estimate.dead.size()));
    context.report("hot_crystals", static_cast<std::int64_t>(estimate.hot.size()));
    context.report("unseen_crystals", static_cast<std::int64_t>(estimate.unseen.size()));
    context.report("flux_ratio", estimate.flux_ratio);
    context.report("module_spread_percent", 100 * estimate.module_spread);
  }

 private:
  std::vector<std::string> words_of(const DelayedEfficiencies& estimate) const {
    double squares = 0, fitted = 0;
    for (const float error : estimate.error)
      if (error > 0) squares += static_cast<double>(error) * static_cast<double>(error), ++fitted;
    return {
        fmt::format("efficiencies of {:g} of {} crystals of scanner {} from {} delayed coincidences, error {:.2f} % "
                    "(RMS); {} dead, {} hot, {} unseen",
                    fitted, estimate.error.size(), scanner_->name,
                    grouped(static_cast<std::uint64_t>(delayeds_->total())), 100 * std::sqrt(squares / fitted),
                    estimate.dead.size(), estimate.hot.size(), estimate.unseen.size()),
        fmt::format("photons' flux, of order {} in azimuth and {} along z: largest over least {:.2f}; modules' mean "
                    "efficiencies differ by {:.2f} % (RMS). No calibration, no factors of classes",
                    p_.azimuth_order, p_.axial_order, estimate.flux_ratio, 100 * estimate.module_spread)};
  }

  static void warn(const DelayedEfficiencies& estimate, Context& context) {
    constexpr double most_spread = 0.05;
    if (estimate.module_spread > most_spread)
      context.log().warning(fmt::format(
          "modules' mean efficiencies differ by {:.1f} %: either the modules do, or the photons' flux changes faster "
          "than the orders allow (azimuth_order, axial_order), and then the efficiencies are wrong",
          100 * estimate.module_spread));
    if (!estimate.unseen.empty())
      context.log().warning(
          fmt::format("{} of {} crystals have too few delayeds: their efficiency is taken as the mean",
                      estimate.unseen.size(), estimate.error.size()));
  }

  Params p_;
  std::filesystem::path path_;
  std::shared_ptr<const Scanner> scanner_;
  std::optional<DelayedCounts> delayeds_;
};

TOFSTREAM_GADGET(DelayedEfficienciesWriter, "delayed_efficiencies_writer",
                 "Estimates crystals' efficiencies from the delayeds of any scan, as event_corrections reads them");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
