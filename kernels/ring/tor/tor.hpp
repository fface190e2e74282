// The tube-of-response projector of Cui et al. 2011 (II.B; conventions.md, the tube of response): a_ij = V f(r_ij)
// G_i(u_ij - t_i) for voxels in a tube about the line, G_i the ToF response integrated over the event's bin, so that
// all bins add up to the projection without ToF. The paper takes the response at the bin's centre; here only its own
// scheme does (CudaPath::paper), for benchmarks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/project/cuda_path.hpp"
#include "kernels/project/reference.hpp"
#include "kernels/ring/tor/paper/scheme.hpp"

namespace tofstream {

/// A blob's radial response without square roots of Bessel functions: f(r) = w^5 P(w^2 - 1/2) with w^2 = 1 - (r /
/// radius)^2, since w^(5/2) I_5/2(alpha w) is w^5 times an entire function of w^2. P interpolates that at Chebyshev's
/// nodes.
struct BlobPolynomial {
  static constexpr int terms = 9;
  static constexpr float largest_alpha = 11;  // up to it good to 2e-7 of f's peak
  float coefficient[terms] = {};              // constant first, 1/mm^2
  float inverse_radius2 = 0;                  // 1/mm^2
};

/// The radial response f(r), 1/mm^2: zero outside the tube and of unit integral over the transverse
/// plane.
class RadialResponse {
 public:
  static constexpr int samples = 2048;
  /// No response: a projector refuses it.
  RadialResponse() = default;
  /// A Gaussian of the given FWHM, cut at the tube's radius and renormalised. Throws
  /// std::invalid_argument unless both are positive.
  static RadialResponse gaussian(float fwhm_mm, float tube_radius_mm);
  /// The line integral (Abel transform) of a Kaiser-Bessel blob of order 2, radius = tube radius,
  /// shape alpha (Lewitt 1992). Throws std::invalid_argument unless alpha is in [0.001, 500].
  static RadialResponse kaiser_bessel(float alpha, float tube_radius_mm);
  /// Any response given at equal steps of r from 0 to the tube's radius, interpolated linearly and
  /// renormalised. Throws std::invalid_argument unless there are at least two values, none negative
  /// and not all zero.
  static RadialResponse table(const std::vector<float>& values, float tube_radius_mm);

  float tube_radius_mm() const { return radius_; }
  /// f at distance r (mm), in double precision from the closed form (or the given table).
  double operator()(double r_mm) const;
  /// f at 2048 equal steps of r over [0, radius], for linear interpolation.
  const std::vector<float>& values() const { return values_; }
  bool is_gaussian() const { return gaussian_sigma_ > 0; }
  double gaussian_sigma_mm() const { return gaussian_sigma_; }
  /// A blob's polynomial, for an alpha up to BlobPolynomial::largest_alpha; else nothing.
  const std::optional<BlobPolynomial>& blob() const { return blob_; }
  double peak() const { return values_.empty() ? 0.0 : values_.front(); }

 private:
  RadialResponse(float tube_radius_mm, std::function<double(double)> density);

  float radius_ = 0;
  double gaussian_sigma_ = 0;
  std::optional<BlobPolynomial> blob_;
  std::function<double(double)> density_;  // f(r) for r in [0, radius]
  std::vector<float> values_;
};

/// What the weights of a slice across the line's predominant direction are scaled by.
enum class Normalise {
  none,
  slice,  // so that, without ToF and whatever lies outside the image, they add up to the line's length in the slice
};

struct TorSettings {
  RadialResponse response;
  float tof_cut_sigma = 3;  // the ToF Gaussian is cut here and renormalised
  CudaPath cuda_path = CudaPath::automatic;
  bool deterministic = false;  // EM steps and back projections give the same sums bit for bit, on a GPU and on any
                               // number of threads
  Normalise normalise = Normalise::none;
  PaperScheme paper = {};  // of CudaPath::paper
};

/// The least radius of a tube that is normalised slice by slice: a narrower one may meet no voxel of a slice.
float least_slice_radius_mm(const Grid& grid);

/// A TOR projector on one grid. Throws std::invalid_argument for an invalid grid or scheme, and for slices that are to
/// be normalised of too narrow a tube, of blobs or of the paper's scheme; std::runtime_error for a missing GPU.
std::unique_ptr<ListModeProjector> make_tor_projector(const Grid& grid, const TorSettings& settings, Backend backend);

/// The same operator in double precision, single-threaded and written for clarity: the oracle of
/// all other versions; with CudaPath::paper that of the paper's scheme.
std::unique_ptr<ReferenceProjector> make_tor_reference(const Grid& grid, const TorSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
