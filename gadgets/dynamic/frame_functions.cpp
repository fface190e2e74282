// Functions of time of frames: see frame_functions.hpp.
#include "gadgets/dynamic/frame_functions.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/dynamic/time_functions.hpp"
#include "gadgets/io/nifti/nifti.hpp"

namespace tofstream {

FrameFunctions FrameFunctions::of_plasma(TimeFunction plasma, std::filesystem::path from, std::filesystem::path uptake,
                                         std::filesystem::path volume) {
  constexpr double minute_s = 60;
  FrameFunctions made;
  made.functions_.push_back(std::move(plasma));
  made.has_integral_ = true;
  made.from_ = std::move(from);
  made.images_ = {{std::move(uptake), "K_i by Patlak's plot", "1/min", minute_s},
                  {std::move(volume), "V by Patlak's plot", "", 1}};
  return made;
}

FrameFunctions FrameFunctions::of_table(const std::filesystem::path& from) {
  FrameFunctions made;
  made.functions_ = formats::read_time_functions(from);
  made.from_ = from;
  for (std::size_t m = 1; m <= made.functions_.size(); ++m)
    made.images_.push_back({fmt::format("f{}.nii.gz", m), fmt::format("coefficient of f{}", m), "", 1});
  return made;
}

std::vector<double> FrameFunctions::of(const ScanFrame& frame, Context& context) {
  const double start_s = frame.start_s, end_s = frame.start_s + frame.duration_s;
  for (const TimeFunction& function : functions_)
    if (end_s > function.end_s() * (1 + 1e-9))
      throw std::runtime_error(
          fmt::format("{}: the table ends at {:g} s, before frame {} does, at {:g} s: give all of it, or fewer frames",
                      from_.string(), function.end_s(), frame.number, end_s));
  std::vector<double> means;
  if (has_integral_) {
    means.push_back(functions_[0].mean_of_integral(start_s, end_s));
    warn_of_begin(means[0], context);
  }
  for (const TimeFunction& function : functions_) means.push_back(function.mean(start_s, end_s));
  return means;
}

void FrameFunctions::write(std::size_t coefficient, const Image& values, Context& context) const {
  const CoefficientImage& to = images_[coefficient];
  Image scaled = values.to(Memory::host);
  synchronize(nullptr);
  for (float& value : scaled.voxels.span()) value = static_cast<float>(to.scale * static_cast<double>(value));
  write_nifti(context.output_file(to.file), scaled,
              {.description = "tofstream, " + to.description, .unit = to.unit, .comment = {}});
}

void FrameFunctions::warn_of_begin(double integral, Context& context) {
  constexpr double visible = 0.01;
  const double share = functions_[0].assumed_integral() / integral;
  if (from_.empty() || warned_ || !(share > visible)) return;
  warned_ = true;
  context.log().warning(
      fmt::format("{}: {:.1f} % of the integral of plasma over the first frame lies before the table's first time, "
                  "where a straight "
                  "rise from 0 is taken: K_i is wrong by as much as plasma was otherwise",
                  from_.string(), 100 * share));
}

void DecayWarning::note(const Quantity* quantity, Context& context) {
  if (warned_ || !quantity) return;
  if ((*quantity)[Correction::decay].state != CorrectionState::called_for) return;
  warned_ = true;
  context.log().warning(
      "the frames are not corrected for decay, so what grows with time, such as K_i, is too low: give "
      "event_corrections "
      "the isotope's decay");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
