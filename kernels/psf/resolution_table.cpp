// A table of widths by radius and z: see resolution_table.hpp.
#include "kernels/psf/resolution_table.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

namespace tofstream {
namespace {

constexpr double widest_mm = 100;

void check_point(const ResolutionPoint& point) {
  if (!(point.r_mm >= 0 && std::isfinite(point.r_mm)) || !std::isfinite(point.z_mm))
    throw std::invalid_argument(
        fmt::format("a point at r = {} mm, z = {} mm: the radius must not be negative", point.r_mm, point.z_mm));
  for (const double width : {point.fwhm.radial_mm, point.fwhm.tangential_mm, point.fwhm.axial_mm})
    if (!(width >= 0 && width <= widest_mm))
      throw std::invalid_argument(
          fmt::format("a width of {} mm at r = {} mm, z = {} mm: widths are FWHM from 0 to {} mm", width, point.r_mm,
                      point.z_mm, widest_mm));
}

}  // namespace

ResolutionTable::ResolutionTable(std::vector<ResolutionPoint> points) {
  if (points.empty()) throw std::invalid_argument("a table of widths without a point");
  for (const ResolutionPoint& point : points) check_point(point);
  const auto place = [](const ResolutionPoint& point) { return std::tuple(point.z_mm, point.r_mm); };
  std::ranges::sort(points, {}, place);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ResolutionPoint& point = points[i];
    if (i > 0 && place(point) == place(points[i - 1]))
      throw std::invalid_argument(fmt::format("two points at r = {} mm, z = {} mm", point.r_mm, point.z_mm));
    if (z_mm_.empty() || z_mm_.back() != point.z_mm) {
      z_mm_.push_back(point.z_mm);
      profiles_.emplace_back();
    }
    profiles_.back().push_back(point);
  }
}

Resolution ResolutionTable::at(std::size_t profile, double r_mm) const {
  const auto& points = profiles_.at(profile);
  const auto above = std::ranges::upper_bound(points, r_mm, {}, &ResolutionPoint::r_mm);
  if (above == points.begin()) return points.front().fwhm;
  if (above == points.end()) return points.back().fwhm;
  const ResolutionPoint &a = *(above - 1), &b = *above;
  const double part = (r_mm - a.r_mm) / (b.r_mm - a.r_mm);
  const auto between = [part](double low, double high) { return low + part * (high - low); };
  return {between(a.fwhm.radial_mm, b.fwhm.radial_mm), between(a.fwhm.tangential_mm, b.fwhm.tangential_mm),
          between(a.fwhm.axial_mm, b.fwhm.axial_mm)};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
