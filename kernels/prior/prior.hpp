// Priors: penalties beta U(x) on the differences of neighbouring voxels, which an update weighs against the data.
//
// A prior of neighbours: U(x) = sum over pairs j, k of w_jk kappa_j kappa_k psi(x_j, x_k), in which each pair counts
// once, w_jk = shortest edge / distance, and no neighbour lies outside the image. potentials.hpp has the psi.
//
// Smoothed total variation: U(x) = sum_j kappa_j^2 (sqrt(D_x^2 + D_y^2 + D_z^2 + epsilon^2) - epsilon), with D_a the
// difference to the next voxel along the axis a times shortest edge / edge, and 0 for the last voxel (Rudin, Osher and
// Fatemi, Physica D 60:259, 1992). Differences point one way, so that it changes a little where the image is mirrored.
//
// Parallel level sets: U(x) = sum_j kappa_j^2 (sqrt(|g|^2 - <xi, g>^2 + epsilon^2) - epsilon), with g the same
// differences and xi = h / sqrt(|h|^2 + eta^2), h those of an anatomical image (Ehrhardt et al., IEEE Trans Med Imaging
// 35:2189, 2016). Where the anatomy is flat it is total variation; across an edge of it a difference costs as good as
// nothing, whatever its sign, and along the edge it costs what it did. It is convex, since |xi| < 1.
#pragma once

#include <memory>

#include "kernels/memory/memory.hpp"
#include "kernels/prior/potentials.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// The voxels that share a face with a voxel, 6; or an edge or a corner too, 26.
enum class Neighbours { faces, all };

/// A neighbour outside the image: there is none, or it is the nearest voxel inside, as other programs have it.
enum class Border { exclude, replicate };

/// The voxels of an anatomical image that are most like a voxel are its neighbours (Bowsher et al., IEEE Nucl Sci Symp
/// Conf Rec 4:2488, 2004).
class ChosenNeighbours;

/// A penalty for images of one grid. Images lie in any memory, and what comes out in the memory of what goes in;
/// complete on return. All throw std::invalid_argument for an image of blobs, or another grid than kappa's.
class Prior {
 public:
  virtual ~Prior() = default;
  /// beta U(x), in double precision.
  virtual double value(const Image& image, Stream stream = nullptr) const = 0;
  /// beta dU/dx_j
  virtual Image gradient(const Image& image, Stream stream = nullptr) const = 0;
  /// beta d^2U/dx_j^2
  virtual Image hessian_diagonal(const Image& image, Stream stream = nullptr) const = 0;
  /// c_j >= 0 of a separable function that touches beta U at x and lies above it: beta U(x) + sum_j g_j (y_j - x_j) +
  /// c_j (y_j - x_j)^2 / 2, for all y with y_j >= least_ratio() x_j (De Pierro 1995).
  virtual Image majorant_curvature(const Image& image, Stream stream = nullptr) const = 0;
  virtual float least_ratio() const = 0;
};

struct PriorSettings {
  double beta = 0;
  Neighbours neighbours = Neighbours::all;         // total variation has its own
  Border border = Border::exclude;                 // likewise
  std::shared_ptr<const Image> kappa;              // on the image's grid, in the memory of the images; null: 1
  std::shared_ptr<const ChosenNeighbours> chosen;  // null: all
};

/// Throws std::invalid_argument for a beta that is negative or not finite, parameters of the potential out of range,
/// and a choice of neighbours with a border that replicates.
std::shared_ptr<const Prior> neighbour_prior(const Potential& potential, const PriorSettings& settings);

/// `epsilon` > 0, in the unit of the image: differences well below it are penalised by their square. Throws as above.
std::shared_ptr<const Prior> total_variation_prior(double epsilon, const PriorSettings& settings);

/// `eta` > 0, in the unit of the anatomy: differences well above it, for the shortest voxel edge, are edges. `anatomy`
/// lies on the image's grid, in the memory of the images, and its values are finite and at most 1e15 eta. Throws as
/// above.
std::shared_ptr<const Prior> parallel_level_sets_prior(double epsilon, double eta, std::shared_ptr<const Image> anatomy,
                                                       const PriorSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
