// Means of patterns of live fractions: see live_pattern.hpp.
#include "kernels/types/live_pattern.hpp"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

void MeanLivePattern::begin(std::uint32_t modules) {
  if (modules_ != 0 && modules_ != modules)
    throw std::invalid_argument(fmt::format(
        "live fractions of {} and of {} modules have no mean: they are of two scanners", modules_, modules));
  modules_ = modules;
  if (!sum_.empty()) return;
  sum_.assign(static_cast<std::size_t>(modules) * modules, 0.0);
  for (std::size_t k = 0; k < sum_.size(); ++k)
    sum_[k] = exposed_s_ * (only_ ? static_cast<double>(only_->factor[k]) : 1.0);
}

void MeanLivePattern::add(const std::shared_ptr<const LivePattern>& pattern, double exposed_s) {
  if (!(exposed_s > 0)) return;
  if (is_one_ && (exposed_s_ == 0 || pattern == only_)) {
    only_ = pattern;
    if (pattern) modules_ = pattern->modules;
  } else {
    begin(pattern ? pattern->modules : modules_);
    is_one_ = false;
    for (std::size_t k = 0; k < sum_.size(); ++k)
      sum_[k] += exposed_s * (pattern ? static_cast<double>(pattern->factor[k]) : 1.0);
  }
  exposed_s_ += exposed_s;
}

void MeanLivePattern::add(const MeanLivePattern& other) {
  if (const auto mean = other.get(); other.exposed_s_ > 0) add(mean, other.exposed_s_);
}

std::shared_ptr<const LivePattern> MeanLivePattern::get() const {
  if (is_one_) return only_;
  auto mean = std::make_shared<LivePattern>(LivePattern{.modules = modules_, .factor = {}});
  mean->factor.reserve(sum_.size());
  for (const double sum : sum_) mean->factor.push_back(static_cast<float>(sum / exposed_s_));
  return mean;
}

double rms_difference(const LivePattern* a, const LivePattern* b) {
  if (a == b) return 0;
  const std::size_t pairs = (a ? a : b)->factor.size();
  double squares = 0, counted = 0;
  for (std::size_t k = 0; k < pairs; ++k) {
    const double one = a ? static_cast<double>(a->factor[k]) : 1.0, other = b ? static_cast<double>(b->factor[k]) : 1.0;
    if (!(other > 0)) continue;
    squares += (one / other - 1) * (one / other - 1);
    ++counted;
  }
  return counted > 0 ? std::sqrt(squares / counted) : 0;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
