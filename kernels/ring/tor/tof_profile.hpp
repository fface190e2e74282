// The ToF response of a bin as the TOR takes it: TofKernel::bin_integral, where the cut takes a part of the bin. A
// narrow bin (takes_whole_bins) counts whole where its centre lies within the cut and not at all beyond, which spares
// every tube a ramp at either end; all bins still add up within 6e-4, which is the density at the cut times a bin's
// width.
//
// Fast versions take it as powers of two of quadratics in the place along the line. The TOR's weights are powers of two
// of quadratics too, so that ToF costs them next to nothing:
// - a bell: one Gaussian for bins up to half a sigma wide. The integral of a Gaussian over a bin of width w has the
//   variance sigma^2 + w^2 / 12; what a Gaussian of that variance leaves out is of the order (w / 2 sigma)^4 / 180.
// - pieces: a quadratic for each of a few hundred places, for a stretch of given length about it. In shares of the peak
//   they are off by at most 1.5e-4 (rms 8e-6) over stretches of a tenth of sigma to either side, 5e-4 (rms 6e-5) over a
//   fifth, and 3e-6 at the place itself.
// Where the cut at three sigma takes a part of the bin (the last bin's width of the support), both are multiplied by a
// ramp, which holds the corner where the cut begins to bite and the zero where it has taken all. For bins that count
// whole the ramp is a step.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/math/host_device.hpp"
#include "kernels/math/tof.hpp"

namespace tofstream::tor {

/// Whether a bin is so narrow, at most an eighth of sigma and a hair, that it counts whole or not at all.
TOFSTREAM_HOST_DEVICE constexpr bool takes_whole_bins(float bin_width_mm, float inverse_sigma) {
  return bin_width_mm * inverse_sigma <= 0.1251f;
}
/// How far beyond the cut a voxel may lie from the bin's centre.
TOFSTREAM_HOST_DEVICE constexpr double reach_beyond_cut_mm(float bin_width_mm, float inverse_sigma) {
  return takes_whole_bins(bin_width_mm, inverse_sigma) ? 0 : 0.5 * static_cast<double>(bin_width_mm);
}
/// The kernel whose bin_integral is the response as far as it reaches.
template <class T>
TOFSTREAM_HOST_DEVICE TofKernel<T> kernel_of_bin(const TofKernel<T>& kernel, T bin_width_mm) {
  const bool whole = takes_whole_bins(static_cast<float>(bin_width_mm), static_cast<float>(kernel.inverse_sigma));
  return whole ? kernel.widened(T(0.5) * bin_width_mm) : kernel;
}

/// clamp(start - rate u, 0, 1) for a place u >= 0 (mm).
struct TofRamp {
  float start = 1, rate = 0;
};

/// The response of a bin in double precision, which the approximations below are made of and held against.
class TofResponse {
 public:
  /// Throws std::invalid_argument unless all are positive.
  TofResponse(double sigma_mm, double width_mm, double cut_sigma);
  double at(double u_mm) const {
    return std::abs(u_mm) <= reach_mm() ? kernel_of_bin(kernel_, width_mm_).bin_integral(u_mm, width_mm_) : 0;
  }
  /// The response of a bin that counts whole, as if there were no cut.
  double uncut(double u_mm) const {
    return kernel_.widened(half_width_mm() + sigma_mm()).bin_integral(u_mm, width_mm_);
  }
  double sigma_mm() const { return 1 / kernel_.inverse_sigma; }
  double half_width_mm() const { return 0.5 * width_mm_; }
  bool takes_whole_bins() const {
    return tor::takes_whole_bins(static_cast<float>(width_mm_), static_cast<float>(kernel_.inverse_sigma));
  }
  /// It is zero farther away than this from the bin's centre.
  double reach_mm() const { return kernel_.cut_mm + (takes_whole_bins() ? 0 : half_width_mm()); }
  /// Up to here the cut takes nothing from the bin, or a bin wider than what the cut leaves holds all of it.
  double corner_mm() const;
  /// What the Gaussian is at the cut, 1/mm.
  double density_at_cut() const;
  /// What it is beyond the corner over the distance to reach_mm(), 1/mm: without the zero there.
  double over_ramp(double u_mm) const;

 private:
  TofKernel<double> kernel_;
  double width_mm_;
};

/// response(u) = unit 2^(-rate u^2) y (ramp[0] + y (ramp[1] + y ramp[2])), y = clamp(start - rate |u|, 0, 1); to 4e-5
/// of the response's peak for bins up to half a sigma. For bins that count whole, y is a step and the whole ramp, and
/// the bell is good to 1e-7.
struct TofBell {
  static constexpr double widest = 0.5;    // bin, in sigma
  float rate = 0, unit = 1, whole_mm = 0;  // nearer than whole_mm y is 1
  TofRamp y;
  float ramp[3] = {1, 0, 0};

  static TofBell make(const TofResponse& response);
};

/// The response about a place: unit 2^(level + v (slope + v bend)) times a ramp, v = |u| - place.
struct alignas(16) TofPiece {
  enum Kind : int { whole, corner, end };
  float level, slope, bend;  // log2, 1/mm, 1/mm^2
  int kind;                  // which ramp: none, the corner's or the end's

  TOFSTREAM_HOST_DEVICE TofRamp ramp(const TofRamp& of_corner, const TofRamp& of_end) const {
    if (kind == whole) return {};
    return kind == corner ? of_corner : of_end;
  }
};

/// Where pieces lie, for host and device.
struct TofPieceView {
  const TofPiece* pieces = nullptr;
  float step_mm = 1, per_step = 1, last_mm = 0;
  TofRamp corner, end;

  /// The place of the piece nearest to |u|, and its number.
  struct Place {
    int piece;
    float mm;
  };
  TOFSTREAM_HOST_DEVICE Place nearest(float distance_mm) const {
    const float inside = distance_mm < last_mm ? distance_mm : last_mm;
    const int piece = static_cast<int>(inside * per_step + 0.5f);
    return {piece, static_cast<float>(piece) * step_mm};
  }
};

/// The pieces for stretches of `half_mm` to either side of each place.
class TofPieces {
 public:
  TofPieces(const TofResponse& response, double half_mm);
  const std::vector<TofPiece>& pieces() const { return pieces_; }
  /// Largest error of each piece over its stretch, in shares of the response's peak.
  const std::vector<float>& errors() const { return errors_; }
  /// Whether a piece is off by at most 3e-5 of the peak and 2e-4 of the response at its place.
  bool is_good(int piece) const { return good_[static_cast<std::size_t>(piece)] != 0; }
  float unit() const { return unit_; }
  float whole_mm() const { return whole_mm_; }
  /// `pieces`: pieces() where they are read.
  TofPieceView view(const TofPiece* pieces) const;

 private:
  double step_mm_;
  TofRamp corner_, end_;
  float unit_, whole_mm_;
  std::vector<TofPiece> pieces_;
  std::vector<float> errors_;
  std::vector<char> good_;
};

/// The pieces that were asked for last: a scanner has one bin for all events. Thread-safe.
class TofPieceCache {
 public:
  std::shared_ptr<const TofPieces> pieces(double sigma_mm, double width_mm, double cut_sigma, double half_mm);

 private:
  struct Key {
    double sigma_mm, width_mm, cut_sigma, half_mm;
    friend bool operator==(const Key&, const Key&) = default;
  };
  std::mutex mutex_;
  Key key_{};
  std::shared_ptr<const TofPieces> last_;
};

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
