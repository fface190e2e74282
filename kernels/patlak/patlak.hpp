// Patlak's plot (Patlak, Blasberg and Fenstermacher 1983): where a tracer that is trapped has come to equilibrium with
// plasma, tissue has C(t) = K_i int_0^t C_p + V C_p(t). K_i is the rate of uptake and V the volume of distribution.
#pragma once

#include <vector>

namespace tofstream {

/// The activity of plasma over time: linear between its times, from 0 at the scan's start to the first of them.
class InputFunction {
 public:
  /// Times in s, ascending and not negative; activities in the unit of the image. Throws std::invalid_argument for fewer
  /// than two times, as many activities, times that do not ascend, and what is negative or not finite.
  InputFunction(std::vector<double> time_s, std::vector<double> activity);

  double end_s() const { return time_s_.back(); }
  /// The mean of C_p over a stretch of time, and that of int_0^t C_p; exact for what is linear in between. Beyond the
  /// last time nothing is known: a stretch must end before.
  double mean(double start_s, double end_s) const;
  double mean_of_integral(double start_s, double end_s) const;

 private:
  // int_0^t C_p, and its own integral.
  struct Integrals {
    double once = 0, twice = 0;
  };
  Integrals until(double time_s) const;

  std::vector<double> time_s_, activity_;
  std::vector<Integrals> at_;  // the times
};

/// A frame of the fit.
struct PatlakFrame {
  double integral = 0, plasma = 0;  // means of int C_p and C_p over the frame
  double weight = 1;                // of the frame's value: over its variance
};

/// K_i and V as weighted sums of a voxel's frames, by weighted least squares: K_i = sum_f k_f C_f, V = sum_f v_f C_f.
struct PatlakFit {
  std::vector<double> uptake, volume;
};

/// Throws std::invalid_argument for fewer than two frames, and frames that do not tell K_i and V apart.
PatlakFit patlak_fit(const std::vector<PatlakFrame>& frames);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
