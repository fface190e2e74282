// Gates of a scan: the times at which the object was in one state of a movement that comes again, such as breathing.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace tofstream {

/// What something was at ascending times, linear in between, unless these are too far apart: a pause, in which nobody
/// knows it. Without values, the times are those of triggers.
struct MotionSignal {
  std::vector<double> time_s, value;
  double longest_step_s = std::numeric_limits<double>::infinity();

  /// Whether a pause lies between times i - 1 and i.
  bool pauses_before(std::size_t i) const { return time_s[i] - time_s[i - 1] > longest_step_s; }
};

/// The median step between a signal's times, in s; 0 for fewer than two.
double usual_step_s(const MotionSignal& signal);

/// A stretch of scan time in one gate.
struct GateStretch {
  double start_s = 0, end_s = 0;
  int gate = 0;  // from 1; 0: in none
  friend bool operator==(const GateStretch&, const GateStretch&) = default;
};

/// From each trigger, or beginning of a cycle (cycles_of), to the next is a cycle, whose time is cut into gates of equal
/// length: the phases. A cycle that is longer than `longest_cycle_s` (0: none is) has no gate, as a trigger is missing
/// there, and neither has one in which the signal pauses. Throws std::invalid_argument for fewer than two triggers, and
/// where no cycle is left.
std::vector<GateStretch> gates_by_phase(const MotionSignal& signal, int gates, double longest_cycle_s = 0);

/// How amplitudes are cut into gates.
enum class GateBounds { equal_time, equal_amplitude };

/// Gate 1 has the lowest values of the signal, the last gate the highest. equal_time: so that all have as much time;
/// equal_amplitude: between the values below and above which the signal is for 2 % of its time, in equal steps, what is
/// beyond them in the first and the last gate. Before its first time, after its last one and in a pause there is no gate.
/// Throws std::invalid_argument for fewer than two times, and for a signal that does not change.
std::vector<GateStretch> gates_by_amplitude(const MotionSignal& signal, int gates, GateBounds bounds);

/// The beginnings of a signal's cycles: where it rises through its median, having been below its lower quartile since
/// the one before, so that noise on the way makes none; a pause begins none. Throws as gates_by_amplitude does.
std::vector<double> cycles_of(const MotionSignal& signal);

/// The gate at a time; 0: none. `stretches` are those of one of the functions above.
int gate_at(const std::vector<GateStretch>& stretches, double time_s);

/// The times between two at which another stretch begins or one ends, ascending.
std::vector<double> gate_changes(const std::vector<GateStretch>& stretches, double start_s, double end_s);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
