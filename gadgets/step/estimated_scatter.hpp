// What gadgets that estimate scatter of the image, while it is reconstructed, declare and say alike.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/step/line_scatter.hpp"
#include "kernels/analysis/counts_fit.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

/// How single scatter is made to stand for all of it.
enum class ScatterFit { tails, none };
constexpr auto enum_names(ScatterFit) {
  return names(ScatterFit::tails, "tails", ScatterFit::none, "none");
}

/// How coincidences with more than one scatter come into the estimate.
enum class MultipleScatterBy { scaled, monte_carlo };
constexpr auto enum_names(MultipleScatterBy) {
  return names(MultipleScatterBy::scaled, "scaled", MultipleScatterBy::monte_carlo, "monte_carlo");
}
inline constexpr auto* multiple_words =
    "Coincidences with more than one scatter. scaled: as if they had the shape of those with one, by `fit`; "
    "monte_carlo: photons are followed through the mu map, and what they give is added before the fit";
inline constexpr auto* multiple_error_words =
    "Of monte_carlo: the relative error of its lines, RMS, at which it ends; half of it takes four times as long";

inline constexpr auto* scatter_point_words =
    "Distance between scatter points: at most as large as the smallest hot object; half of it takes eight times as "
    "long";

/// Fewer expected counts of scatter beside the body tell nothing.
inline constexpr double least_scatter_of_tails = 100;

/// The name of the file that the last estimate goes to. Throws std::invalid_argument unless it is NIfTI's.
inline const std::filesystem::path& nifti_name(const std::filesystem::path& file) {
  const std::string name = file.string();
  if (!name.ends_with(".nii") && !name.ends_with(".nii.gz"))
    throw std::invalid_argument(fmt::format("file must end in .nii or .nii.gz, not {}", name));
  return file;
}

/// What an image is said to be corrected for.
class SaidOfScatter {
 public:
  explicit SaidOfScatter(int first_iteration) : first_iteration_(first_iteration) { begin_anew(); }

  void begin_anew() {
    said_ = {Correction::scatter,
             {CorrectionState::not_made, fmt::format("single scatter from iteration {} on", first_iteration_)}};
  }
  void made() { said_ = {Correction::scatter, {CorrectionState::made, "single scatter of the estimate"}}; }
  /// Simulated events may say that nothing was scattered. `quantity`: null where nothing is known.
  bool has_none(const Quantity* quantity, Context& context) {
    if (!quantity) return false;
    const CorrectionRecord& scatter = (*quantity)[Correction::scatter];
    if (scatter.state != CorrectionState::not_needed) return false;
    if (!is_not_needed())
      context.log().info(fmt::format("the events say that they have no scatter ({}): none is estimated", scatter.how));
    said_ = {Correction::scatter, scatter};
    return true;
  }
  bool is_not_needed() const { return said_.record.state == CorrectionState::not_needed; }
  const NamedCorrection& get() const { return said_; }

 private:
  int first_iteration_;
  NamedCorrection said_;
};

/// `data`: "events", "counts".
inline void warn_of_few_tails(const char* data, double scatter, Context& context) {
  context.log().warning(
      fmt::format("scatter is not fitted to the {}: {:.0f} counts of it are expected beside the body, too few to tell; "
                  "coincidences "
                  "with more than one scatter stay uncorrected (fit: none says that they may)",
                  data, scatter));
}

/// How well the estimate explains what lies beside the body, once it has its factor.
inline std::string words_of_fit(const CountsFit& fit, double chi2_a_place) {
  return fmt::format("chi2 {:.3f} a place at {} places, beyond noise {:.1f} %", chi2_a_place, fit.places(),
                     100 * fit.misfit());
}

/// `wanted_error`: what was asked for.
inline void report_multiple(const MultipleScatterPart& part, double wanted_error, Context& context) {
  context.append("multiple_share", part.share);
  context.report("multiple_error", part.relative_error);
  context.report("multiple_decays", part.decays);
  context.log().info(fmt::format(
      "{:.1f} % of scatter is of more than one order, from {:.2g} decays, with an error of {:.1f} %: {:.1f} s",
      100 * part.share, static_cast<double>(part.decays), 100 * part.relative_error, part.seconds));
  if (part.relative_error > wanted_error)
    context.log().warning(
        fmt::format("scatter of more than one order has an error of {:.1f} %, not the {:.1f} % that was asked for "
                    "(multiple_error): {:.2g} decays are the most that are followed",
                    100 * part.relative_error, 100 * wanted_error, static_cast<double>(part.decays)));
}

/// For estimates that take long: what is done of them, and an end to them where the run ends.
inline ImageScatterProgress scatter_progress(Context& context) {
  return [&context](double done, const char* of) {
    if (context.cancelled()) throw std::runtime_error("the run is being ended: its scatter is not estimated");
    context.progress(done, 1, of);
  };
}

/// Whether an estimate should need the usual factor. A first one is of an image that has the scatter in it, and so too high
/// by about as much as the other orders would add to single scatter: with these in it, it is too high for certain.
inline bool is_usual(MultipleScatterBy multiple, bool is_corrected_image) {
  return is_corrected_image || multiple == MultipleScatterBy::scaled;
}

/// Where the factor is unusual, or at a bound.
inline void warn_of_tail_factor(const char* data, double factor, double error, bool is_at_bound, Context& context) {
  constexpr double low = 0.8, high = 1.5;
  if (!is_at_bound && factor >= low && factor <= high) return;
  context.log().warning(
      fmt::format("{} beside the body ask for {:.2f} +- {:.2f} of the scatter that was estimated, where {:g} to {:g} "
                  "is usual: is the image "
                  "absolute (calibration, normalisation), the mu map complete and in its place, are randoms corrected?",
                  data, factor, error, low, high));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
