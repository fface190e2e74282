// The lines through the points of a histo-image, along its view: where what is known of lines and their ToF, such as
// scatter, is looked up for each point. For host and device.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// The line through `at` along a view, between its ends on a cylinder of `radius_mm` about the scanner's axis, with the
/// ToF of `at`. The ends of a line that passes the cylinder are one point.
TOFSTREAM_HOST_DEVICE inline Lor line_through(const ViewFrame& frame, Vec3d at, double radius_mm) {
  const double u = frame.u(at), s = frame.s(at), across = radius_mm * radius_mm - s * s;
  const double half = across > 0 ? std::sqrt(across) : 0;
  const Vec3d middle = {-frame.sin_f * s, frame.cos_f * s, at.z - u * frame.tan_q()};
  const Vec3d along = {frame.cos_f * half, frame.sin_f * half, frame.tan_q() * half};
  return {(middle - along).as<float>(), (middle + along).as<float>(), static_cast<float>(u / frame.cos_q)};
}

/// What the lines of a view's points are made from, passed by value.
struct HistoLinesOfView {
  DirectLattice lattice;
  ViewFrame frame;
  double radius_mm = 0;

  TOFSTREAM_HOST_DEVICE Lor lor(std::int64_t point) const {
    const int i = static_cast<int>(point % lattice.size[0]);
    const std::int64_t row = point / lattice.size[0];
    return line_through(
        frame, lattice.position(i, static_cast<int>(row % lattice.size[1]), static_cast<int>(row / lattice.size[1])),
        radius_mm);
  }
};

class HistoLines {
 public:
  /// Throws std::invalid_argument for an invalid grid or views, and a radius that is not positive.
  HistoLines(const Grid& grid, const DirectViews& views, HistoLattice lattice, double radius_mm);

  /// Of one view.
  std::int64_t points() const { return of_views_.front().lattice.points(); }
  int views() const { return static_cast<int>(of_views_.size()); }
  HistoLinesOfView of_view(int view) const { return of_views_[static_cast<std::size_t>(view)]; }

 private:
  std::vector<HistoLinesOfView> of_views_;
};

/// The lines of all points of a view as events with free ends, [k][j][i], in one kind of memory.
class LinesOfPoints {
 public:
  /// Queued on the stream.
  LinesOfPoints(const HistoLinesOfView& view, Memory memory, Stream stream = nullptr);
  /// Holds as long as this object.
  EventView events() const;

 private:
  Buffer<float> arrays_[7];  // x1 y1 z1 x2 y2 z2 tof
};

/// to[p] = before[p] + factor terms[p] density[p], all of `points` floats in `memory`; null is 0 before and a density of
/// 1. Queued on the stream.
void add_expected(const float* before, double factor, const float* terms, const float* density, std::int64_t points,
                  float* to, Memory memory, Stream stream = nullptr);

namespace detail {
/// Where the lines of points go.
struct LineArrays {
  float* to[7];

  TOFSTREAM_HOST_DEVICE void set(std::int64_t point, const Lor& lor) const {
    const float values[7] = {lor.end1.x, lor.end1.y, lor.end1.z, lor.end2.x, lor.end2.y, lor.end2.z, lor.tof_mm};
    for (int a = 0; a < 7; ++a) to[a][point] = values[a];
  }
};
void fill_lines_cuda(const HistoLinesOfView& view, const LineArrays& arrays, Stream stream);
void add_expected_cuda(const float* before, double factor, const float* terms, const float* density,
                       std::int64_t points, float* to, Stream stream);

TOFSTREAM_HOST_DEVICE inline float expected(const float* before, double factor, const float* terms,
                                            const float* density, std::int64_t p) {
  const double added = factor * static_cast<double>(terms[p]) * (density ? static_cast<double>(density[p]) : 1.0);
  return (before ? before[p] : 0.0f) + static_cast<float>(added);
}
}  // namespace detail

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
