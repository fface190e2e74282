// Dead time of a detector that counts one event at a time.
#pragma once

namespace tofstream {

/// What happens to events while the detector is busy. non_paralysable: they are lost, m = n / (1 + n tau);
/// paralysable: they are lost and keep it busy, m = n exp(-n tau), of which n is the smaller solution (m: counted,
/// n: true rate). Adams et al. 1974.
enum class DeadTimeModel { non_paralysable, paralysable };

/// The fraction m / n of events that were counted, from the rate m that was counted (1/s) and the dead time tau (s):
/// 1 - m tau, or exp(W(-m tau)) with Lambert's W. Throws std::invalid_argument for a negative rate or dead time and,
/// in one line, where no true rate gives so many counts: m tau of 1 or more, or of more than 1/e.
double live_fraction(double counted_cps, double dead_time_s, DeadTimeModel model);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
