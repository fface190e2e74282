// The centre of mass over time: see centre_of_mass.hpp.
#include "kernels/gating/centre_of_mass.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include <Eigen/Dense>

namespace tofstream {
namespace {

using Place = std::array<double, 3>;

Place place_of(const Lor& lor) {
  const Vec3d a = lor.end1.as<double>(), b = lor.end2.as<double>();
  const Place along = {b.x - a.x, b.y - a.y, b.z - a.z};
  const double length = std::sqrt(along[0] * along[0] + along[1] * along[1] + along[2] * along[2]);
  const double part = 0.5 + (length > 0 ? static_cast<double>(lor.tof_mm) / length : 0);
  return {a.x + part * along[0], a.y + part * along[1], a.z + part * along[2]};
}

struct Centres {
  std::vector<double> time_s;
  std::vector<Place> centre;
  Place noise = {};  // standard deviation of a centre, by chance alone
};

double mean_of(const std::vector<Place>& of, std::size_t axis, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += of[i][axis];
  return sum / static_cast<double>(end - begin);
}

// Takes the mean over `drift_s` about each time away.
void take_drift_away(Centres& centres, double drift_s) {
  const std::vector<Place> was = centres.centre;
  std::size_t begin = 0, end = 0;
  for (std::size_t i = 0; i < was.size(); ++i) {
    while (centres.time_s[begin] < centres.time_s[i] - 0.5 * drift_s) ++begin;
    while (end < was.size() && centres.time_s[end] <= centres.time_s[i] + 0.5 * drift_s) ++end;
    for (std::size_t axis = 0; axis < 3; ++axis) centres.centre[i][axis] -= mean_of(was, axis, begin, end);
  }
}

// The direction in which places differ most from their mean, which is 0.
Place principal_direction(const std::vector<Place>& places) {
  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();
  for (const Place& place : places) {
    const Eigen::Vector3d at(place[0], place[1], place[2]);
    covariance += at * at.transpose();
  }
  // Eigenvalues ascend.
  const Eigen::Vector3d direction = Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(covariance).eigenvectors().col(2);
  return {direction[0], direction[1], direction[2]};
}

// A unit vector whose largest coordinate is positive, and by which sign.
double make_unit(Place& direction) {
  const double length = std::hypot(direction[0], direction[1], direction[2]);
  const double largest =
      *std::ranges::max_element(direction, [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double sign = largest < 0 ? -1 : 1;
  for (double& coordinate : direction) coordinate *= sign / length;
  return sign;
}

}  // namespace

void CentreOfMass::add(const EventBatch& batch) {
  const EventView view = batch.view();
  auto at = intervals_.end();
  for (std::int64_t i = 0; i < view.count; ++i) {
    const double rank = batch.arrival.empty() ? static_cast<double>(i) : static_cast<double>(batch.arrival[i]);
    const double time_s = batch.start_s + batch.duration_s * (rank + 0.5) / static_cast<double>(view.count);
    const auto interval = static_cast<std::int64_t>(std::floor(time_s / interval_s_));
    if (at == intervals_.end() || at->first != interval) at = intervals_.try_emplace(interval).first;
    Sums& sums = at->second;
    const Place place = place_of(view.lor(i));
    ++sums.events;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      sums.sum[axis] += place[axis];
      sums.squares[axis] += place[axis] * place[axis];
    }
  }
}

CentreMovement CentreOfMass::movement(double drift_s) const {
  constexpr double least_events = 20;
  constexpr std::size_t least_intervals = 10;
  Centres centres;
  for (const auto& [n, sums] : intervals_) {
    if (sums.events < least_events) continue;
    centres.time_s.push_back((static_cast<double>(n) + 0.5) * interval_s_);
    Place& centre = centres.centre.emplace_back();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      centre[axis] = sums.sum[axis] / sums.events;
      centres.noise[axis] += (sums.squares[axis] / sums.events - centre[axis] * centre[axis]) / sums.events;
    }
  }
  if (centres.time_s.size() < least_intervals)
    throw std::runtime_error("the events show no movement: there are too few of them, or the scan is too short");
  take_drift_away(centres, drift_s);
  for (double& noise : centres.noise) noise = std::sqrt(noise / static_cast<double>(centres.time_s.size()));
  for (Place& centre : centres.centre)
    for (std::size_t axis = 0; axis < 3; ++axis)
      centre[axis] = centres.noise[axis] > 0 ? centre[axis] / centres.noise[axis] : 0;
  const Place in_noise = principal_direction(centres.centre);
  CentreMovement movement{.signal = {centres.time_s, {}}};
  for (std::size_t axis = 0; axis < 3; ++axis) movement.direction[axis] = in_noise[axis] * centres.noise[axis];
  const double sign = make_unit(movement.direction);
  double squares = 0;
  for (const Place& centre : centres.centre) {
    const double value = sign * (centre[0] * in_noise[0] + centre[1] * in_noise[1] + centre[2] * in_noise[2]);
    movement.signal.value.push_back(value);
    squares += value * value;
  }
  movement.to_noise = std::sqrt(squares / static_cast<double>(centres.time_s.size()));
  return movement;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
