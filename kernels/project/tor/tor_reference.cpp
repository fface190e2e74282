// The TOR projector in double precision, straight from its definition (paper 000, II.B, eq. 3;
// PHYSICS 3): every voxel of the grid, or blob of both lattices, is asked for its weight a_ij = V f(r_ij) times the
// share of the ToF response, seen from u_ij, in the event's bin about t_i. For CudaPath::paper the response at the
// bin's centre times the bin's width stands for that share, as in the paper (II.B.7).
#include <cmath>

#include "kernels/math/tof.hpp"
#include "kernels/project/reference.hpp"
#include "kernels/project/tor/tof_profile.hpp"
#include "kernels/project/tor/tor_backends.hpp"

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
    const Vec3d direction = (1 / length) * (end2 - end1);
    const Vec3d middle = 0.5 * (end1 + end2);
    const bool has_tof = events.has_tof(), at_centre = settings_.cuda_path == CudaPath::paper;
    const double width = events.bin_width_mm(i);
    const auto tof =
        TofKernel<double>::make(has_tof ? events.tof.sigma_mm : 1.0f, static_cast<double>(settings_.tof_cut_sigma));
    const auto of_bin = tor::kernel_of_bin(tof, width);
    const double tof_reach =
        tof.cut_mm + tor::reach_beyond_cut_mm(events.bin_width_mm(i), static_cast<float>(tof.inverse_sigma));
    const double cell = static_cast<double>(grid().voxel_mm.x) * grid().voxel_mm.y * grid().voxel_mm.z;
    const double volume = cell / grid().lattices();

    for_each_centre([&](std::int64_t voxel, Vec3d centre) {
      const Vec3d offset = centre - middle;
      const double u = dot(offset, direction);
      const double r = std::sqrt(std::max(0.0, dot(offset, offset) - u * u));
      if (std::abs(u) > 0.5 * length || r > settings_.response.tube_radius_mm()) return;
      double g = 1;
      if (has_tof) {
        const double from_centre = u - lor.tof_mm;
        if (std::abs(from_centre) > tof_reach) return;
        g = at_centre ? tof.density(from_centre) * width : of_bin.bin_integral(from_centre, width);
      }
      visit(voxel, volume * settings_.response(r) * g);
    });
  }

 private:
  template <class Visit3d>
  void for_each_centre(Visit3d&& visit) const {
    for (int which = 0; which < grid().lattices(); ++which) {
      const Grid lattice = grid().lattice(which);
      const Vec3d origin = lattice.origin_mm.as<double>(), edge = lattice.voxel_mm.as<double>();
      for (int z = 0; z < lattice.size[2]; ++z)
        for (int y = 0; y < lattice.size[1]; ++y)
          for (int x = 0; x < lattice.size[0]; ++x)
            visit(which * lattice.voxels() + lattice.index(x, y, z),
                  Vec3d{origin.x + x * edge.x, origin.y + y * edge.y, origin.z + z * edge.z});
    }
  }

  TorSettings settings_;
};

}  // namespace

std::unique_ptr<Projector> tor::make_reference(const Grid& grid, const TorSettings& settings) {
  return std::make_unique<TorReference>(grid, settings);
}

std::unique_ptr<Projector> make_tor_reference(const Grid& grid, const TorSettings& settings) {
  validate(grid);
  return std::make_unique<TorReference>(grid, settings);
}

}  // namespace tofstream
