// Patlak's plot by least squares: see patlak.hpp.
#include "kernels/patlak/patlak.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tofstream {

InputFunction::InputFunction(std::vector<double> time_s, std::vector<double> activity)
    : time_s_(std::move(time_s)), activity_(std::move(activity)) {
  if (time_s_.size() < 2 || activity_.size() != time_s_.size())
    throw std::invalid_argument("an input function needs at least two times, each with an activity");
  for (std::size_t i = 0; i < time_s_.size(); ++i) {
    if (!(time_s_[i] >= 0 && std::isfinite(time_s_[i])) || (i > 0 && !(time_s_[i] > time_s_[i - 1])))
      throw std::invalid_argument(
          fmt::format("times of an input function ascend from 0 on, and {:g} s does not", time_s_[i]));
    if (!(activity_[i] >= 0 && std::isfinite(activity_[i])))
      throw std::invalid_argument(
          fmt::format("the input function is {:g} at {:g} s, and no activity is negative", activity_[i], time_s_[i]));
  }
  if (time_s_.front() > 0) {
    time_s_.insert(time_s_.begin(), 0);
    activity_.insert(activity_.begin(), 0);
  }
  at_.resize(time_s_.size());
  for (std::size_t i = 1; i < time_s_.size(); ++i) at_[i] = until(time_s_[i]);
}

InputFunction::Integrals InputFunction::until(double time_s) const {
  const auto next = std::ranges::lower_bound(time_s_, time_s) - time_s_.begin();
  const auto i = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(next, 1, std::ssize(time_s_) - 1));
  const double h = time_s - time_s_[i - 1];
  const double slope = (activity_[i] - activity_[i - 1]) / (time_s_[i] - time_s_[i - 1]), a = activity_[i - 1];
  const Integrals& before = at_[i - 1];
  return {before.once + a * h + slope * h * h / 2,
          before.twice + before.once * h + a * h * h / 2 + slope * h * h * h / 6};
}

double InputFunction::mean(double start_s, double end_s) const {
  return (until(end_s).once - until(start_s).once) / (end_s - start_s);
}

double InputFunction::mean_of_integral(double start_s, double end_s) const {
  return (until(end_s).twice - until(start_s).twice) / (end_s - start_s);
}

PatlakFit patlak_fit(const std::vector<PatlakFrame>& frames) {
  if (frames.size() < 2) throw std::invalid_argument("two values need at least two frames");
  double aa = 0, ab = 0, bb = 0;
  for (const PatlakFrame& frame : frames) {
    aa += frame.weight * frame.integral * frame.integral;
    ab += frame.weight * frame.integral * frame.plasma;
    bb += frame.weight * frame.plasma * frame.plasma;
  }
  const double determinant = aa * bb - ab * ab;
  constexpr double least = 1e-9;  // of what it would be if the two were independent
  if (!(determinant > least * aa * bb))
    throw std::invalid_argument(
        "the input function is such that uptake and volume cannot be told apart in these frames");
  PatlakFit fit;
  for (const PatlakFrame& frame : frames) {
    fit.uptake.push_back(frame.weight * (bb * frame.integral - ab * frame.plasma) / determinant);
    fit.volume.push_back(frame.weight * (aa * frame.plasma - ab * frame.integral) / determinant);
  }
  return fit;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
