// Gaussians fitted to point sources: see point_source_fit.hpp.
#include "kernels/psf/point_source_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include <Eigen/Dense>
#include <fmt/format.h>
#include <unsupported/Eigen/LevenbergMarquardt>

#include "kernels/math/units.hpp"

namespace tofstream {
namespace {

struct SourceVoxel {
  Vec3d at_mm;
  double value;
};

// The unknowns: place, logarithms of the three sigmas (radial, tangential, axial), peak and background, the last two
// over the highest voxel.
enum Unknown { place_x, place_y, place_z, log_radial, log_tangential, log_axial, peak, background, unknowns };

class GaussianResiduals : public Eigen::DenseFunctor<double> {
 public:
  /// `near`: where the source is, to a voxel; it says what is outwards.
  GaussianResiduals(const std::vector<SourceVoxel>& voxels, Vec3d edge_mm, Vec3d near, double highest)
      : DenseFunctor(unknowns, static_cast<int>(voxels.size())), voxels_(voxels), edge_(edge_mm), highest_(highest) {
    const double r = std::hypot(near.x, near.y), c = r > 0 ? near.x / r : 1, s = r > 0 ? near.y / r : 0;
    turn_ << c, -s, 0, s, c, 0, 0, 0, 1;
  }

  int operator()(const Eigen::VectorXd& u, Eigen::VectorXd& residuals) const {
    const Eigen::Matrix3d inverse = covariance(u).inverse();
    const Eigen::Vector3d centre(u[place_x], u[place_y], u[place_z]);
    for (std::size_t i = 0; i < voxels_.size(); ++i) {
      const Eigen::Vector3d d = Eigen::Vector3d(voxels_[i].at_mm.x, voxels_[i].at_mm.y, voxels_[i].at_mm.z) - centre;
      const double value = u[background] + u[peak] * std::exp(-0.5 * d.dot(inverse * d));
      residuals[static_cast<Eigen::Index>(i)] = value - voxels_[i].value / highest_;
    }
    return 0;
  }

 private:
  Eigen::Matrix3d covariance(const Eigen::VectorXd& u) const {
    const Eigen::Vector3d variance(std::exp(2 * u[log_radial]), std::exp(2 * u[log_tangential]),
                                   std::exp(2 * u[log_axial]));
    const Eigen::Vector3d of_voxel(edge_.x * edge_.x / 12, edge_.y * edge_.y / 12, edge_.z * edge_.z / 12);
    Eigen::Matrix3d sum = turn_ * variance.asDiagonal() * turn_.transpose();
    sum.diagonal() += of_voxel;
    return sum;
  }

  const std::vector<SourceVoxel>& voxels_;
  Vec3d edge_;
  double highest_;
  Eigen::Matrix3d turn_;  // from outwards and across to x and y
};

struct SourceWindow {
  std::array<int, 3> low, high;  // of its voxels, both within
};

std::string source_words(Vec3d at) {
  return fmt::format("the source at ({:.1f}, {:.1f}, {:.1f}) mm", at.x, at.y, at.z);
}

class PointSourceFinder {
 public:
  PointSourceFinder(const Image& image, const PointSourceSearch& search)
      : image_(image), grid_(image.grid), search_(search) {
    validate(grid_);
    if (!(search.threshold > 0 && search.threshold < 1))
      throw std::invalid_argument(fmt::format("a threshold lies between 0 and 1, not {}", search.threshold));
    const float widest = std::max({grid_.voxel_mm.x, grid_.voxel_mm.y, grid_.voxel_mm.z});
    if (!(search.window_mm >= 2 * static_cast<double>(widest) && std::isfinite(search.window_mm)))
      throw std::invalid_argument(
          fmt::format("a window of {} mm holds too few voxels of {} mm", search.window_mm, widest));
  }

  std::vector<PointSource> find() const {
    std::vector<std::int64_t> above;
    const auto voxels = image_.voxels.span();
    const float highest = std::ranges::max(voxels);
    if (!(highest > 0)) throw std::invalid_argument("the image has no source: no voxel is positive");
    for (std::size_t v = 0; v < voxels.size(); ++v)
      if (static_cast<double>(voxels[v]) >= search_.threshold * static_cast<double>(highest))
        above.push_back(static_cast<std::int64_t>(v));
    std::ranges::stable_sort(above,
                             [&](std::int64_t a, std::int64_t b) { return image_.voxels[a] > image_.voxels[b]; });
    std::vector<PointSource> sources;
    std::vector<Vec3d> tops;
    for (const std::int64_t v : above) {
      const Vec3d at = centre(v);
      if (std::ranges::any_of(tops, [&](Vec3d top) { return distance(at, top) <= search_.window_mm; })) continue;
      for (const Vec3d top : tops)
        if (distance(at, top) <= 2 * search_.window_mm)
          throw std::invalid_argument(fmt::format(
              "{} and {}: their windows of {:g} mm meet; take a smaller window, or a higher threshold if one "
              "of them is none",
              source_words(top), source_words(at), search_.window_mm));
      tops.push_back(at);
      sources.push_back(fit(v));
    }
    return sources;
  }

 private:
  std::array<int, 3> place(std::int64_t v) const {
    return {static_cast<int>(v % grid_.size[0]), static_cast<int>(v / grid_.size[0] % grid_.size[1]),
            static_cast<int>(v / grid_.stride(2))};
  }

  Vec3d centre(std::int64_t v) const {
    const auto at = place(v);
    return grid_.centre(at[0], at[1], at[2]).as<double>();
  }

  // Along the axis on which they lie farthest apart.
  static double distance(Vec3d a, Vec3d b) {
    return std::max({std::abs(a.x - b.x), std::abs(a.y - b.y), std::abs(a.z - b.z)});
  }

  SourceWindow window_about(std::int64_t v) const {
    SourceWindow window{};
    const auto at = place(v);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int k = static_cast<int>(axis);
      const int reach = static_cast<int>(search_.window_mm / static_cast<double>(grid_.voxel_mm[k]));
      window.low[axis] = at[axis] - reach;
      window.high[axis] = at[axis] + reach;
      if (window.low[axis] < 0 || window.high[axis] >= grid_.size[k])
        throw std::invalid_argument(fmt::format(
            "{}: its window of {:g} mm is cut by the image's border along {}; take a smaller window or a larger "
            "image",
            source_words(centre(v)), search_.window_mm, "xyz"[axis]));
    }
    return window;
  }

  std::vector<SourceVoxel> voxels_of(const SourceWindow& window) const {
    std::vector<SourceVoxel> voxels;
    for (int k = window.low[2]; k <= window.high[2]; ++k)
      for (int j = window.low[1]; j <= window.high[1]; ++j)
        for (int i = window.low[0]; i <= window.high[0]; ++i)
          voxels.push_back(
              {grid_.centre(i, j, k).as<double>(), static_cast<double>(image_.voxels[grid_.index(i, j, k)])});
    return voxels;
  }

  PointSource fit(std::int64_t v) const {
    const Vec3d top = centre(v), edge = grid_.voxel_mm.as<double>();
    const double highest = static_cast<double>(image_.voxels[v]);
    const std::vector<SourceVoxel> voxels = voxels_of(window_about(v));
    GaussianResiduals residuals(voxels, edge, top, highest);
    Eigen::NumericalDiff<GaussianResiduals, Eigen::Central> with_derivatives(residuals);
    Eigen::LevenbergMarquardt<decltype(with_derivatives)> least_squares(with_derivatives);
    // It begins with a sigma of an eighth of the window.
    const double log_sigma = std::log(std::max(search_.window_mm / 8, edge.x / 2));
    Eigen::VectorXd u(static_cast<Eigen::Index>(unknowns));
    u << top.x, top.y, top.z, log_sigma, log_sigma, log_sigma, 1, 0;
    least_squares.setXtol(1e-9);
    least_squares.setFtol(1e-12);
    least_squares.minimize(u);
    if (least_squares.info() != Eigen::Success || !u.allFinite())
      throw std::invalid_argument(fmt::format("{}: no Gaussian fits it", source_words(top)));
    const auto fwhm = [&](Unknown log) { return fwhm_per_sigma * std::exp(u[log]); };
    PointSource source{{u[place_x], u[place_y], u[place_z]},
                       {fwhm(log_radial), fwhm(log_tangential), fwhm(log_axial)},
                       u[peak] * highest,
                       least_squares.fnorm() / std::sqrt(static_cast<double>(voxels.size())) / u[peak]};
    check(source, top);
    if (source.radius_mm() < std::max(edge.x, edge.y)) {  // on the axis nothing is outwards
      const double mean = std::hypot(source.fwhm.radial_mm, source.fwhm.tangential_mm) / std::sqrt(2.0);
      source.fwhm.radial_mm = source.fwhm.tangential_mm = mean;
    }
    return source;
  }

  void check(const PointSource& source, Vec3d top) const {
    if (!(source.peak > 0) || distance(source.centre_mm, top) > search_.window_mm / 2)
      throw std::invalid_argument(fmt::format("{}: no Gaussian fits it", source_words(top)));
    const Resolution& fwhm = source.fwhm;
    const double widest = std::max({fwhm.radial_mm, fwhm.tangential_mm, fwhm.axial_mm});
    if (widest > search_.window_mm)
      throw std::invalid_argument(
          fmt::format("{}: it is {:.1f} mm wide, and the window {:g} mm to either side: take a "
                      "larger one, or a scan of a point",
                      source_words(top), widest, search_.window_mm));
    constexpr double least_edges = 1.2;
    const double across = std::max(static_cast<double>(grid_.voxel_mm.x), static_cast<double>(grid_.voxel_mm.y));
    if (std::min(fwhm.radial_mm, fwhm.tangential_mm) < least_edges * across ||
        fwhm.axial_mm < least_edges * static_cast<double>(grid_.voxel_mm.z))
      throw std::invalid_argument(fmt::format(
          "{}: its widths, {:.2f} x {:.2f} x {:.2f} mm, are too small for voxels of {:g} x {:g} x {:g} mm: take "
          "smaller voxels",
          source_words(top), fwhm.radial_mm, fwhm.tangential_mm, fwhm.axial_mm, grid_.voxel_mm.x, grid_.voxel_mm.y,
          grid_.voxel_mm.z));
  }

  const Image& image_;
  const Grid& grid_;
  PointSourceSearch search_;
};

}  // namespace

double PointSource::radius_mm() const {
  return std::hypot(centre_mm.x, centre_mm.y);
}

std::vector<PointSource> fit_point_sources(const Image& image, const PointSourceSearch& search) {
  return PointSourceFinder(image, search).find();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
