// Single scatter: see single_scatter.hpp. What an estimate is made of; scatter_plan.hpp computes it.
#include "kernels/ring/scatter/single_scatter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/math/crystal_stopping.hpp"
#include "kernels/ring/scatter/ray_image.hpp"
#include "kernels/ring/scatter/scatter_plan.hpp"

namespace tofstream {

using ring_scatter::RayImage;

ScatterSampling ScatterSampling::of(double reach_mm, double half_length_mm, double tof_sigma_mm) {
  constexpr double radial_mm = 20, axial_mm = 40;
  constexpr int angles = 24;
  ScatterSampling made{.lattice = {}, .tof_sigma_mm = tof_sigma_mm};
  const auto samples = [](double reach, double spacing) {
    return 2 * static_cast<int>(std::ceil(reach / spacing)) + 1;
  };
  ScatterEstimate& to = made.lattice;
  to.size[0] = samples(reach_mm, radial_mm);
  to.radial_mm = static_cast<float>(2 * reach_mm / (to.size[0] - 1));
  to.size[1] = angles;
  to.size[2] = to.size[3] = std::max(2, static_cast<int>(std::ceil(2 * half_length_mm / axial_mm)) + 1);
  to.axial_mm = static_cast<float>(2 * half_length_mm / (to.size[2] - 1));
  if (tof_sigma_mm > 0) {
    to.size[4] = samples(reach_mm + 3 * tof_sigma_mm, tof_sigma_mm);
    to.tof_mm = static_cast<float>(tof_sigma_mm);
  }
  return made;
}

void require_lines(const ScatterSampling& sampling, const ScatterDetectors& detectors) {
  const ScatterEstimate& lattice = sampling.lattice;
  validate_lattice(lattice);
  const double reach = 0.5 * (lattice.size[0] - 1) * static_cast<double>(lattice.radial_mm);
  if (!(reach < 0.99 * detectors.radius_mm))
    throw std::invalid_argument(fmt::format("scatter on lines {:.0f} mm from the axis, with detectors at {:.0f} mm",
                                            reach, detectors.radius_mm));
  if (lattice.has_tof() && !(sampling.tof_sigma_mm > 0))
    throw std::invalid_argument("scatter by ToF needs the scanner's ToF resolution");
}

SingleScatter::SingleScatter(const Image& mu_per_mm, const ScatterDetectors& detectors, double point_mm,
                             double least_mu_per_mm)
    : detectors_(detectors) {
  ring_scatter::require_mu(mu_per_mm);
  ring_scatter::require_acceptance(detectors.energy);
  if (!(point_mm > 0 && point_mm <= 200))
    throw std::invalid_argument(fmt::format("scatter points {:g} mm apart: they must be in (0, 200]", point_mm));
  const Image mu = ring_scatter::in_coarse_voxels(mu_per_mm);
  mu_ = std::make_shared<const RayImage>(mu);
  set_points(mu, point_mm, least_mu_per_mm);
  set_table();
}

void SingleScatter::set_points(const Image& mu, double point_mm, double least_mu_per_mm) {
  struct Cell {
    double mu = 0, volume = 0;
    Vec3d moment;
  };
  std::map<std::array<int, 3>, Cell> cells;
  const Grid& grid = mu.grid;
  const double volume = static_cast<double>(grid.voxel_volume());
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const Vec3d at = grid.centre(i, j, k).as<double>();
        std::array<int, 3> place;
        for (int axis = 0; axis < 3; ++axis)
          place[static_cast<std::size_t>(axis)] = static_cast<int>(std::round(at[axis] / point_mm));
        const double mu_here = static_cast<double>(mu.voxels[grid.index(i, j, k)]);
        Cell& cell = cells[place];
        cell.mu += mu_here * volume;
        cell.volume += volume;
        cell.moment = cell.moment + mu_here * volume * at;
      }
  for (const auto& [place, cell] : cells)
    if (cell.mu > 0 && cell.mu >= least_mu_per_mm * cell.volume)
      points_.push_back({(1 / cell.mu) * cell.moment, compton_share_of_water * cell.mu});
  if (points_.empty())
    throw std::invalid_argument(
        fmt::format("no cell of the mu map has {:g} per cm: there is nothing that scatters", 10 * least_mu_per_mm));
  for (const ring_scatter::ScatterPoint& point : points_)
    if (!(std::hypot(point.at.x, point.at.y) < 0.95 * detectors_.radius_mm))
      throw std::invalid_argument(fmt::format(
          "the mu map reaches {:.0f} mm from the axis, to the detectors at {:.0f} mm: is it of this scanner, "
          "and in mm?",
          std::hypot(point.at.x, point.at.y), detectors_.radius_mm));
}

// At which photons meet crystals on average, to their depth.
constexpr double usual_cosine = 0.9;

void SingleScatter::set_table() {
  const EnergyAcceptance& energy = detectors_.energy;
  const double total = klein_nishina_total(electron_keV), share = energy.share(electron_keV);
  const double free_paths = static_cast<double>(detectors_.crystal.back) / usual_cosine;
  for (int n = 0; n <= ring_scatter::angles_of_table; ++n) {
    const double cosine = -1 + 2.0 * n / ring_scatter::angles_of_table, after_keV = scattered_keV(cosine);
    const double recorded = energy.share(after_keV) / share * stopped_ratio(after_keV, free_paths);
    angles_.push_back({klein_nishina_per_sr(cosine) / total * recorded, klein_nishina_total(after_keV) / total});
  }
}

void SingleScatter::set_lines(const ScatterEstimate& lattice, ring_scatter::ScatterPlan& plan) const {
  const int radial = lattice.size[0], angles = lattice.size[1], axial = lattice.size[2];
  const auto radius_mm = static_cast<float>(detectors_.radius_mm);
  // First those at which lines begin, then those at which they end, so that neighbours lie near one another.
  for (const auto which : {&Lor::end1, &Lor::end2})
    for (int p = 0; p < angles; ++p)
      for (int s = 0; s < radial; ++s)
        for (int z = 0; z < axial; ++z)
          plan.ends.push_back((lattice.line({s, p, z, z, 0}, radius_mm).*which).as<double>());
  const auto end = [&](int s, int p, int z, int which) {
    return static_cast<std::uint32_t>(((which * angles + p) * radial + s) * axial + z);
  };
  for (int b = 0; b < axial; ++b)
    for (int a = 0; a < axial; ++a)
      for (int p = 0; p < angles; ++p)
        for (int s = 0; s < radial; ++s) plan.lines.push_back({end(s, p, a, 0), end(s, p, b, 1)});
  plan.lines_apart = radial * angles;
  plan.inverse_own.resize(plan.lines.size());
  tbb::parallel_for(std::size_t{0}, plan.lines.size(), [&](std::size_t n) {
    const Vec3d from = plan.ends[plan.lines[n].a], to = plan.ends[plan.lines[n].b];
    const double length = norm(to - from);
    const Vec3d direction = (1 / length) * (to - from);
    // The pair's own efficiency but for 1 / (2 pi), which both have.
    const double own = ring_scatter::detector_response(detectors_.crystal, from, -1.0 * direction) *
                       ring_scatter::detector_response(detectors_.crystal, to, direction) / (length * length);
    plan.inverse_own[n] = static_cast<float>(1 / own);
  });
}

// ToF is followed in steps that are fine beside its response; where a value falls between two, both have a share.
void SingleScatter::set_spectrum(const ScatterSampling& sampling, ring_scatter::ScatterPlan& plan) const {
  const ScatterEstimate& lattice = sampling.lattice;
  plan.tof_samples = lattice.size[4];
  if (!lattice.has_tof()) return;
  constexpr double steps_a_sigma = 3;
  ring_scatter::SpectrumLaw& spectrum = plan.spectrum;
  spectrum.step_mm = sampling.tof_sigma_mm / steps_a_sigma;
  // What lies further out than six sigma beyond the samples is none of theirs.
  const double last_mm = 0.5 * (plan.tof_samples - 1) * static_cast<double>(lattice.tof_mm) + 6 * sampling.tof_sigma_mm;
  spectrum.half_steps = static_cast<int>(std::ceil(last_mm / spectrum.step_mm));
  spectrum.steps = 2 * spectrum.half_steps + 2;
  // Shares of two steps spread by h^2/6 on average, a leg's step by h^2/12.
  const double variance = sampling.tof_sigma_mm * sampling.tof_sigma_mm - 0.25 * spectrum.step_mm * spectrum.step_mm;
  for (int t = 0; t < plan.tof_samples; ++t)
    for (int j = 0; j < spectrum.steps; ++j) {
      const double apart = (t - 0.5 * (plan.tof_samples - 1)) * static_cast<double>(lattice.tof_mm) -
                           (j - spectrum.half_steps) * spectrum.step_mm;
      plan.tof_response.push_back(
          static_cast<float>(std::exp(-0.5 * apart * apart / variance) / std::sqrt(2 * std::numbers::pi * variance)));
    }
}

void SingleScatter::set_legs(const RayImage& activity, ring_scatter::ScatterPlan& plan) const {
  ring_scatter::LegLaw& law = plan.law;
  law.mu = mu_->view();
  law.activity = activity.view();
  law.box = ring_scatter::box_of(mu_->box(), activity.box());
  law.crystal = detectors_.crystal;
  constexpr double most_of_edge = 0.6;
  law.sample_mm = most_of_edge * std::min(mu_->least_edge(), activity.least_edge());
  const ring_scatter::SpectrumLaw& spectrum = plan.spectrum;
  if (!spectrum.has_tof()) return;
  law.samples_a_step = static_cast<int>(std::ceil(spectrum.step_mm / law.sample_mm));
  law.sample_mm = spectrum.step_mm / law.samples_a_step;
  const double diagonal = norm(law.box.high - law.box.low);  // no leg is longer
  law.steps = std::max(2, static_cast<int>(std::ceil(diagonal / spectrum.step_mm)));
}

ScatterEstimate SingleScatter::estimate(const Image& activity, const ScatterSampling& sampling, Backend backend,
                                        const std::function<void(std::int64_t)>& progress) const {
  ring_scatter::require_voxels(activity, "image");
  const RayImage emitted(ring_scatter::in_coarse_voxels(activity));
  require_lines(sampling, detectors_);
  ScatterEstimate made = sampling.lattice;
  ring_scatter::ScatterPlan plan;
  plan.points = points_;
  plan.angles = angles_;
  set_lines(made, plan);
  set_spectrum(sampling, plan);
  set_legs(emitted, plan);
  made.values = backend == Backend::cuda ? ring_scatter::scatter_on_cuda(plan, progress)
                                         : ring_scatter::scatter_on_cpu(plan, progress);
  return made;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
