// The TOR projector in double precision, straight from its definition (Cui et al. 2011, II.B, eq. 3;
// conventions.md, the tube of response): every voxel of the grid, or blob of both lattices, is asked for its weight
// a_ij = V f(r_ij) times the share of the ToF response, seen from u_ij, in the event's bin about t_i. For
// CudaPath::paper the response at the bin's centre times the bin's width stands for that share, as in the paper
// (II.B.7). With Normalise::slice the length of the line in the voxel's slice, over the sum of f in that slice, stands
// for V.
#include <array>
#include <cmath>
#include <vector>

#include "kernels/math/dominant_axis.hpp"
#include "kernels/math/tof.hpp"
#include "kernels/project/reference.hpp"
#include "kernels/ring/tor/tof_profile.hpp"
#include "kernels/ring/tor/tor_backends.hpp"

namespace tofstream {

namespace {

class TorReference final : public ReferenceProjector {
 public:
  TorReference(const Grid& grid, const TorSettings& settings) : ReferenceProjector(grid), settings_(settings) {
    tor::make_lattice_models(grid, settings);  // refuses what the other versions refuse
  }

  float reach_mm() const override { return 1.001f * settings_.response.tube_radius_mm(); }

  void for_each_voxel(const EventView& events, std::int64_t i, const Visit& visit) const override {
    const Lor lor = events.lor(i);
    const Vec3d end1 = lor.end1.as<double>(), end2 = lor.end2.as<double>();
    const double length = norm(end2 - end1);
    if (!(length > 0) || !std::isfinite(length)) return;
    const Line line{0.5 * (end1 + end2), (1 / length) * (end2 - end1)};
    const bool has_tof = events.has_tof(), at_centre = settings_.cuda_path == CudaPath::paper;
    const double width = events.bin_width_mm(i);
    const auto tof =
        TofKernel<double>::make(has_tof ? events.tof.sigma_mm : 1.0f, static_cast<double>(settings_.tof_cut_sigma));
    const auto of_bin = tor::kernel_of_bin(tof, width);
    const double tof_reach =
        tof.cut_mm + tor::reach_beyond_cut_mm(events.bin_width_mm(i), static_cast<float>(tof.inverse_sigma));
    const auto factor = slice_factors(line);

    for_each_centre([&](std::int64_t voxel, std::array<std::size_t, 3> at, Vec3d centre) {
      const double u = dot(centre - line.middle, line.direction), r = line.distance(centre);
      if (std::abs(u) > 0.5 * length || r > settings_.response.tube_radius_mm()) return;
      double g = 1;
      if (has_tof) {
        const double from_centre = u - lor.tof_mm;
        if (std::abs(from_centre) > tof_reach) return;
        g = at_centre ? tof.density(from_centre) * width : of_bin.bin_integral(from_centre, width);
      }
      visit(voxel, factor[at[line.predominant_axis()]] * settings_.response(r) * g);
    });
  }

 private:
  struct Line {
    Vec3d middle, direction;

    double distance(Vec3d point) const {
      const Vec3d offset = point - middle;
      const double u = dot(offset, direction);
      return std::sqrt(std::max(0.0, dot(offset, offset) - u * u));
    }
    std::size_t predominant_axis() const {
      return static_cast<std::size_t>(dominant_axis<EqualAxes::x_y_z>(direction));
    }
  };

  /// What f is to be multiplied by in each slice across the predominant direction.
  std::vector<double> slice_factors(const Line& line) const {
    const Vec3d edge = grid().voxel_mm.as<double>();
    const auto axis = static_cast<int>(line.predominant_axis());
    std::vector<double> factors(static_cast<std::size_t>(grid().size[line.predominant_axis()]),
                                edge.x * edge.y * edge.z / grid().lattices());
    if (settings_.normalise == Normalise::none) return factors;
    for (std::size_t k = 0; k < factors.size(); ++k) {
      const double sum = section_sum(line, axis, static_cast<int>(k));
      factors[k] = sum > 0 ? edge[axis] / std::abs(line.direction[axis]) / sum : 0.0;
    }
    return factors;
  }
  /// The sum of f over slice k, which goes on beyond the image.
  double section_sum(const Line& line, int axis, int k) const {
    const Vec3d origin = grid().origin_mm.as<double>(), edge = grid().voxel_mm.as<double>();
    const int p = (axis + 1) % 3, q = (axis + 2) % 3;
    Vec3d centre = origin;
    centre.set(axis, origin[axis] + k * edge[axis]);
    const double t = (centre[axis] - line.middle[axis]) / line.direction[axis];
    const Vec3d crossing = line.middle + t * line.direction;
    const double reach = 2 * settings_.response.tube_radius_mm();  // more than the sqrt(2) radii of a slant section
    const auto first = [&](int a) { return std::floor((crossing[a] - reach - origin[a]) / edge[a]); };
    double sum = 0;
    for (double row = first(q); origin[q] + row * edge[q] < crossing[q] + reach; ++row)
      for (double column = first(p); origin[p] + column * edge[p] < crossing[p] + reach; ++column) {
        centre.set(p, origin[p] + column * edge[p]);
        centre.set(q, origin[q] + row * edge[q]);
        sum += settings_.response(line.distance(centre));
      }
    return sum;
  }

  template <class Visit3d>
  void for_each_centre(Visit3d&& visit) const {
    for (int which = 0; which < grid().lattices(); ++which) {
      const Grid lattice = grid().lattice(which);
      const Vec3d origin = lattice.origin_mm.as<double>(), edge = lattice.voxel_mm.as<double>();
      for (int z = 0; z < lattice.size[2]; ++z)
        for (int y = 0; y < lattice.size[1]; ++y)
          for (int x = 0; x < lattice.size[0]; ++x)
            visit(which * lattice.voxels() + lattice.index(x, y, z),
                  {static_cast<std::size_t>(x), static_cast<std::size_t>(y), static_cast<std::size_t>(z)},
                  Vec3d{origin.x + x * edge.x, origin.y + y * edge.y, origin.z + z * edge.z});
    }
  }

  TorSettings settings_;
};

}  // namespace

std::unique_ptr<ReferenceProjector> tor::make_reference(const Grid& grid, const TorSettings& settings) {
  return std::make_unique<TorReference>(grid, settings);
}

std::unique_ptr<ReferenceProjector> make_tor_reference(const Grid& grid, const TorSettings& settings) {
  validate(grid);
  return std::make_unique<TorReference>(grid, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
