// Radioactive decay: the mean of 2^-(t / T) over a stretch of time.
#pragma once

namespace tofstream {

/// Mean over [start_s, start_s + duration_s] of the activity relative to that at time 0, 2^-(t / half_life_s); start_s
/// may be negative, a duration of 0 gives the value at start_s. Throws std::invalid_argument unless the half-life is
/// finite and positive and the duration not negative.
double mean_decay(double start_s, double duration_s, double half_life_s);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
