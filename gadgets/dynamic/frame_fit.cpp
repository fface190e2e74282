// Coefficients from frames: see frame_fit.hpp.
#include "gadgets/dynamic/frame_fit.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/write/estimate_writer.hpp"
#include "kernels/dynamic/basis_fit.hpp"

namespace tofstream {
namespace {

Image weighted_sum(const std::vector<const Image*>& images, const std::vector<double>& weights) {
  Image sum = Image::zeros(images[0]->grid);
  for (std::int64_t v = 0; v < sum.voxels.size(); ++v) {
    double value = 0;
    for (std::size_t f = 0; f < images.size(); ++f) value += weights[f] * static_cast<double>(images[f]->voxels[v]);
    sum.voxels[v] = static_cast<float>(value);
  }
  return sum;
}

}  // namespace

void FrameFit::take(const Estimate& estimate, FrameFunctions* functions, Context& context) {
  require_voxels(estimate);
  if (!estimate.step.ends_frame()) return;
  if (estimate.step.gate > 0) throw std::runtime_error("the images are of gates, not of frames: take framing");
  if (functions) functions->of(estimate.step.frame, context);
  decay_.note(estimate.quantity.get(), context);
  frames_.push_back({estimate.step.frame, on_host(estimate)});
}

const std::vector<FrameFit::Frame>& FrameFit::frames() const {
  if (frames_.empty())
    throw std::runtime_error("no frame came, which a course over time could be seen in: take framing for subsets");
  return frames_;
}

void FrameFit::write(FrameFunctions& functions, double start_s, Context& context) const {
  std::vector<BasisFrame> fitted;
  std::vector<const Image*> images;
  for (const Frame& frame : frames()) {
    if (frame.time.start_s < start_s) continue;
    fitted.push_back({functions.of(frame.time, context), frame.time.duration_s});
    images.push_back(frame.image.get());
  }
  context.report("frames_fitted", static_cast<std::int64_t>(fitted.size()));
  if (fitted.size() < functions.count())
    throw std::runtime_error(fmt::format(
        "{} of {} frames begin at or after start_s ({:g} s), and {} are needed: lower start_s, or scan longer",
        fitted.size(), frames_.size(), start_s, functions.count()));
  try {
    const std::vector<std::vector<double>> sums = basis_fit(fitted);
    for (std::size_t m = 0; m < sums.size(); ++m) functions.write(m, weighted_sum(images, sums[m]), context);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
