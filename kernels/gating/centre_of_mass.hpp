// The movement of an object from the events themselves: the mean place of the events of each short interval, and of its
// three coordinates the first principal component.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "kernels/gating/gates.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// The component of the centre of mass that moves most, beside its noise.
struct CentreMovement {
  MotionSignal signal;                   // in units of its noise, at the intervals' middles
  std::array<double, 3> direction = {};  // of the movement, in mm of x, y and z: a unit vector
  double to_noise = 0;                   // standard deviation of the signal; little more than 1 where nothing moves
};

class CentreOfMass {
 public:
  /// `interval_s`: of one value.
  explicit CentreOfMass(double interval_s) : interval_s_(interval_s) {}

  /// Adds the events of a batch on the host, each at its place by ToF (without ToF: the middle of its line), and at the
  /// time that its arrival says, as if all had come evenly. Prompts and delayeds are told apart by whoever calls this.
  void add(const EventBatch& batch);

  /// What is slower than `drift_s`, as a tracer that spreads, is taken away (a mean over so long a time about each
  /// interval); each coordinate is divided by its noise, which the spread of the events tells; then the first
  /// principal component. Its sign is such that the largest coordinate of its direction is positive. Throws
  /// std::runtime_error for fewer than ten intervals with at least 20 events.
  CentreMovement movement(double drift_s) const;

 private:
  struct Sums {
    double events = 0;
    std::array<double, 3> sum = {}, squares = {};  // of places in mm
  };

  double interval_s_;
  std::map<std::int64_t, Sums> intervals_;  // by number from time 0 on; of those with events
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
