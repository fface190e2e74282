// Dead times of modules from the singles of a decaying source, as the file that event_corrections reads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/event_corrections.hpp"
#include "gadgets/ring/exposure.hpp"
#include "gadgets/ring/io/dead_time_yaml.hpp"
#include "kernels/ring/correct/module_singles.hpp"
#include "kernels/ring/correct/dead_time_fit.hpp"

namespace tofstream {

enum class FittedModel { automatic, non_paralysable, paralysable };
constexpr auto enum_names(FittedModel) {
  return names(FittedModel::automatic, "automatic", FittedModel::non_paralysable, "non_paralysable",
               FittedModel::paralysable, "paralysable");
}

namespace {

struct DeadTimeWriter {
  struct Params {
    std::filesystem::path file = "dead_time.yaml";
    FittedModel model = FittedModel::automatic;
    DecayParams decay;
  };
  static constexpr auto params = describe(
      param<&Params::model>(
          "model", "What happens to photons while a module is busy: automatic takes the model that fits better"),
      param<&Params::decay>("decay", "Decay of the activity during the scan"),
      param<&Params::file>("file", in_run_folder, "Name in the output folder"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  DeadTimeWriter(const Params& p, Context& context)
      : p_(p), half_life_s_(half_life_of(p.decay)), path_(context.output_file(p.file)) {
    if (half_life_s_ == 0)
      throw std::invalid_argument("dead times come from a source that decays: give decay.isotope or decay.half_life_s");
  }

  void process(const EventBatch& batch, Context& context) {
    if (!batch.singles) {
      context.books().rejected(batch.event_count(), "not needed: dead times come from singles");
      return;
    }
    const SinglesCounts& singles = *batch.singles;
    if (!singles.unusable.empty())
      throw std::runtime_error(fmt::format("dead times cannot be estimated from singles: {}", singles.unusable));
    const std::vector<double> counts = singles_of_modules(*batch.scanner, singles);
    modules_.resize(counts.size());
    for (std::size_t m = 0; m < counts.size(); ++m)
      modules_[m].push_back({singles.start_s, singles.duration_s, counts[m]});
  }

  void flush(Context& context) {
    if (modules_.empty())
      throw std::runtime_error(
          "no singles histogram came, and dead times come from these: the recording has none, or the decoder gives "
          "only "
          "prompts (its `events: both` gives them too)");
    std::vector<DeadTimeFit> fits =
        fitted(p_.model == FittedModel::paralysable ? DeadTimeModel::paralysable : DeadTimeModel::non_paralysable);
    if (p_.model == FittedModel::automatic) {
      std::vector<DeadTimeFit> other = fitted(DeadTimeModel::paralysable);
      if (chi2_a_point(other) < chi2_a_point(fits)) fits = std::move(other);
    }
    write(fits, context);
  }

 private:
  std::vector<DeadTimeFit> fitted(DeadTimeModel model) const {
    std::vector<DeadTimeFit> fits;
    for (std::size_t m = 0; m < modules_.size(); ++m) try {
        fits.push_back(fit_dead_time(modules_[m], half_life_s_, model));
      } catch (const std::invalid_argument& error) {
        throw std::runtime_error(fmt::format("module {}: {}", m, error.what()));
      }
    return fits;
  }

  static double chi2_a_point(const std::vector<DeadTimeFit>& fits) {
    double chi2 = 0, points = 0;
    for (const DeadTimeFit& fit : fits) chi2 += fit.chi2, points += fit.points - 2;
    return chi2 / std::max(points, 1.0);
  }

  void write(const std::vector<DeadTimeFit>& fits, Context& context) const {
    formats::ModuleDeadTimes times{fits.front().model, {}};
    std::vector<double> errors_us;
    double mean = 0, negative = 0;
    for (const DeadTimeFit& fit : fits) {
      times.dead_time_us.push_back(1e6 * std::max(fit.dead_time_s, 0.0));
      errors_us.push_back(1e6 * fit.error_s);
      mean += 1e6 * fit.dead_time_s / static_cast<double>(fits.size());
      negative += fit.dead_time_s < -3 * fit.error_s ? 1 : 0;
    }
    const char* model = times.model == DeadTimeModel::paralysable ? "paralysable" : "non_paralysable";
    const double chi2 = chi2_a_point(fits);
    const std::string words = fmt::format("dead times of {} modules, {}: mean {:.3g} us, chi2 {:.3f} a point",
                                          fits.size(), model, mean, chi2);
    context.log().info(words);
    constexpr double bad_fit = 2;
    if (chi2 > bad_fit || negative > 0)
      context.log().warning(fmt::format(
          "the singles do not follow the model (chi2 {:.1f} a point, {:g} modules with a negative dead time): is "
          "the isotope right, and was there anything else that counted?",
          chi2, negative));
    formats::write_dead_times(path_, times, errors_us, {words});
    context.report("file", path_.string());
    context.report("model", std::string(model));
    context.report("mean_dead_time_us", mean);
    context.report("chi2_a_point", chi2);
  }

  Params p_;
  double half_life_s_;
  std::filesystem::path path_;
  std::vector<std::vector<CountedTime>> modules_;
};

TOFSTREAM_GADGET(
    DeadTimeWriter, "dead_time_writer",
    "Estimates modules' dead times from the singles of a decaying source, as event_corrections reads them");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
