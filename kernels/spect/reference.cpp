// The rotation projector by its definition: see reference.hpp.
#include "kernels/spect/reference.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/project/expectation.hpp"
#include "kernels/spect/spect_backends.hpp"

namespace tofstream {

namespace {

/// Linear interpolation's weight of a sample at `distance` samples.
double tent(double distance) {
  return std::max(0.0, 1 - std::abs(distance));
}

/// Calls visit(sample, weight) for the at most two samples in [0, size) around a position.
template <class Visit>
void for_each_tent(double position, int size, Visit&& visit) {
  const int below = static_cast<int>(std::floor(position));
  for (int i = std::max(below, 0); i <= std::min(below + 1, size - 1); ++i)
    if (const double weight = tent(position - i); weight > 0) visit(i, weight);
}

double in_voxels(const Grid& grid, int axis, double mm) {
  return snapped((mm - static_cast<double>(grid.origin_mm[axis])) / static_cast<double>(grid.voxel_mm[axis]));
}

double centre_of(const Grid& grid, int axis, int i) {
  return static_cast<double>(grid.origin_mm[axis]) + i * static_cast<double>(grid.voxel_mm[axis]);
}

}  // namespace

RotationReference::RotationReference(const Grid& grid, const ViewSet& set, const SpectSettings& settings)
    : grid_(grid), set_(set), settings_(settings) {
  validate(grid, set, settings);
  lattice_ = lattice_of(grid, set, settings);
  support_ = support_of(grid, settings.box);
  for (const double radius : radii_of(set)) kernels_[radius] = plane_kernels(lattice_, settings, radius);
}

std::size_t RotationReference::point(int plane, int column, int row) const {
  return (static_cast<std::size_t>(plane) * static_cast<std::size_t>(lattice_.columns()) +
          static_cast<std::size_t>(column)) *
             static_cast<std::size_t>(lattice_.rows()) +
         static_cast<std::size_t>(row);
}

RotationReference::Volume RotationReference::zero_volume() const {
  return Volume(point(lattice_.planes, 0, 0), 0.0);
}

void RotationReference::for_each_weight(const LatticeView& view, const Visit& visit) const {
  if (is_conserving(settings_)) return spread_voxels(view, true, visit);
  interpolate_at_points(grid_, support_, view, lattice_.first, visit);
}

void RotationReference::interpolate_at_points(const Grid& grid, const std::vector<char>& support,
                                              const LatticeView& view, int first, const Visit& visit) const {
  for (int k = first; k <= lattice_.last; ++k) {
    if (view.depth_mm(lattice_, k) <= 0) continue;
    for (int c = 0; c < lattice_.columns(); ++c) {
      const double u = view.centre_u_mm + view.scale_u(lattice_, k) * lattice_.u_mm(c);
      const AcrossAxis at = turned(view, lattice_.n_mm(k), u);
      for (int r = 0; r < lattice_.rows(); ++r) {
        const double z = view.centre_w_mm + view.scale_w(lattice_, k) * lattice_.w_mm(r);
        for_each_tent(in_voxels(grid, 2, z), grid.size[2], [&](int iz, double wz) {
          for_each_tent(in_voxels(grid, 1, at.y), grid.size[1], [&](int iy, double wy) {
            for_each_tent(in_voxels(grid, 0, at.x), grid.size[0], [&](int ix, double wx) {
              if (support[static_cast<std::size_t>(grid.index(ix, iy, 0))])
                visit(static_cast<std::size_t>(grid.index(ix, iy, iz)), point(k, c, r), wx * wy * wz);
            });
          });
        });
      }
    }
  }
}

void RotationReference::spread_voxels(const LatticeView& view, bool with_gain, const Visit& visit) const {
  for (int iz = 0; iz < grid_.size[2]; ++iz)
    for (int iy = 0; iy < grid_.size[1]; ++iy)
      for (int ix = 0; ix < grid_.size[0]; ++ix) {
        if (!support_[static_cast<std::size_t>(grid_.index(ix, iy, 0))]) continue;
        const double x = centre_of(grid_, 0, ix), y = centre_of(grid_, 1, iy), z = centre_of(grid_, 2, iz);
        const double n = x * view.sin + y * view.cos, u = y * view.sin - x * view.cos;
        const auto voxel = static_cast<std::size_t>(grid_.index(ix, iy, iz));
        for_each_tent(snapped(lattice_.middle_plane() - n / lattice_.step), lattice_.planes, [&](int k, double wk) {
          if (view.depth_mm(lattice_, k) <= 0 || k < lattice_.first || k > lattice_.last) return;
          const double su = view.scale_u(lattice_, k), sw = view.scale_w(lattice_, k);
          const double column = (u - view.centre_u_mm) / su / lattice_.pu + lattice_.middle_column();
          const double row = (z - view.centre_w_mm) / sw / lattice_.pw + lattice_.middle_row();
          const double gain = with_gain ? wk / (su * sw) : wk;
          for_each_tent(snapped(column), lattice_.columns(), [&](int c, double wc) {
            for_each_tent(snapped(row), lattice_.rows(),
                          [&](int r, double wr) { visit(voxel, point(k, c, r), gain * wc * wr); });
          });
        });
      }
}

RotationReference::Volume RotationReference::transmission(const LatticeView& view) const {
  Volume result(zero_volume().size(), 1.0);
  if (!settings_.mu_per_mm) return result;
  const Image& map = *settings_.mu_per_mm;
  Volume mu = zero_volume();
  interpolate_at_points(map.grid, support_of(map.grid, true), view, 0, [&](std::size_t v, std::size_t p, double w) {
    mu[p] += w * static_cast<double>(map.voxels[static_cast<std::int64_t>(v)]);
  });
  for (int c = 0; c < lattice_.columns(); ++c)
    for (int r = 0; r < lattice_.rows(); ++r) {
      const double slope_u = settings_.beam == Beam::parallel ? 0 : lattice_.u_mm(c) / lattice_.focal_mm;
      const double slope_w = settings_.beam == Beam::cone ? lattice_.w_mm(r) / lattice_.focal_mm : 0;
      const double path_mm = lattice_.step * std::sqrt(1 + slope_u * slope_u + slope_w * slope_w);
      double before = 0;
      for (int k = 0; k < lattice_.planes; ++k) {
        const double here = mu[point(k, c, r)];
        result[point(k, c, r)] = std::exp(-path_mm * (before + here / 2));
        before += here;
      }
    }
  return result;
}

void RotationReference::convolve(const LatticeView& view, const Volume& planes, std::vector<double>& detector) const {
  const auto& kernels = kernels_.at(view.radius_mm);
  for (int k = lattice_.first; k <= lattice_.last; ++k) {
    const PlaneKernel& kernel = kernels[static_cast<std::size_t>(k)];
    const int reach_u = kernel.across / 2, reach_w = kernel.along / 2;
    for (int c = 0; c < lattice_.columns(); ++c)
      for (int r = 0; r < lattice_.rows(); ++r) {
        const double source = planes[point(k, c, r)];
        if (source == 0) continue;
        for (int j = -reach_w; j <= reach_w; ++j)
          for (int i = -reach_u; i <= reach_u; ++i) {
            const int u = c + i, w = r + j;
            if (u < 0 || u >= lattice_.columns() || w < 0 || w >= lattice_.rows()) continue;
            const int value = (j + reach_w) * kernel.across + i + reach_u;
            detector[point(0, u, w)] += source * static_cast<double>(kernel.values[static_cast<std::size_t>(value)]);
          }
      }
  }
}

RotationReference::Volume RotationReference::convolve_transposed(const LatticeView& view,
                                                                 const std::vector<double>& detector) const {
  const auto& kernels = kernels_.at(view.radius_mm);
  const int mirrored = settings_.adjoint == AdjointKind::paper ? -1 : 1;
  Volume result = zero_volume();
  for (int k = lattice_.first; k <= lattice_.last; ++k) {
    const PlaneKernel& kernel = kernels[static_cast<std::size_t>(k)];
    const int reach_u = kernel.across / 2, reach_w = kernel.along / 2;
    for (int c = 0; c < lattice_.columns(); ++c)
      for (int r = 0; r < lattice_.rows(); ++r) {
        double sum = 0;
        for (int j = -reach_w; j <= reach_w; ++j)
          for (int i = -reach_u; i <= reach_u; ++i) {
            const int u = c + mirrored * i, w = r + mirrored * j;
            if (u < 0 || u >= lattice_.columns() || w < 0 || w >= lattice_.rows()) continue;
            const int value = (j + reach_w) * kernel.across + i + reach_u;
            sum += detector[point(0, u, w)] * static_cast<double>(kernel.values[static_cast<std::size_t>(value)]);
          }
        result[point(k, c, r)] = sum;
      }
  }
  return result;
}

std::vector<double> RotationReference::project(const LatticeView& view, std::span<const double> image) const {
  Volume planes = zero_volume();
  for_each_weight(view, [&](std::size_t v, std::size_t p, double w) { planes[p] += w * image[v]; });
  const Volume a = transmission(view);
  for (std::size_t p = 0; p < planes.size(); ++p) planes[p] *= a[p];
  std::vector<double> detector(point(1, 0, 0), 0.0);
  convolve(view, planes, detector);
  std::vector<double> pixels(static_cast<std::size_t>(set_.pixels()), 0.0);
  const double scale = static_cast<double>(settings_.counts_per_decay) * lattice_.volume_mL;
  for (int c = lattice_.margin_u; c < lattice_.columns() - lattice_.margin_u; ++c)
    for (int r = lattice_.margin_w; r < lattice_.rows() - lattice_.margin_w; ++r) {
      const int u = (c - lattice_.margin_u) / lattice_.oversample, w = (r - lattice_.margin_w) / lattice_.oversample;
      pixels[static_cast<std::size_t>(w * lattice_.nu + u)] += scale * detector[point(0, c, r)];
    }
  return pixels;
}

void RotationReference::back_project(const LatticeView& view, std::span<const double> pixels,
                                     std::vector<double>& image) const {
  std::vector<double> detector(point(1, 0, 0), 0.0);
  const double scale = static_cast<double>(settings_.counts_per_decay) * lattice_.volume_mL;
  for (int c = lattice_.margin_u; c < lattice_.columns() - lattice_.margin_u; ++c)
    for (int r = lattice_.margin_w; r < lattice_.rows() - lattice_.margin_w; ++r) {
      const int u = (c - lattice_.margin_u) / lattice_.oversample, w = (r - lattice_.margin_w) / lattice_.oversample;
      detector[point(0, c, r)] = scale * pixels[static_cast<std::size_t>(w * lattice_.nu + u)];
    }
  Volume planes = convolve_transposed(view, detector);
  const Volume a = transmission(view);
  for (std::size_t p = 0; p < planes.size(); ++p) planes[p] *= a[p];
  const auto add = [&](std::size_t v, std::size_t p, double w) { image[v] += w * planes[p]; };
  if (settings_.adjoint == AdjointKind::paper) return spread_voxels(view, false, add);
  for_each_weight(view, add);
}

LatticeView RotationReference::view_of(const Views& views, int view) const {
  return LatticeView::of(set_.places[static_cast<std::size_t>(views.records[view].view)]);
}

std::vector<double> RotationReference::forward(const Views& views, std::span<const double> image) const {
  require_views_of(set_, views);
  std::vector<double> result;
  for (int v = 0; v < views.views; ++v) {
    const std::vector<double> pixels = project(view_of(views, v), image);
    result.insert(result.end(), pixels.begin(), pixels.end());
  }
  return result;
}

std::vector<double> RotationReference::back(const Views& views, std::span<const double> values) const {
  require_views_of(set_, views);
  std::vector<double> image(static_cast<std::size_t>(grid_.voxels()), 0.0);
  const auto pixels = static_cast<std::size_t>(set_.pixels());
  for (int v = 0; v < views.views; ++v)
    back_project(view_of(views, v), values.subspan(static_cast<std::size_t>(v) * pixels, pixels), image);
  return image;
}

void RotationReference::forward(const Views& views, const float* image, float* expectation, Stream) {
  const std::vector<double> result = forward(views, std::vector<double>(image, image + grid_.voxels()));
  std::ranges::transform(result, expectation, [](double value) { return static_cast<float>(value); });
}

void RotationReference::back(const Views& views, const float* values, float* image, Stream) {
  std::vector<double> wide(static_cast<std::size_t>(views.count), 1.0);
  if (values) wide.assign(values, values + views.count);
  const std::vector<double> sum = back(views, wide);
  for (std::size_t v = 0; v < sum.size(); ++v) image[v] = static_cast<float>(static_cast<double>(image[v]) + sum[v]);
}

EmTally RotationReference::em_step(const Views& views, const float* image, float* accumulator, Stream) {
  if (views.count > 0 && !views.counts) throw std::invalid_argument("EM needs the counts of views, and they have none");
  std::vector<double> ratio = forward(views, std::vector<double>(image, image + grid_.voxels()));
  EmTally tally;
  const std::int64_t pixels = set_.pixels();
  for (int v = 0; v < views.views; ++v) {
    double lost = 0;
    for (std::int64_t i = v * pixels; i < (v + 1) * pixels; ++i) {
      const double y = static_cast<double>(views.counts[i]), m = views.multiplicative ? views.multiplicative[i] : 1.0;
      const double efficiency = m * (views.weight ? static_cast<double>(views.weight[v]) : 1.0);
      double& value = ratio[static_cast<std::size_t>(i)];
      const double expected = efficiency * value + (views.additive ? static_cast<double>(views.additive[i]) : 0.0);
      value = usable(expected) ? efficiency * y / expected : 0;
      if (usable(expected) && y != 0) tally.log_sum += y * std::log(expected);
      if (!usable(expected) && y > 0) lost += y;
    }
    const auto counts = static_cast<std::int64_t>(views.records[v].counts);
    const std::int64_t skipped = std::min(static_cast<std::int64_t>(std::llround(lost)), counts);
    tally.skipped += skipped;
    tally.used += counts - skipped;
  }
  const std::vector<double> sum = back(views, ratio);
  for (std::size_t v = 0; v < sum.size(); ++v)
    accumulator[v] = static_cast<float>(static_cast<double>(accumulator[v]) + sum[v]);
  return tally;
}

void RotationReference::add_sensitivity(const Views& views, float* image, Stream stream) {
  const auto pixels = static_cast<std::size_t>(set_.pixels());
  std::vector<float> efficiency(static_cast<std::size_t>(views.count), 1.0f);
  for (std::size_t i = 0; i < efficiency.size(); ++i) {
    if (views.weight) efficiency[i] = views.weight[i / pixels];
    if (views.multiplicative) efficiency[i] *= views.multiplicative[i];
  }
  back(views, efficiency.data(), image, stream);
}

Image RotationReference::support() const {
  return support_image(grid_, support_);
}

std::unique_ptr<ViewProjector> make_rotation_reference(const Grid& grid, const ViewSet& set,
                                                       const SpectSettings& settings) {
  return std::make_unique<RotationReference>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
