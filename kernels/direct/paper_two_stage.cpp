// The published two stages: weights, and the passes on the CPU; see paper_two_stage.hpp. It is there to be measured beside
// two_stage, and written to be read.
#include "kernels/direct/paper_two_stage.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

constexpr double narrowest_sampled = 0.45;  // in points: narrower weights are set by their moments

/// Weights on points of a Gaussian, of its area and mean, from point `first` on; so narrow a one on three points, with its
/// variance where that leaves them positive.
struct PointWeights {
  int first = 0;
  std::vector<double> weights;
};
PointWeights gaussian_on_points(double mean, double sigma, double cut) {
  PointWeights on;
  if (sigma >= narrowest_sampled) {
    on.first = static_cast<int>(std::ceil(mean - cut * sigma));
    double sum = 0;
    for (int n = on.first; n <= static_cast<int>(std::floor(mean + cut * sigma)); ++n) {
      const double d = (n - mean) / sigma;
      on.weights.push_back(std::exp(-0.5 * d * d));
      sum += on.weights.back();
    }
    for (double& weight : on.weights) weight /= sum;
    return on;
  }
  const auto middle = static_cast<int>(std::lround(mean));
  const double f = mean - middle, second = std::max(sigma * sigma + f * f, std::abs(f));
  on.first = middle - 1;
  on.weights = {0.5 * (second - f), 1 - second, 0.5 * (second + f)};
  return on;
}

std::vector<float> symmetric_weights(double sigma_points, double cut) {
  const PointWeights on = gaussian_on_points(0, sigma_points, cut);
  return {on.weights.begin(), on.weights.end()};
}

TurnedLattice voxels_of(const Grid& grid) {
  TurnedLattice voxels;
  for (int a = 0; a < 3; ++a) {
    voxels.size[a] = grid.size[a];
    voxels.spacing_mm[a] = static_cast<double>(grid.voxel_mm[a]);
    voxels.axis[a] = {a == 0 ? 1.0 : 0.0, a == 1 ? 1.0 : 0.0, a == 2 ? 1.0 : 0.0};
  }
  voxels.first_mm = grid.centre(0, 0, 0).as<double>();
  return voxels;
}

/// Along the view's axes, about the image's middle, as far as S reaches from the image.
TurnedLattice turned_lattice(const TurnedLattice& voxels, const ViewFrame& frame, double reach_mm) {
  TurnedLattice turned;
  turned.axis[0] = frame.direction();
  turned.axis[1] = {-frame.sin_f, frame.cos_f, 0};
  turned.axis[2] = {-frame.cos_f * frame.sin_q, -frame.sin_f * frame.sin_q, frame.cos_q};
  const double across = std::min(voxels.spacing_mm[0], voxels.spacing_mm[1]);
  turned.spacing_mm[0] = turned.spacing_mm[1] = across;
  turned.spacing_mm[2] = voxels.spacing_mm[2];
  Vec3d diagonal;
  for (int a = 0; a < 3; ++a) diagonal.set(a, (voxels.size[a] - 1) * voxels.spacing_mm[a]);
  turned.first_mm = voxels.first_mm + 0.5 * diagonal;
  for (int a = 0; a < 3; ++a) {
    const Vec3d& axis = turned.axis[a];
    const double half =
        0.5 * (std::abs(axis.x) * diagonal.x + std::abs(axis.y) * diagonal.y + std::abs(axis.z) * diagonal.z) +
        reach_mm;
    const int either_way = static_cast<int>(std::ceil(half / turned.spacing_mm[a]));
    turned.size[a] = 2 * either_way + 1;
    turned.first_mm = turned.first_mm + (-either_way * turned.spacing_mm[a]) * axis;
  }
  return turned;
}

double axial_sigma_mm(const DirectKernel& kernel) {
  return static_cast<double>(kernel.axial_fwhm_mm) / fwhm_per_sigma;
}

}  // namespace

double paper_rotation_sigma_mm(const Grid& grid, const DirectKernel& kernel) {
  double narrowest = axial_sigma_mm(kernel);
  for (const RadialWidth& width : kernel.radial)
    for (const RadialPart& part : kernel.parts)
      if (part.weight > 0)
        narrowest = std::min(narrowest, radial_sigma_mm(kernel, static_cast<double>(width.fwhm_mm), part));
  constexpr double most_voxels = 1, enough_voxels = 0.8;
  const auto edge = static_cast<double>(std::max({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z}));
  const double half = narrowest / std::sqrt(2.0);
  return half <= most_voxels * edge ? half : enough_voxels * edge;
}

void validate_paper_scheme(const Grid& grid, const DirectKernel& kernel) {
  const double sigma = paper_rotation_sigma_mm(grid, kernel);
  const auto [least, most] = std::minmax({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z});
  if (2 * RotationGaussian::cut * sigma / static_cast<double>(least) + 1 >= RotationGaussian::most_taps)
    throw std::invalid_argument(
        fmt::format("scheme paper rotates by one Gaussian along all axes, and voxels of {:g} to {:g} mm are too unlike "
                    "for it: take "
                    "scheme footprint",
                    least, most));
  constexpr double least_rest_points = 0.5;
  const double across = static_cast<double>(std::min(grid.voxel_mm.x, grid.voxel_mm.y));
  const double tof = static_cast<double>(kernel.tof_sigma_mm), rest = tof * tof - 2 * sigma * sigma;
  if (!(rest >= least_rest_points * across * least_rest_points * across))
    throw std::invalid_argument(
        fmt::format("kernel.tof_sigma_mm of {:g} mm is narrower than scheme paper's two rotations by {:.3g} mm leave "
                    "room for: take operator one_stage",
                    kernel.tof_sigma_mm, sigma));
}

PaperSplit::PaperSplit(const Grid& grid, const ViewFrame& frame, const DirectKernel& kernel,
                       const RadialProfiles& profiles)
    : voxels_(voxels_of(grid)), cut_(static_cast<double>(kernel.cut_sigma)) {
  rotation_.sigma_mm = paper_rotation_sigma_mm(grid, kernel);
  between_ = turned_lattice(voxels_, frame, rotation_.reach_mm());
  const double spread = 2 * rotation_.sigma_mm * rotation_.sigma_mm;
  const auto rest = [&](double sigma_mm, int a) {
    return std::sqrt(std::max(0.0, sigma_mm * sigma_mm - spread)) / between_.spacing_mm[a];
  };
  along_ = symmetric_weights(rest(static_cast<double>(kernel.tof_sigma_mm), 0), cut_);
  axial_ = symmetric_weights(rest(axial_sigma_mm(kernel), 2), cut_);
  set_across(profiles, spread);
}

void PaperSplit::set_across(const RadialProfiles& profiles, double spread) {
  const double spacing = between_.spacing_mm[1], reach_mm = profiles.reach_mm(cut_);
  across_reach_ = static_cast<int>(std::ceil(reach_mm / spacing)) + 1;
  across_count_ = 2 * across_reach_ + 1;
  const int rows = between_.size[1];
  across_.assign(static_cast<std::size_t>(rows) * static_cast<std::size_t>(across_count_), 0.0f);
  for (int row = 0; row < rows; ++row) {
    first_.push_back(row - across_reach_);
    const double s = dot(between_.first_mm + row * spacing * between_.axis[1], between_.axis[1]);
    for (const RadialGaussian& part : profiles[profiles.index(s)]) {
      const double sigma = std::sqrt(std::max(0.0, part.sigma_mm * part.sigma_mm - spread));
      const PointWeights on = gaussian_on_points(part.centre_mm / spacing, sigma / spacing, cut_);
      for (std::size_t m = 0; m < on.weights.size(); ++m) {
        const auto at =
            static_cast<std::ptrdiff_t>(row) * across_count_ + on.first + static_cast<int>(m) + across_reach_;
        across_[static_cast<std::size_t>(at)] += static_cast<float>(part.weight * on.weights[m]);
      }
    }
  }
}

PaperStages PaperSplit::stages(const float* along, const float* axial, const float* across, const int* first) const {
  return {voxels_,
          between_,
          rotation_,
          {along, static_cast<int>(along_.size() / 2)},
          {axial, static_cast<int>(axial_.size() / 2)},
          {across, first, across_count_, across_reach_}};
}

namespace {

class CpuPaperTwoStage final : public DirectProjector {
 public:
  using DirectProjector::DirectProjector;

  void forward(const Views& views, const float* image, float* expectation, Stream) override {
    require_views(views);
    for (int v = 0; v < views.views; ++v) {
      const PaperSplit split(grid(), frame(views, v), settings().kernel, profiles());
      const PaperStages stages = split.stages();
      fill(voxels_, grid().voxels(),
           [&](std::int64_t j) { return image[stages.voxels.in_image(j)] / stages.unit_of_voxel(j); });
      fill(in_, stages.between.points(), [&](std::int64_t p) {
        return stages.rotation.gather(stages.voxels, voxels_.data(), stages.between.position(p));
      });
      pass([&](const float* in, std::int64_t p) { return stages.blurred_along(in, p); });
      pass([&](const float* in, std::int64_t p) { return stages.blurred_across(in, p, false); });
      pass([&](const float* in, std::int64_t p) { return stages.blurred_axially(in, p) / stages.unit_of_point(p); });
      for_each(grid().voxels(), [&](std::int64_t j) {
        expectation[v * points() + stages.voxels.in_image(j)] =
            stages.rotation.gather(stages.between, in_.data(), stages.voxels.position(j));
      });
    }
  }

  void back(const Views& views, const float* values, float* image, Stream) override {
    require_views(views);
    for (int v = 0; v < views.views; ++v) {
      const PaperSplit split(grid(), frame(views, v), settings().kernel, profiles());
      const PaperStages stages = split.stages();
      fill(voxels_, grid().voxels(),
           [&](std::int64_t j) { return values ? values[v * points() + stages.voxels.in_image(j)] : 1.0f; });
      fill(in_, stages.between.points(), [&](std::int64_t p) {
        return stages.rotation.gather(stages.voxels, voxels_.data(), stages.between.position(p)) /
               stages.unit_of_point(p);
      });
      pass([&](const float* in, std::int64_t p) { return stages.blurred_axially(in, p); });
      pass([&](const float* in, std::int64_t p) { return stages.blurred_across(in, p, true); });
      pass([&](const float* in, std::int64_t p) { return stages.blurred_along(in, p); });
      for_each(grid().voxels(), [&](std::int64_t j) {
        image[stages.voxels.in_image(j)] +=
            stages.rotation.gather(stages.between, in_.data(), stages.voxels.position(j)) / stages.unit_of_voxel(j);
      });
    }
  }

 private:
  template <class Work>
  static void for_each(std::int64_t count, const Work& work) {
    constexpr std::int64_t grain = 2048;
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain), [&](const auto& range) {
      for (std::int64_t i = range.begin(); i < range.end(); ++i) work(i);
    });
  }
  template <class Value>
  static void fill(std::vector<float>& to, std::int64_t count, const Value& value) {
    to.resize(static_cast<std::size_t>(count));
    for_each(count, [&](std::int64_t i) { to[static_cast<std::size_t>(i)] = value(i); });
  }
  template <class Value>
  void pass(const Value& value) {
    fill(out_, std::ssize(in_), [&](std::int64_t p) { return value(in_.data(), p); });
    in_.swap(out_);
  }

  std::vector<float> voxels_, in_, out_;  // kept from one view to the next
};

}  // namespace

std::unique_ptr<ViewProjector> make_paper_two_stage_cpu(const Grid& grid, const ViewSet& set,
                                                        const DirectSettings& settings) {
  return std::make_unique<CpuPaperTwoStage>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
