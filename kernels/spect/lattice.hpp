// The lattice of points on which a camera's view samples the image: columns along u, rows along w and planes parallel
// to the camera, the first of which is nearest to it. A column and a row are a detector's pixel wide on the
// collimator's face, or a part of it; in planes of a converging beam they are narrower by the beam's scale.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"
#include "kernels/spect/spect.hpp"

namespace tofstream {

struct ViewLattice {
  int nu = 0, nw = 0;              // the detector's pixels
  int oversample = 1;              // columns and rows a pixel
  int margin_u = 0, margin_w = 0;  // columns and rows beyond each side of the detector
  int planes = 0;
  int first = 0, last = 0;  // planes that the image reaches; what lies before them attenuates at most
  double pu = 0, pw = 0;    // widths of a column and a row, mm on the collimator's face
  double step = 0;          // between planes, mm
  double volume_mL = 0;     // that a lattice point stands for
  Beam beam = Beam::parallel;
  double focal_mm = 0;

  TOFSTREAM_HOST_DEVICE int columns() const { return nu * oversample + 2 * margin_u; }
  TOFSTREAM_HOST_DEVICE int rows() const { return nw * oversample + 2 * margin_w; }
  /// From the view's middle, on the collimator's face.
  TOFSTREAM_HOST_DEVICE double u_mm(int column) const { return (column - middle_column()) * pu; }
  TOFSTREAM_HOST_DEVICE double w_mm(int row) const { return (row - middle_row()) * pw; }
  TOFSTREAM_HOST_DEVICE double middle_column() const { return 0.5 * (columns() - 1); }
  TOFSTREAM_HOST_DEVICE double middle_row() const { return 0.5 * (rows() - 1); }
  /// From the axis towards the camera.
  TOFSTREAM_HOST_DEVICE double n_mm(int plane) const { return (middle_plane() - plane) * step; }
  TOFSTREAM_HOST_DEVICE double middle_plane() const { return 0.5 * (planes - 1); }
};

/// Where one view looks from. Quarter turns are exact.
struct LatticeView {
  double cos = 1, sin = 0;
  double radius_mm = 0, centre_u_mm = 0, centre_w_mm = 0;

  static LatticeView of(const ViewPlace& place);
  TOFSTREAM_HOST_DEVICE double depth_mm(const ViewLattice& lattice, int plane) const {
    return radius_mm - lattice.n_mm(plane);
  }
  TOFSTREAM_HOST_DEVICE double scale_u(const ViewLattice& lattice, int plane) const {
    return beam_scale_u(lattice.beam, lattice.focal_mm, depth_mm(lattice, plane));
  }
  TOFSTREAM_HOST_DEVICE double scale_w(const ViewLattice& lattice, int plane) const {
    return beam_scale_w(lattice.beam, lattice.focal_mm, depth_mm(lattice, plane));
  }
  /// The first plane of the image that lies before the collimator's face.
  int first_plane(const ViewLattice& lattice) const;
};

/// x, y of a point n mm towards the camera and u mm along its columns, from the axis.
struct AcrossAxis {
  double x = 0, y = 0;
};
TOFSTREAM_HOST_DEVICE inline AcrossAxis turned(const LatticeView& view, double n_mm, double u_mm) {
  return {n_mm * view.sin - u_mm * view.cos, n_mm * view.cos + u_mm * view.sin};
}

/// Positions are made of floats: what is so near to a whole number is that number.
TOFSTREAM_HOST_DEVICE inline double snapped(double position) {
  constexpr double slack = 1e-5;
  const double whole = std::nearbyint(position);
  return std::abs(position - whole) < slack ? whole : position;
}

/// 1 in voxels (x, y) of the image, x fastest: those whose centre lies in the cylinder inscribed in the grid, or all.
std::vector<char> support_of(const Grid& grid, bool box);
/// The same as an image of ones and zeros.
Image support_image(const Grid& grid, const std::vector<char>& support);

/// Whether voxels' counts are shared out between lattice points, and not interpolated.
inline bool is_conserving(const SpectSettings& settings) {
  return settings.rotation == Rotation::conserving;
}

/// The lattice of all views. Throws std::invalid_argument where there is none: voxels much smaller than a pixel, or
/// an image behind the focus of a beam.
ViewLattice lattice_of(const Grid& grid, const ViewSet& set, const SpectSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
