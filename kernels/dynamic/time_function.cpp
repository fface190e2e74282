// Functions of scan time: see time_function.hpp.
#include "kernels/dynamic/time_function.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tofstream {

TimeFunction::TimeFunction(std::vector<double> time_s, std::vector<double> value)
    : time_s_(std::move(time_s)), value_(std::move(value)) {
  if (time_s_.size() < 2 || value_.size() != time_s_.size())
    throw std::invalid_argument("a function of time needs at least two times, each with a value");
  for (std::size_t i = 0; i < time_s_.size(); ++i) {
    if (!(time_s_[i] >= 0 && std::isfinite(time_s_[i])) || (i > 0 && !(time_s_[i] > time_s_[i - 1])))
      throw std::invalid_argument(fmt::format("times must ascend, from 0 on, and {:g} s does not", time_s_[i]));
    if (!(value_[i] >= 0 && std::isfinite(value_[i])))
      throw std::invalid_argument(
          fmt::format("the value is {:g} at {:g} s, and none can be negative", value_[i], time_s_[i]));
  }
  assumed_ = 0.5 * time_s_.front() * value_.front();
  if (time_s_.front() > 0) {
    time_s_.insert(time_s_.begin(), 0);
    value_.insert(value_.begin(), 0);
  }
  at_.resize(time_s_.size());
  for (std::size_t i = 1; i < time_s_.size(); ++i) at_[i] = until(time_s_[i]);
}

TimeFunction::Integrals TimeFunction::until(double time_s) const {
  const auto next = std::ranges::lower_bound(time_s_, time_s) - time_s_.begin();
  const auto i = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(next, 1, std::ssize(time_s_) - 1));
  const double h = time_s - time_s_[i - 1];
  const double slope = (value_[i] - value_[i - 1]) / (time_s_[i] - time_s_[i - 1]), a = value_[i - 1];
  const Integrals& before = at_[i - 1];
  return {before.once + a * h + slope * h * h / 2,
          before.twice + before.once * h + a * h * h / 2 + slope * h * h * h / 6};
}

double TimeFunction::mean(double start_s, double end_s) const {
  return (until(end_s).once - until(start_s).once) / (end_s - start_s);
}

double TimeFunction::mean_of_integral(double start_s, double end_s) const {
  return (until(end_s).twice - until(start_s).twice) / (end_s - start_s);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
