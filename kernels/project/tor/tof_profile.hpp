// The ToF response of a bin (TofKernel::bin_integral), as powers of two of quadratics in the place along the line. The
// TOR's weights are powers of two of quadratics too, so that ToF costs them next to nothing:
// - a bell: one Gaussian for bins up to half a sigma wide. The integral of a Gaussian over a bin of width w has the
//   variance sigma^2 + w^2 / 12; what a Gaussian of that variance leaves out is of the order (w / 2 sigma)^4 / 180.
// - pieces: a quadratic for each of a few hundred places, for a stretch of given length about it. In shares of the peak
//   they are off by at most 1.5e-4 (rms 8e-6) over stretches of a tenth of sigma to either side, 5e-4 (rms 6e-5) over a
//   fifth, and 3e-6 at the place itself.
// Where the cut at three sigma takes a part of the bin (the last bin's width of the support), both are multiplied by a
// ramp, which holds the corner where the cut begins to bite and the zero where it has taken all.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/math/host_device.hpp"
#include "kernels/math/tof.hpp"

namespace tofstream::tor {

/// clamp(start - rate u, 0, 1) for a place u >= 0 (mm).
struct TofRamp {
  float start = 1, rate = 0;
};

/// The response of a bin in double precision, which the approximations below are made of and held against.
class TofResponse {
 public:
  /// Throws std::invalid_argument unless all are positive.
  TofResponse(double sigma_mm, double width_mm, double cut_sigma);
  double at(double u_mm) const { return kernel_.bin_integral(u_mm, width_mm_); }
  double sigma_mm() const { return 1 / kernel_.inverse_sigma; }
  double half_width_mm() const { return 0.5 * width_mm_; }
  /// It is zero farther away than this from the bin's centre.
  double reach_mm() const { return kernel_.cut_mm + half_width_mm(); }
  /// Up to here the cut takes nothing of the bin, or (a bin wider than what the cut leaves) the bin holds all.
  double corner_mm() const;
  /// Of the Gaussian, 1/mm.
  double density_at_cut() const;
  /// What it is beyond the corner over the distance to reach_mm(), 1/mm: without the zero there.
  double over_ramp(double u_mm) const;

 private:
  TofKernel<double> kernel_;
  double width_mm_;
};

/// response(u) = unit 2^(-rate u^2) y (ramp[0] + y (ramp[1] + y ramp[2])), y = clamp(start - rate |u|, 0, 1); to 3e-5
/// of the response's peak for bins up to half a sigma. `short_ramp`: ramp[2] is 0, to 2e-5 for bins up to an eighth.
struct TofBell {
  static constexpr double widest = 0.5, widest_of_short_ramp = 0.125;  // bins, in sigma
  float rate = 0, unit = 1, whole_mm = 0;                              // nearer than whole_mm y is 1
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
