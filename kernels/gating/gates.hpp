// Gates of a scan: the times at which the object was in one state of a movement that comes again, such as breathing.
#pragma once

#include <vector>

namespace tofstream {

/// What something was at ascending times, linear in between.
struct MotionSignal {
  std::vector<double> time_s, value;
};

/// A stretch of scan time in one gate.
struct GateStretch {
  double start_s = 0, end_s = 0;
  int gate = 0;  // from 1; 0: in none
  friend bool operator==(const GateStretch&, const GateStretch&) = default;
};

/// From each trigger to the next is a cycle, whose time is cut into gates of equal length: the phases. A cycle that is
/// longer than `longest_cycle_s` (0: none is) has no gate: a trigger is missing there. Triggers ascend. Throws
/// std::invalid_argument for fewer than two triggers, and where no cycle is left.
std::vector<GateStretch> gates_by_phase(const std::vector<double>& triggers_s, int gates, double longest_cycle_s = 0);

/// How amplitudes are cut into gates.
enum class GateBounds { equal_time, equal_amplitude };

/// Gate 1 has the lowest values of the signal, the last gate the highest. equal_time: so that all have as much time;
/// equal_amplitude: between the values below and above which the signal is for 2 % of its time, in equal steps, what is
/// beyond them in the first and the last gate. Before its first time and after its last one there is no gate. Throws
/// std::invalid_argument for fewer than two times, and for a signal that does not change.
std::vector<GateStretch> gates_by_amplitude(const MotionSignal& signal, int gates, GateBounds bounds);

/// The beginnings of a signal's cycles: where it rises through its median, having been below its lower quartile since
/// the one before, so that noise on the way makes none. Throws as gates_by_amplitude does.
std::vector<double> cycles_of(const MotionSignal& signal);

/// The gate at a time; 0: none. `stretches` are those of one of the functions above.
int gate_at(const std::vector<GateStretch>& stretches, double time_s);

/// The times between two at which another stretch begins or one ends, ascending.
std::vector<double> gate_changes(const std::vector<GateStretch>& stretches, double start_s, double end_s);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
