// The lattice of a camera's views: see lattice.hpp.
#include "kernels/spect/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/math/units.hpp"
#include "kernels/spect/plane_kernels.hpp"

namespace tofstream {

namespace {

constexpr double lattice_slack = 1e-3;
constexpr int most_points_a_pixel = 3;  // along an axis

/// A grid across the axis: its middle, and how far from there voxels' centres lie.
struct Extent {
  double middle_x = 0, middle_y = 0, reach = 0;
  double from_axis() const { return std::hypot(middle_x, middle_y) + reach; }
};

Extent extent_of(const Grid& grid, bool box) {
  const double edge_x = static_cast<double>(grid.voxel_mm.x), edge_y = static_cast<double>(grid.voxel_mm.y);
  const double half_x = 0.5 * grid.size[0] * edge_x, half_y = 0.5 * grid.size[1] * edge_y;
  return {static_cast<double>(grid.origin_mm.x) + half_x - 0.5 * edge_x,
          static_cast<double>(grid.origin_mm.y) + half_y - 0.5 * edge_y,
          box ? std::hypot(half_x, half_y) : std::min(half_x, half_y)};
}

int oversampling(const Grid& grid, const ViewSet& set, const SpectSettings& settings) {
  if (is_conserving(settings)) return 1;
  const double across = static_cast<double>(set.pixel_mm.x) / std::min(grid.voxel_mm.x, grid.voxel_mm.y);
  const double along = static_cast<double>(set.pixel_mm.y) / grid.voxel_mm.z;
  const double points = std::max(1.0, std::ceil(std::max(across, along) - lattice_slack));
  if (points > most_points_a_pixel)
    throw std::invalid_argument(fmt::format(
        "voxels of {:g} x {:g} x {:g} mm are too small for pixels of {:g} x {:g} mm: take image.voxel_mm {:g}, "
        "or rotation: conserving",
        grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z, set.pixel_mm.x, set.pixel_mm.y,
        std::max(set.pixel_mm.x, set.pixel_mm.y)));
  return static_cast<int>(points);
}

/// Planes as far as the image, or what attenuates, reaches. After quarter turns they lie where voxels of a pixel's
/// size do.
void set_planes(ViewLattice& lattice, const Grid& grid, const SpectSettings& settings) {
  const double voxel = std::max(static_cast<double>(grid.voxel_mm.x), static_cast<double>(grid.voxel_mm.y));
  const double about = std::max(std::numbers::sqrt2 * voxel, lattice.step);  // a voxel shows so far from its centre
  const double reach = extent_of(grid, settings.box).from_axis() + about;
  double farthest = reach;
  if (settings.mu_per_mm) farthest = std::max(farthest, extent_of(settings.mu_per_mm->grid, true).from_axis());
  const int even = grid.size[0] % 2 == 0 ? 1 : 0;
  const auto planes_within = [&](double mm) {  // on each side of the middle
    return static_cast<int>(std::ceil(mm / lattice.step + 0.5 * even - lattice_slack));
  };
  const int half = planes_within(farthest), image_half = planes_within(reach);
  lattice.planes = 2 * half + 1 - even;
  lattice.first = half - image_half;
  lattice.last = lattice.planes - 1 - lattice.first;
}

void require_focus_beyond(const ViewLattice& lattice, const ViewSet& set) {
  if (lattice.beam == Beam::parallel) return;
  const double farthest = radii_of(set).back() - lattice.n_mm(lattice.last);
  if (!(lattice.focal_mm > farthest))
    throw std::invalid_argument(
        fmt::format("the image reaches {:.0f} mm from the collimator's face, beyond its focus at {:.0f} mm: take a "
                    "smaller image",
                    farthest, lattice.focal_mm));
}

/// What of kernels' reach is needed: not more than the image shows beyond the detector, but for kernels that are
/// applied one after the other, whose sums wander.
void set_margins(ViewLattice& lattice, const Grid& grid, const ViewSet& set, const SpectSettings& settings) {
  KernelReach reach;
  double least_u = 1, least_w = 1, off_u = 0, off_w = 0;
  for (const double radius : radii_of(set)) {
    const KernelReach here = widest_reach(lattice, settings, radius);
    reach = {std::max(reach.u, here.u), std::max(reach.w, here.w)};
    const LatticeView view{.radius_mm = radius};
    least_u = std::min(least_u, view.scale_u(lattice, lattice.last));
    least_w = std::min(least_w, view.scale_w(lattice, lattice.last));
  }
  const double voxel = std::max(static_cast<double>(grid.voxel_mm.x), static_cast<double>(grid.voxel_mm.y));
  const double edge_z = static_cast<double>(grid.voxel_mm.z), low_z = static_cast<double>(grid.origin_mm.z) - edge_z;
  for (const ViewPlace& place : set.places) {
    const double centre_w = static_cast<double>(place.centre_w_mm);
    off_u = std::max(off_u, std::abs(static_cast<double>(place.centre_u_mm)));
    off_w = std::max({off_w, std::abs(low_z - centre_w), std::abs(low_z + (grid.size[2] + 1) * edge_z - centre_w)});
  }
  const double image_u = extent_of(grid, settings.box).from_axis() + off_u + std::numbers::sqrt2 * voxel;
  const auto beyond = [](double columns, int pixels) {
    return std::max(0, static_cast<int>(std::ceil(columns - 0.5 * (pixels - 1) + 1)));
  };
  const bool wanders = settings.form == PsfForm::incremental;
  const int show_u = beyond(image_u / least_u / lattice.pu, lattice.nu * lattice.oversample);
  const int show_w = beyond(off_w / least_w / lattice.pw, lattice.nw * lattice.oversample);
  lattice.margin_u = wanders ? reach.u : std::min(reach.u, show_u);
  lattice.margin_w = wanders ? reach.w : std::min(reach.w, show_w);
}

}  // namespace

LatticeView LatticeView::of(const ViewPlace& place) {
  const double degrees = static_cast<double>(place.angle_deg), quarters = std::nearbyint(degrees / 90);
  const double rest = (degrees - 90 * quarters) * std::numbers::pi / 180;
  double c = std::cos(rest), s = std::sin(rest);
  for (int q = ((static_cast<int>(quarters) % 4) + 4) % 4; q > 0; --q) {
    const double before = c;
    c = -s;
    s = before;
  }
  return {c, s, static_cast<double>(place.radius_mm), static_cast<double>(place.centre_u_mm),
          static_cast<double>(place.centre_w_mm)};
}

int LatticeView::first_plane(const ViewLattice& lattice) const {
  int plane = lattice.first;
  while (plane <= lattice.last && depth_mm(lattice, plane) <= 0) ++plane;
  return plane;
}

std::vector<char> support_of(const Grid& grid, bool box) {
  const Extent extent = extent_of(grid, false);
  std::vector<char> support;
  for (int j = 0; j < grid.size[1]; ++j)
    for (int i = 0; i < grid.size[0]; ++i) {
      const double x = static_cast<double>(grid.origin_mm.x) + i * static_cast<double>(grid.voxel_mm.x);
      const double y = static_cast<double>(grid.origin_mm.y) + j * static_cast<double>(grid.voxel_mm.y);
      const double distance = std::hypot(x - extent.middle_x, y - extent.middle_y);
      support.push_back(box || distance <= extent.reach * (1 + 1e-6) ? 1 : 0);
    }
  return support;
}

Image support_image(const Grid& grid, const std::vector<char>& support) {
  Image image = Image::zeros(grid);
  for (std::int64_t v = 0; v < grid.voxels(); ++v)
    image.voxels[v] = support[static_cast<std::size_t>(v % grid.stride(2))] ? 1.0f : 0.0f;
  return image;
}

ViewLattice lattice_of(const Grid& grid, const ViewSet& set, const SpectSettings& settings) {
  ViewLattice lattice;
  lattice.nu = set.size[0];
  lattice.nw = set.size[1];
  lattice.oversample = oversampling(grid, set, settings);
  lattice.pu = static_cast<double>(set.pixel_mm.x) / lattice.oversample;
  lattice.pw = static_cast<double>(set.pixel_mm.y) / lattice.oversample;
  lattice.step = lattice.pu;
  lattice.beam = settings.beam;
  lattice.focal_mm = static_cast<double>(settings.focal_mm);
  lattice.volume_mL = mL_per_mm3 * (is_conserving(settings) ? static_cast<double>(grid.voxel_volume())
                                                            : lattice.pu * lattice.pw * lattice.step);
  set_planes(lattice, grid, settings);
  require_focus_beyond(lattice, set);
  set_margins(lattice, grid, set, settings);
  return lattice;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
