// The lines of a histo-image's points on the host: see histo_lines.hpp.
#include "kernels/direct/histo_lines.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream {

namespace {

template <class Work>
void for_each_histo_point(std::int64_t points, const Work& work) {
  constexpr std::int64_t grain = 4096;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, points, grain), [&](const auto& range) {
    for (std::int64_t p = range.begin(); p < range.end(); ++p) work(p);
  });
}

}  // namespace

HistoLines::HistoLines(const Grid& grid, const DirectViews& views, HistoLattice lattice, double radius_mm) {
  validate(grid);
  validate(views);
  if (!(radius_mm > 0 && std::isfinite(radius_mm)))
    throw std::invalid_argument(fmt::format("lines end on a cylinder of a positive radius, not of {} mm", radius_mm));
  for (int v = 0; v < views.count(); ++v) {
    const ViewFrame frame = ViewFrame::of(views.azimuth_deg(v), views.tilt_deg(v));
    of_views_.push_back({DirectLattice::of(grid, lattice, frame), frame, radius_mm});
  }
}

LinesOfPoints::LinesOfPoints(const HistoLinesOfView& view, Memory memory, Stream stream) {
  detail::LineArrays arrays{};
  for (int a = 0; a < 7; ++a) {
    arrays_[a] = Buffer<float>(memory, view.lattice.points(), stream);
    arrays.to[a] = arrays_[a].data();
  }
  if (on_host(memory))
    for_each_histo_point(view.lattice.points(), [&](std::int64_t p) { arrays.set(p, view.lor(p)); });
  else
    detail::fill_lines_cuda(view, arrays, stream);
}

EventView LinesOfPoints::events() const {
  EventView lines;
  lines.count = arrays_[0].size();
  for (int e = 0; e < 6; ++e) lines.ends[e] = arrays_[e].data();
  lines.tof_mm = arrays_[6].data();
  return lines;
}

void add_expected(const float* before, double factor, const float* terms, const float* density, std::int64_t points,
                  float* to, Memory memory, Stream stream) {
  if (!on_host(memory)) return detail::add_expected_cuda(before, factor, terms, density, points, to, stream);
  for_each_histo_point(points, [&](std::int64_t p) { to[p] = detail::expected(before, factor, terms, density, p); });
}

#ifndef TOFSTREAM_HAVE_CUDA
void detail::fill_lines_cuda(const HistoLinesOfView&, const LineArrays&, Stream) {
  refuse_cuda();
}
void detail::add_expected_cuda(const float*, double, const float*, const float*, std::int64_t, float*, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
