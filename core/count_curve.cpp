#include "core/count_curve.hpp"

namespace tofstream {

void CountCurve::add(const CountPoint& point) {
  if (point.seconds < due()) return;
  points_.push_back(point);
  if (points_.size() < most_) return;
  interval_ *= 2;
  for (std::size_t i = 0; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
  points_.resize((points_.size() + 1) / 2);
}

}  // namespace tofstream
