// The two stages as they were published (Ha et al. 2010): the image is rotated by an isotropic Gaussian S onto a lattice
// that lies along the view, convolved there with an elliptic Gaussian C', and rotated back by S onto its own lattice. The
// variances add up to the kernel's: sigma_C'^2 = sigma_C^2 - 2 sigma_S^2 along each axis, since both rotations spread. The
// paper subtracts one of them and leaves the second one's blur to its error. C' across the view may differ from row to
// row, as the paper's did. What lies between is sampled: of a factor of T voxels^2 variance, half of it S's, some 2 exp(-pi^2
// T / 2) of the maximum is aliased, so narrow kernels are far off whatever is done between.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/direct/direct_kernel.hpp"
#include "kernels/direct/direct_views.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream {

/// Points along three axes at right angles, the third of which is the fastest in memory and the second the slowest.
struct TurnedLattice {
  int size[3] = {0, 0, 0};
  double spacing_mm[3] = {1, 1, 1};
  Vec3d axis[3];  // of unit length
  Vec3d first_mm;

  std::int64_t points() const { return std::int64_t{size[0]} * size[1] * size[2]; }
  int i(std::int64_t point) const { return static_cast<int>(point / size[2] % size[0]); }
  int j(std::int64_t point) const { return static_cast<int>(point / size[2] / size[0]); }
  int k(std::int64_t point) const { return static_cast<int>(point % size[2]); }
  Vec3d position(std::int64_t point) const {
    return first_mm + i(point) * spacing_mm[0] * axis[0] + j(point) * spacing_mm[1] * axis[1] +
           k(point) * spacing_mm[2] * axis[2];
  }
  /// Where an image of these points has one, x fastest.
  std::int64_t in_image(std::int64_t point) const {
    return i(point) + size[0] * (j(point) + std::int64_t{size[1]} * k(point));
  }
  /// In points from the first one.
  double coordinate(Vec3d at, int a) const { return dot(at - first_mm, axis[a]) / spacing_mm[a]; }
};

/// S: exp(-d^2 / 2 sigma^2) up to a distance along each axis. What lies beyond is so little that it hardly matters along
/// which lattice's axes.
struct RotationGaussian {
  static constexpr int most_taps = 32;  // along an axis
  static constexpr double cut = 5.5;    // in sigma: 4e-8 of it lies beyond along an axis

  double sigma_mm = 1;
  double reach_mm() const { return cut * sigma_mm; }

  /// The sum over a lattice's points, about a place, of S times values.
  float gather(const TurnedLattice& from, const float* values, Vec3d at) const {
    const AxisTaps x(*this, from, at, 0), y(*this, from, at, 1), z(*this, from, at, 2);
    float sum = 0;
    for (int j = 0; j < y.count; ++j)
      for (int i = 0; i < x.count; ++i) {
        const float* const row =
            values + z.first + from.size[2] * (x.first + i + std::int64_t{from.size[0]} * (y.first + j));
        float of_row = 0;
        for (int k = 0; k < z.count; ++k) of_row += z.weight[k] * row[k];
        sum += of_row * x.weight[i] * y.weight[j];
      }
    return sum;
  }

  /// The sum of S over all points of a lattice without ends, about a place: what makes a unit of a point's share.
  float sum_about(const TurnedLattice& lattice, Vec3d at) const {
    float product = 1;
    for (int a = 0; a < 3; ++a) {
      const double middle = lattice.coordinate(at, a), reach = reach_mm() / lattice.spacing_mm[a];
      const double points_to_sigma = lattice.spacing_mm[a] / sigma_mm;
      float sum = 0;
      for (int n = static_cast<int>(std::ceil(middle - reach)); n <= static_cast<int>(std::floor(middle + reach));
           ++n) {
        const auto d = static_cast<float>((n - middle) * points_to_sigma);
        sum += std::exp(-0.5f * d * d);
      }
      product *= sum;
    }
    return product;
  }

 private:
  /// The points of one axis that S reaches from a place.
  struct AxisTaps {
    int first = 0, count = 0;
    float weight[most_taps];

    AxisTaps(const RotationGaussian& s, const TurnedLattice& from, Vec3d at, int a) {
      const double middle = from.coordinate(at, a), reach = s.reach_mm() / from.spacing_mm[a];
      const int low = static_cast<int>(std::ceil(middle - reach)), high = static_cast<int>(std::floor(middle + reach));
      first = low < 0 ? 0 : low;
      count = (high < from.size[a] ? high : from.size[a] - 1) - first + 1;
      const double points_to_sigma = from.spacing_mm[a] / s.sigma_mm;
      for (int m = 0; m < count; ++m) {
        const auto d = static_cast<float>((first + m - middle) * points_to_sigma);
        weight[m] = std::exp(-0.5f * d * d);
      }
    }
  };
};

/// Weights of C' along t or z': from -reach to reach, the same for all points.
struct PaperBlur {
  const float* weights = nullptr;
  int reach = 0;
};

/// C' across the view: the row `from` gives to rows first[from] and on.
struct PaperAcross {
  const float* weights = nullptr;  // [from][count]
  const int* first = nullptr;
  int count = 0, reach = 0;

  TOFSTREAM_HOST_DEVICE float weight(int to, int from) const {
    const int m = to - first[from];
    return m >= 0 && m < count ? weights[from * count + m] : 0.0f;
  }
};

/// What one view's stages read.
struct PaperStages {
  TurnedLattice voxels, between;
  RotationGaussian rotation;
  PaperBlur along, axial;
  PaperAcross across;

  /// The image over what S makes of each voxel's unit, and what is between over the same of its points.
  float unit_of_voxel(std::int64_t voxel) const { return rotation.sum_about(between, voxels.position(voxel)); }
  float unit_of_point(std::int64_t point) const { return rotation.sum_about(voxels, between.position(point)); }

  /// One of C's passes at a point between. Along t and z' it is its own transpose.
  float blurred_along(const float* in, std::int64_t point) const {
    return blurred(in, point, along, between.i(point), between.size[0], between.size[2]);
  }
  float blurred_axially(const float* in, std::int64_t point) const {
    return blurred(in, point, axial, between.k(point), between.size[2], 1);
  }
  float blurred_across(const float* in, std::int64_t point, bool is_transposed) const {
    const int row = between.j(point);
    const std::int64_t stride = std::int64_t{between.size[0]} * between.size[2];
    float sum = 0;
    for (int d = -across.reach; d <= across.reach; ++d) {
      const int other = row + d;
      if (other < 0 || other >= between.size[1]) continue;
      const float weight = is_transposed ? across.weight(other, row) : across.weight(row, other);
      sum += weight * in[point + d * stride];
    }
    return sum;
  }

 private:
  static float blurred(const float* in, std::int64_t point, const PaperBlur& blur, int at, int size,
                       std::int64_t stride) {
    float sum = 0;
    for (int d = -blur.reach; d <= blur.reach; ++d)
      if (at + d >= 0 && at + d < size) sum += blur.weights[d + blur.reach] * in[point + d * stride];
    return sum;
  }
};

/// The same with the arrays that they point to.
class PaperSplit {
 public:
  /// Of a kernel that two_stage takes.
  PaperSplit(const Grid& grid, const ViewFrame& frame, const DirectKernel& kernel, const RadialProfiles& profiles);

  const std::vector<float>& along() const { return along_; }
  const std::vector<float>& axial() const { return axial_; }
  const std::vector<float>& across() const { return across_; }
  const std::vector<int>& first() const { return first_; }
  /// With pointers to arrays of these sizes, in the memory where they are read.
  PaperStages stages(const float* along, const float* axial, const float* across, const int* first) const;
  PaperStages stages() const { return stages(along_.data(), axial_.data(), across_.data(), first_.data()); }

 private:
  void set_across(const RadialProfiles& profiles, double spread);

  TurnedLattice voxels_, between_;
  RotationGaussian rotation_;
  std::vector<float> along_, axial_, across_;
  std::vector<int> first_;
  int across_count_ = 0, across_reach_ = 0;
  double cut_ = 4;
};

/// The sigma of S: half of the variance of the kernel's narrowest factor, at which least is aliased; of wide kernels 0.8 of
/// the voxel's longest edge, with which C' is wide enough for its points.
double paper_rotation_sigma_mm(const Grid& grid, const DirectKernel& kernel);

/// Throws std::invalid_argument, in one line, where the kernel leaves nothing for C' along t, or the voxels' edges are too
/// unlike for an isotropic S.
void validate_paper_scheme(const Grid& grid, const DirectKernel& kernel);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
