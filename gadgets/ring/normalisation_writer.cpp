// A normalisation from a scan of a known source, as the file that event_corrections reads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/gadget.hpp"
#include "gadgets/io/grouped.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/motion/still.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/event_corrections.hpp"
#include "gadgets/ring/exposure.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"
#include "gadgets/ring/io/scatter_nifti.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/ring/normalise/normalise.hpp"
#include "kernels/types/host_batch.hpp"

namespace tofstream {
namespace {

struct NormalisationWriter {
  struct Params {
    std::filesystem::path file = "normalisation.yaml";  // first: after `decay` it is a false alarm of GCC 12
    std::string source;
    std::filesystem::path mu_map;
    ScatterParams scatter;
    DecayParams decay;
    DeadTimeParams dead_time;
    bool crystals = true;
    bool classes = false;
    bool calibration = true;
    bool randoms = true;
    std::int64_t lines = 40'000'000;
  };
  static constexpr auto params = describe(
      param<&Params::source>("source", required, reads_one_of("phantoms"),
                             "What was scanned, with its activity at decay.reference_time_s: a phantom of "
                             "share/phantoms, or a YAML file"),
      param<&Params::mu_map>("mu_map", reads_file,
                             "NIfTI of the source's attenuation (1/cm) on any grid; none: that of the phantom"),
      param<&Params::crystals>("crystals", "Estimate the crystals' efficiencies; false: the scanner's own are kept"),
      param<&Params::classes>(
          "classes", "Estimate a factor for each class of pairs of modules, as the scanner's tables have them"),
      param<&Params::calibration>("calibration",
                                  "Estimate the calibration to Bq/mL; false, if the activity is not known: the "
                                  "scanner's own is kept"),
      param<&Params::randoms>("randoms", "Take randoms into the model, from the delayed coincidences among the events"),
      param<&Params::scatter>("scatter", "Scattered coincidences"),
      param<&Params::dead_time>("dead_time", "Coincidences lost while electronics was busy"),
      param<&Params::decay>("decay", "Decay of the activity during the scan"),
      param<&Params::lines>("lines", range(10'000, 4e9),
                            "Lines of the sums over pairs: where more see the source, one stands for neighbours. Each "
                            "takes 8 bytes"),
      param<&Params::file>("file", in_run_folder, "Name in the output folder"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p) {
    return {.host_bytes = memory_product(8, static_cast<std::size_t>(p.lines)),
            .lower = "lines",
            .note = "12 bytes for each event of the scan"};
  }

  NormalisationWriter(const Params& p, Context& context) : p_(p), path_(context.output_file(p.file)) {
    half_life_of(p.decay);  // refuses what cannot be before data flow
    if (!p.crystals && !p.classes && !p.calibration)
      throw std::invalid_argument("nothing is to be estimated: leave crystals, classes or calibration true");
    const std::filesystem::path phantom = find_shared("phantoms", p.source);
    const formats::PhantomFile file = formats::read_phantom(phantom);
    source_.phantom = file.phantom;
    if (!(file.phantom.total_activity_Bq() > 0))
      throw std::invalid_argument(
          fmt::format("{}: the phantom has no activity, and so is no source", phantom.string()));
    if (p.mu_map.empty()) {
      refuse_energy(phantom.string(), file.mu_keV);
    } else {
      refuse_energy(p.mu_map.string(), mu_map_energy_keV(p.mu_map));
      source_.mu_per_mm = read_mu_map(p.mu_map);
      require_per_cm(p.mu_map, *source_.mu_per_mm);
    }
    if (!p.scatter.file.empty())
      source_.scatter = std::make_shared<const ScatterEstimate>(read_scatter(p.scatter.file).without_tof());
  }

  void process(const EventBatch& batch, Context& context) {
    require_still(batch, "normalisation_writer");
    if (!on_host(batch.memory())) return process(host_batch(batch), context);
    if (!batch.scanner || !batch.detectors)
      throw std::runtime_error(
          "the events do not say which pairs of a scanner's detectors recorded them, and a normalisation is of those");
    if (!fit_) begin(batch, context);
    if (batch.live && !std::exchange(has_pattern_, true))
      context.log().warning(
          "live fractions of pairs of modules differ, of which only the mean is taken into account: the rest ends up "
          "in "
          "the crystals' efficiencies");
    if (batch.scanner != scanner_)
      throw std::runtime_error("events of two scanners came, and a normalisation is of one");
    has_randoms_ =
        has_randoms_ || !batch.quantity || (*batch.quantity)[Correction::randoms].state != CorrectionState::not_needed;
    if (batch.delayed) {
      delayeds_->add(batch);
      context.books().rejected(batch.event_count(), p_.randoms ? "delayed coincidences, which estimate the randoms"
                                                               : "delayed coincidences, not used");
      return;
    }
    scan_s_ += batch.duration_s;
    fit_->add(batch, exposure_of(batch, p_.dead_time, p_.decay));
    context.books().written(batch.event_count());
  }

  void flush(Context& context) {
    if (!fit_) throw std::runtime_error("no event came: a normalisation needs a scan of the source");
    const bool has_delayeds = p_.randoms && delayeds_->total() > 0;
    if (p_.randoms && !has_delayeds && has_randoms_)
      context.log().warning(
          "no delayed coincidence came, so randoms are taken for events of the source: the recording has none, or the "
          "decoder gives only prompts (its `events: both` gives the delayeds too)");
    std::optional<RandomsModel> randoms;
    if (has_delayeds && scan_s_ > 0) randoms = randoms_from_delayeds(*scanner_, *delayeds_, scan_s_);
    const NormalisationEstimate estimate = fit_->estimate(randoms ? &*randoms : nullptr);
    const std::vector<std::string> words = words_of(estimate);
    for (const std::string& line : words) context.log().info(line);
    warn(estimate, context);
    formats::write_normalisation(path_, estimate.components,
                                 {.comments = words,
                                  .crystal_error = estimate.crystal_error,
                                  .class_error = estimate.class_error,
                                  .crystal_events = p_.crystals ? estimate.counted : std::vector<double>{},
                                  .dead = estimate.dead,
                                  .hot = estimate.hot,
                                  .unseen = estimate.unseen});
    report(estimate, context);
  }

 private:
  static void refuse_energy(const std::string& what, std::optional<double> stated_keV) {
    const std::string wrong = other_mu_energy(what, stated_keV, annihilation_keV);
    if (!wrong.empty()) throw std::invalid_argument(wrong);
  }

  void begin(const EventBatch& batch, Context& context) {
    scanner_ = batch.scanner;
    fit_.emplace(
        scanner_, source_,
        NormalisationSettings{
            .crystals = p_.crystals, .classes = p_.classes, .calibration = p_.calibration, .most_lines = p_.lines});
    delayeds_.emplace(*scanner_);
    if (scanner_->pair_tables.empty() && scanner_->geometric.empty())
      context.log().warning(
          "the scanner states no efficiencies of pairs, so that solid angle and angle of incidence are not in the "
          "model: "
          "they end up in the crystals' efficiencies");
  }

  std::vector<std::string> words_of(const NormalisationEstimate& e) const {
    std::vector<std::string> lines;
    lines.push_back(fmt::format("normalisation of scanner {} by source {}: {} events, {} of the source's",
                                scanner_->name, source_.phantom.name(), grouped(static_cast<std::uint64_t>(e.events)),
                                grouped(static_cast<std::uint64_t>(std::llround(e.trues)))));
    if (p_.crystals) lines.push_back(crystal_words(e));
    if (e.components.calibration > 0)
      lines.push_back(
          fmt::format("calibration {:.6g} +- {:.2g} % by counts", e.components.calibration, 100 / std::sqrt(e.trues)));
    lines.push_back(fmt::format(
        "fit of the source: chi2 {:.3f} a place at {} places, beyond noise {:.2f} %; beside the source {:.2f} % of the "
        "events, {:.2f} % expected",
        e.fit.chi2_per_place(), e.fit.places, 100 * e.fit.misfit, percent(e.fit.beside, e),
        percent(e.fit.beside_expected, e)));
    const auto listed = [&](const char* what, const std::vector<std::uint32_t>& crystals) {
      constexpr std::size_t most = 20;
      if (!crystals.empty())
        lines.push_back(
            fmt::format("{} crystals: {}{}", what,
                        fmt::join(crystals.begin(), crystals.begin() + std::min(most, crystals.size()), ", "),
                        crystals.size() > most ? fmt::format(" and {} more", crystals.size() - most) : ""));
    };
    listed("dead", e.dead);
    listed("hot", e.hot);
    return lines;
  }

  static std::string crystal_words(const NormalisationEstimate& e) {
    double squares = 0, fitted = 0;
    for (const float error : e.crystal_error)
      if (error > 0) squares += static_cast<double>(error) * static_cast<double>(error), ++fitted;
    std::string words = fmt::format("efficiencies of {:g} of {} crystals, error {:.2f} % (RMS)", fitted,
                                    e.crystal_error.size(), 100 * std::sqrt(squares / fitted));
    if (e.partners_alike > 1)
      words +=
          fmt::format("; sums by groups of up to {} partners, error {:.2f} %", e.partners_alike, 100 * e.sum_error);
    return words;
  }

  static double percent(double events, const NormalisationEstimate& e) {
    return 100 * events / static_cast<double>(e.events);
  }

  void warn(const NormalisationEstimate& e, Context& context) const {
    constexpr double most_misfit = 0.03, most_beside = 0.01;
    const double excess = (e.fit.beside - e.fit.beside_expected) / static_cast<double>(e.events);
    if (e.fit.misfit > most_misfit)
      context.log().warning(fmt::format(
          "the source does not fit: counts differ from the model by {:.1f} % beyond noise. Are its size, place "
          "and attenuation right?",
          100 * e.fit.misfit));
    if (excess > most_beside)
      context.log().warning(
          fmt::format("{:.1f} % of the events lie beside the source and are no randoms: scatter, or a source that is "
                      "smaller than the real one or lies elsewhere",
                      100 * excess));
    if (!e.unseen.empty())
      context.log().warning(
          fmt::format("{} of {} crystals hardly see the source: their efficiency is taken as the mean of the others",
                      e.unseen.size(), scanner_->detectors->size()));
  }

  void report(const NormalisationEstimate& e, Context& context) const {
    const auto count = [](const std::vector<std::uint32_t>& crystals) {
      return static_cast<std::int64_t>(crystals.size());
    };
    context.report("file", path_.string());
    context.report("trues", e.trues);
    if (e.components.calibration > 0) context.report("calibration", static_cast<double>(e.components.calibration));
    context.report("dead_crystals", count(e.dead));
    context.report("hot_crystals", count(e.hot));
    context.report("unseen_crystals", count(e.unseen));
    context.report("chi2_a_place", e.fit.chi2_per_place());
    context.report("misfit_percent", 100 * e.fit.misfit);
    context.report("beside_percent", percent(e.fit.beside, e));
    context.report("beside_expected_percent", percent(e.fit.beside_expected, e));
    context.report("iterations", static_cast<std::int64_t>(e.iterations));
    context.report("lines", e.lines);
    context.report("sum_error_percent", 100 * e.sum_error);
  }

  Params p_;
  std::filesystem::path path_;
  NormalisationSource source_;
  std::shared_ptr<const Scanner> scanner_;
  std::optional<Normalisation> fit_;
  std::optional<DelayedCounts> delayeds_;
  double scan_s_ = 0;  // of prompts
  bool has_randoms_ = false, has_pattern_ = false;
};

TOFSTREAM_GADGET(
    NormalisationWriter, "normalisation_writer",
    "Estimates efficiencies and calibration from a scan of a known source, as event_corrections reads them");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
