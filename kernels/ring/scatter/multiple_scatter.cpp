// Coincidences with more than one scatter: see multiple_scatter.hpp.
#include "kernels/ring/scatter/multiple_scatter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/ring/scatter/history_batch.hpp"
#include "kernels/ring/scatter/ray_image.hpp"

namespace tofstream {

namespace {

using ring_scatter::CountedBatch, ring_scatter::CountedLattice, ring_scatter::RayImage;

constexpr int least_batches = 8;

void validate(const MultipleScatterSettings& s) {
  const auto refuse = [](const char* name, auto value) {
    throw std::invalid_argument(fmt::format("multiple scatter: {} cannot be {}", name, value));
  };
  if (s.from_order < 1) refuse("from_order", s.from_order);
  if (!(s.error > 0)) refuse("error", s.error);
  if (s.most_decays < 1) refuse("most_decays", s.most_decays);
  if (s.batch_decays < 0 || s.batch_decays > std::int64_t{1} << 32) refuse("batch_decays", s.batch_decays);
  if (!(s.radial_mm > 0)) refuse("radial_mm", s.radial_mm);
  if (!(s.axial_mm > 0)) refuse("axial_mm", s.axial_mm);
  if (s.angles < 1) refuse("angles", s.angles);
}

/// Samples that reach as far as those of the estimate, an odd number across.
CountedLattice counted_lattice(const ScatterSampling& sampling, const MultipleScatterSettings& settings) {
  const ScatterEstimate& like = sampling.lattice;
  const double reach = 0.5 * (like.size[0] - 1) * static_cast<double>(like.radial_mm),
               length = (like.size[2] - 1) * static_cast<double>(like.axial_mm);
  if (!(reach > 0 && length > 0))
    throw std::invalid_argument(
        "multiple scatter is counted between samples: the estimate needs two across and along z");
  CountedLattice made{.tof_mm = static_cast<double>(like.tof_mm), .tof_sigma_mm = sampling.tof_sigma_mm};
  made.size[0] = 2 * std::max(1, static_cast<int>(std::ceil(reach / settings.radial_mm))) + 1;
  made.size[1] = settings.angles;
  made.size[2] = made.size[3] = std::max(1, static_cast<int>(std::ceil(length / settings.axial_mm))) + 1;
  made.size[4] = like.size[4];
  made.radial_mm = 2 * reach / (made.size[0] - 1);
  made.axial_mm = length / (made.size[2] - 1);
  return made;
}

/// Where decays happen, and how many of them a second.
struct EmittedVoxels {
  explicit EmittedVoxels(const Image& activity) {
    const Grid& grid = activity.grid;
    double sum = 0;
    for (const float value : activity.voxels.span()) sums.push_back(sum += static_cast<double>(value));
    if (!(sum > 0)) throw std::invalid_argument("the image is empty: nothing is scattered");
    rate = sum * static_cast<double>(grid.voxel_volume());
    set_guide();
    const Vec3d edge = grid.voxel_mm.as<double>();
    view = {sums.data(),
            grid.voxels(),
            guide.data(),
            static_cast<std::int32_t>(guide.size() - 1),
            {grid.size[0], grid.size[1], grid.size[2]},
            grid.origin_mm.as<double>() - 0.5 * edge,
            edge};
  }
  void set_guide() {
    if (!std::in_range<std::int32_t>(sums.size()))
      throw std::invalid_argument(fmt::format("multiple scatter is made of at most 2^31 voxels, not {}", sums.size()));
    const auto last = static_cast<std::int32_t>(sums.size() - 1);
    const auto guides = static_cast<std::int32_t>(std::bit_ceil(std::min(sums.size(), std::size_t{1} << 20)));
    guide.reserve(static_cast<std::size_t>(guides) + 1);
    std::int32_t voxel = 0;
    for (std::int32_t n = 0; n <= guides; ++n) {
      const double wanted = static_cast<double>(n) / guides * sums.back();
      while (voxel < last && sums[static_cast<std::size_t>(voxel)] <= wanted) ++voxel;
      guide.push_back(voxel);
    }
  }

  std::vector<double> sums;
  std::vector<std::int32_t> guide;
  double rate = 0;
  ring_scatter::DecayVoxels view;
};

ring_scatter::VoxelMatter matter_of(const RayImage& mu, const RayImage& activity) {
  return {mu.view(), ring_scatter::box_of(mu.box(), activity.box()),
          static_cast<double>(std::ranges::max(mu.values()))};
}

/// Batches, with what their spread says of the sum.
class CountedSum {
 public:
  explicit CountedSum(const CountedLattice& lattice)
      : sums_(static_cast<std::size_t>(lattice.values())),
        squares_(static_cast<std::size_t>(lattice.lines())),
        lines_(squares_.size()) {}

  void add(const CountedBatch& batch) {
    ++batches_;
    recorded_ += batch.recorded;
    constexpr std::size_t at_once = 512;  // lines, whose samples of ToF lie apart
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, lines_.size(), at_once), [&](const auto& lines) {
      std::vector<double> here(lines.size());
      for (std::size_t tof = 0; tof < sums_.size(); tof += lines_.size())
        for (std::size_t n = 0; n < here.size(); ++n) {
          const auto count = static_cast<double>(batch.counts[tof + lines.begin() + n]);
          sums_[tof + lines.begin() + n] += count;
          here[n] += count;
        }
      for (std::size_t n = 0; n < here.size(); ++n) {
        lines_[lines.begin() + n] += here[n];
        squares_[lines.begin() + n] += here[n] * here[n];
      }
    });
  }

  int batches() const { return batches_; }
  std::int64_t recorded() const { return recorded_; }
  const std::vector<double>& sums() const { return sums_; }
  /// RMS standard error of the lines / their RMS; infinite where nothing was recorded.
  double relative_error() const {
    double variance = 0, square = 0;
    for (std::size_t line = 0; line < squares_.size(); ++line) {
      const double mean = lines_[line] / batches_;
      variance += (squares_[line] / batches_ - mean * mean) / (batches_ - 1);
      square += mean * mean;
    }
    return square > 0 ? std::sqrt(variance / square) : INFINITY;
  }

 private:
  std::vector<double> sums_, squares_, lines_;
  int batches_ = 0;
  std::int64_t recorded_ = 0;
};

/// Counts as what a pair of efficiency 1 records. Samples at the border count half as much of a length.
ScatterEstimate as_estimate(const CountedLattice& lattice, const std::vector<double>& counts, double each) {
  ScatterEstimate made{{lattice.size[0], lattice.size[1], lattice.size[2], lattice.size[3], lattice.size[4]},
                       static_cast<float>(lattice.radial_mm),
                       static_cast<float>(lattice.axial_mm),
                       static_cast<float>(lattice.tof_mm),
                       {}};
  const double per_mm = made.has_tof() ? 1 / lattice.tof_mm : 1;
  const double cell = lattice.radial_mm * std::numbers::pi / lattice.size[1] * lattice.axial_mm * lattice.axial_mm;
  const auto whole = [&](int at, int axis) { return at == 0 || at + 1 == lattice.size[axis] ? 0.5 : 1.0; };
  made.values.reserve(counts.size());
  std::size_t v = 0;
  for (int t = 0; t < lattice.size[4]; ++t)
    for (int b = 0; b < lattice.size[3]; ++b)
      for (int a = 0; a < lattice.size[2]; ++a)
        for (int p = 0; p < lattice.size[1]; ++p)
          for (int s = 0; s < lattice.size[0]; ++s)
            made.values.push_back(
                static_cast<float>(counts[v++] * each * per_mm / (cell * whole(s, 0) * whole(a, 2) * whole(b, 3))));
  return made;
}

/// Where a sample of one axis lies among those of another.
struct Between {
  std::size_t first = 0;
  float share = 0;  // of the second
};

/// Both axes are symmetric about 0; `sign`: -1 of samples that are turned over. Beyond the outermost samples these are kept.
std::vector<Between> between_samples(int samples, float spacing, int of, float of_spacing, float sign = 1) {
  std::vector<Between> made;
  for (int k = 0; k < samples; ++k) {
    const float mm = sign * (static_cast<float>(k) - 0.5f * static_cast<float>(samples - 1)) * spacing;
    const float at = std::clamp(mm / of_spacing + 0.5f * static_cast<float>(of - 1), 0.0f, static_cast<float>(of - 1));
    const int first = std::min(static_cast<int>(at), of - 2);
    made.push_back({static_cast<std::size_t>(first), at - static_cast<float>(first)});
  }
  return made;
}

/// The estimate at lines of its own reach that lie between its own, which are at least two across and along z, and at its
/// own samples of ToF: linear between lines.
ScatterEstimate resampled(const ScatterEstimate& from, const ScatterEstimate& lattice) {
  ScatterEstimate made = lattice;
  made.values.resize(validate_lattice(made));
  const auto size = [](const ScatterEstimate& of, std::size_t axis) { return static_cast<std::size_t>(of.size[axis]); };
  const auto s_at = between_samples(made.size[0], made.radial_mm, from.size[0], from.radial_mm),
             s_over = between_samples(made.size[0], made.radial_mm, from.size[0], from.radial_mm, -1),
             z_at = between_samples(made.size[2], made.axial_mm, from.size[2], from.axial_mm);
  const std::size_t row = size(made, 0), rows = made.values.size() / row;
  const std::size_t p_of = size(from, 0), a_of = p_of * size(from, 1), b_of = a_of * size(from, 2),
                    t_of = b_of * size(from, 3);
  tbb::parallel_for(std::size_t{0}, rows, [&](std::size_t number) {
    const std::size_t p = number % size(made, 1), a = number / size(made, 1) % size(made, 2),
                      b = number / size(made, 1) / size(made, 2) % size(made, 3),
                      t = number / size(made, 1) / size(made, 2) / size(made, 3);
    float* const to = made.values.data() + number * row;
    const std::size_t turn = p * size(from, 1);  // in steps of pi over both numbers of angles
    const float of_second = static_cast<float>(turn % size(made, 1)) / static_cast<float>(size(made, 1));
    for (unsigned corner = 0; corner < 8; ++corner) {
      const std::size_t angle = turn / size(made, 1) + (corner & 1);
      const bool is_over = angle == size(from, 1);  // the line of angle 0, turned over
      const Between &z_a = z_at[is_over ? b : a], &z_b = z_at[is_over ? a : b];
      const float weight = (corner & 1 ? of_second : 1 - of_second) * (corner & 2 ? z_a.share : 1 - z_a.share) *
                           (corner & 4 ? z_b.share : 1 - z_b.share);
      if (weight == 0) continue;
      const std::size_t tof = is_over ? size(from, 4) - 1 - t : t;
      const float* const line = from.values.data() + (is_over ? 0 : angle) * p_of +
                                (z_a.first + (corner >> 1 & 1)) * a_of + (z_b.first + (corner >> 2)) * b_of +
                                tof * t_of;
      const std::vector<Between>& s = is_over ? s_over : s_at;
      for (std::size_t n = 0; n < row; ++n)
        to[n] += weight * (line[s[n].first] + s[n].share * (line[s[n].first + 1] - line[s[n].first]));
    }
  });
  return made;
}

}  // namespace

MultipleScatter multiple_scatter(const Image& activity, const Image& mu_per_mm, const ScatterDetectors& detectors,
                                 const ScatterSampling& sampling, const MultipleScatterSettings& settings,
                                 Backend backend, const MultipleScatterProgress& progress) {
  validate(settings);
  ring_scatter::require_mu(mu_per_mm);
  ring_scatter::require_acceptance(detectors.energy);
  ring_scatter::require_voxels(activity, "image");
  require_lines(sampling, detectors);
  const CountedLattice lattice = counted_lattice(sampling, settings);
  const Image emitting = ring_scatter::in_coarse_voxels(activity);
  const RayImage mu(ring_scatter::in_coarse_voxels(mu_per_mm)), emitted(emitting);
  const EmittedVoxels voxels(emitting);
  const ring_scatter::HistoryLaw law{.matter = matter_of(mu, emitted),
                                     .decays = voxels.view,
                                     .energy = detectors.energy,
                                     .share_at_511 = detectors.energy.share(electron_keV),
                                     .least_keV = detectors.energy.least_keV(),
                                     .crystal = detectors.crystal,
                                     .radius_mm = detectors.radius_mm,
                                     .half_length_mm = 0.5 * (lattice.size[2] - 1) * lattice.axial_mm,
                                     .from_order = settings.from_order,
                                     .seed = settings.seed};
  const auto batches = ring_scatter::make_history_batches(law, lattice, backend);
  CountedSum sum(lattice);
  // A GPU's batches are long beside their copy to the host.
  const std::int64_t suitable = std::int64_t{1} << (backend == Backend::cuda ? 24 : 21),
                     at_once = settings.batch_decays > 0 ? settings.batch_decays : suitable;
  const std::int64_t most = std::max<std::int64_t>(settings.most_decays / at_once, least_batches);
  double error = INFINITY;
  while (sum.batches() < most && (sum.batches() < least_batches || error > settings.error)) {
    sum.add(batches->follow(sum.batches() * at_once, at_once));
    if (sum.batches() >= least_batches) error = sum.relative_error();
    if (!progress) continue;
    // The error falls with the root of the number.
    const double ratio = error / settings.error, likely = std::isfinite(error) ? sum.batches() * ratio * ratio : 0;
    progress(std::min(1.0, sum.batches() / std::clamp<double>(likely, least_batches, static_cast<double>(most))));
  }
  const std::int64_t decays = sum.batches() * at_once;
  const double each =
      ring_scatter::count_unit * 4 * std::numbers::pi * detectors.radius_mm * voxels.rate / static_cast<double>(decays);
  return {resampled(as_estimate(lattice, sum.sums(), each), sampling.lattice), decays, sum.recorded(), error};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
