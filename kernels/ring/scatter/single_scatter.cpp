// Single scatter on the CPU: see single_scatter.hpp.
#include "kernels/ring/scatter/single_scatter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/analysis/block_means.hpp"

namespace tofstream {

namespace {

constexpr int angles_of_table = 2048;

struct RayBox {
  Vec3d low, high;
};

/// The box that holds two.
RayBox box_of(const RayBox& one, const RayBox& other) {
  RayBox box;
  for (int axis = 0; axis < 3; ++axis) {
    box.low.set(axis, std::min(one.low[axis], other.low[axis]));
    box.high.set(axis, std::max(one.high[axis], other.high[axis]));
  }
  return box;
}

/// How far along a direction a box ends.
double way_out_mm(Vec3d from, Vec3d direction, const RayBox& box) {
  double way = std::numeric_limits<double>::max();
  for (int axis = 0; axis < 3; ++axis) {
    if (direction[axis] == 0) continue;
    way = std::min(way, ((direction[axis] > 0 ? box.high : box.low)[axis] - from[axis]) / direction[axis]);
  }
  return std::max(way, 0.0);
}

/// Scatter is smooth: voxels of 8 mm show all of it.
Image in_coarse_voxels(const Image& image) {
  constexpr float wanted_mm = 8;
  std::array<int, 3> factors;
  for (int axis = 0; axis < 3; ++axis)
    factors[static_cast<std::size_t>(axis)] =
        std::clamp(static_cast<int>(wanted_mm / image.grid.voxel_mm[axis]), 1, image.grid.size[axis]);
  return block_means(image, factors);
}

void require_voxels(const Image& image, const char* name) {
  if (image.grid.has_blobs()) throw std::invalid_argument(fmt::format("the {} is of blobs: take one of voxels", name));
  validate(image.grid);
  for (const float value : image.voxels.span())
    if (!(value >= 0 && std::isfinite(value)))
      throw std::invalid_argument(
          fmt::format("the {} holds {}: scatter needs values that are finite and not negative", name, value));
}

void require_mu(const Image& mu) {
  const float most = std::ranges::max(mu.voxels.span());
  constexpr float most_per_mm = 0.1f, least_per_mm = 0.001f;  // lead has 0.18, bone 0.017, water 0.0096
  if (most > most_per_mm)
    throw std::invalid_argument(fmt::format(
        "the mu map goes up to {:g} per cm: are these Hounsfield units? `tofstream mu-map` makes a map of them",
        10 * most));
  if (most < least_per_mm)
    throw std::invalid_argument(
        fmt::format("the mu map goes up to {:g} per cm, and water has 0.096: is it per mm, or empty?", 10 * most));
}

void require_acceptance(const EnergyAcceptance& energy) {
  if (!(energy.low_keV > 0 && energy.low_keV < electron_keV && energy.high_keV > electron_keV))
    throw std::invalid_argument(
        fmt::format("an energy window of {:g} to {:g} keV does not hold 511 keV", energy.low_keV, energy.high_keV));
  if (!(energy.resolution > 0 && energy.resolution < 1))
    throw std::invalid_argument(
        fmt::format("an energy resolution of {:g}: give the width at half maximum as a share of 511 keV, such as 0.1",
                    energy.resolution));
}

/// What a detector on a cylinder about the axis records of a photon that comes along `direction`, an area of 1.
double response(const ElementResponse& crystal, Vec3d at, Vec3d direction) {
  const double radius = std::hypot(at.x, at.y);
  const double cosine = (at.x * direction.x + at.y * direction.y) / radius;
  return static_cast<double>(element_response({1, crystal.front, crystal.back}, static_cast<float>(cosine)));
}

}  // namespace

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

/// Detectors at which lines end; a line's are numbers of these.
struct SingleScatter::Ends {
  std::vector<Vec3d> at;
  struct Line {
    std::size_t a = 0, b = 0;
    std::size_t sample = 0;  // of the first ToF
  };
  std::vector<Line> lines;
  std::size_t samples = 0;  // of one ToF

  explicit Ends(const ScatterEstimate& lattice, double radius_mm) {
    const int radial = lattice.size[0], angles = lattice.size[1], axial = lattice.size[2];
    samples = static_cast<std::size_t>(radial) * static_cast<std::size_t>(angles) * static_cast<std::size_t>(axial) *
              static_cast<std::size_t>(axial);
    const auto end = [&](int s, int p, int z, int which) {
      return static_cast<std::size_t>(((p * radial + s) * axial + z) * 2 + which);
    };
    for (int p = 0; p < angles; ++p)
      for (int s = 0; s < radial; ++s)
        for (int z = 0; z < axial; ++z) {
          const Lor lor = lattice.line({s, p, z, z, 0}, static_cast<float>(radius_mm));
          at.push_back(lor.end1.as<double>());
          at.push_back(lor.end2.as<double>());
        }
    std::size_t sample = 0;
    for (int b = 0; b < axial; ++b)
      for (int a = 0; a < axial; ++a)
        for (int p = 0; p < angles; ++p)
          for (int s = 0; s < radial; ++s) lines.push_back({end(s, p, a, 0), end(s, p, b, 1), sample++});
  }
};

/// What lies between some scatter points and all ends: [point][end].
struct SingleScatter::Legs {
  struct Leg {
    Vec3Of<float> direction;  // from the point
    float length_mm = 0, response = 0, attenuation = 0;
    std::int32_t begin = 0, end = 0;  // steps with activity
  };
  std::vector<Leg> legs;
  std::vector<float> activity;  // [point][end][step]: integrals, by the distance from the point

  template <int sign>
  static void add_leg(const float* activity, const Leg& leg, float factor, double place, float* spectrum, int steps);
};

/// An image along rays: linear between voxels' centres, and to 0 at a voxel's edge beyond the outermost ones.
class SingleScatter::RayImage {
 public:
  explicit RayImage(const Image& image) : origin_(image.grid.origin_mm.as<double>()) {
    for (int axis = 0; axis < 3; ++axis) {
      edge_.set(axis, static_cast<double>(image.grid.voxel_mm[axis]));
      size_[axis] = image.grid.size[axis] + 2;
      last_[axis] = static_cast<float>(size_[axis] - 1);
    }
    // With zeros all about it.
    values_.assign(
        static_cast<std::size_t>(size_[0]) * static_cast<std::size_t>(size_[1]) * static_cast<std::size_t>(size_[2]),
        0.0f);
    for (int k = 0; k < image.grid.size[2]; ++k)
      for (int j = 0; j < image.grid.size[1]; ++j)
        std::copy_n(image.voxels.data() + image.grid.index(0, j, k), image.grid.size[0],
                    values_.data() + index(1, j + 1, k + 1));
  }
  /// All where it is not 0.
  RayBox box() const {
    const Vec3d low = origin_ - edge_;
    return {low, low + Vec3d{(size_[0] - 1) * edge_.x, (size_[1] - 1) * edge_.y, (size_[2] - 1) * edge_.z}};
  }
  double least_edge() const { return std::min({edge_.x, edge_.y, edge_.z}); }

  /// A point, or a step, in voxels.
  struct Place {
    float x, y, z;
  };
  Place place(Vec3d at) const { return step(at - (origin_ - edge_)); }
  Place step(Vec3d by) const {
    return {static_cast<float>(by.x / edge_.x), static_cast<float>(by.y / edge_.y), static_cast<float>(by.z / edge_.z)};
  }
  /// At so many steps from a place.
  float at(const Place& from, const Place& step, float steps) const {
    const float x = from.x + steps * step.x, y = from.y + steps * step.y, z = from.z + steps * step.z;
    if (!(x >= 0 && y >= 0 && z >= 0 && x < last_[0] && y < last_[1] && z < last_[2])) return 0;
    const int i = static_cast<int>(x), j = static_cast<int>(y), k = static_cast<int>(z);
    const float a = x - static_cast<float>(i), b = y - static_cast<float>(j), c = z - static_cast<float>(k);
    const float* const v = values_.data() + index(i, j, k);
    const std::size_t line = static_cast<std::size_t>(size_[0]), plane = line * static_cast<std::size_t>(size_[1]);
    const auto along_x = [&](const float* at) { return at[0] + a * (at[1] - at[0]); };
    const auto in_plane = [&](const float* at) { return along_x(at) + b * (along_x(at + line) - along_x(at)); };
    return in_plane(v) + c * (in_plane(v + plane) - in_plane(v));
  }

 private:
  std::size_t index(int i, int j, int k) const {
    return static_cast<std::size_t>(i) +
           static_cast<std::size_t>(size_[0]) *
               (static_cast<std::size_t>(j) + static_cast<std::size_t>(size_[1]) * static_cast<std::size_t>(k));
  }

  Vec3d origin_, edge_;
  int size_[3];
  float last_[3];
  std::vector<float> values_;
};

SingleScatter::SingleScatter(const Image& mu_per_mm, const ScatterDetectors& detectors, double point_mm,
                             double least_mu_per_mm)
    : detectors_(detectors) {
  require_voxels(mu_per_mm, "mu map");
  require_mu(mu_per_mm);
  require_acceptance(detectors.energy);
  if (!(point_mm > 0 && point_mm <= 200))
    throw std::invalid_argument(fmt::format("scatter points {:g} mm apart: they must be in (0, 200]", point_mm));
  const Image mu = in_coarse_voxels(mu_per_mm);
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
  for (const Point& point : points_)
    if (!(std::hypot(point.at.x, point.at.y) < 0.95 * detectors_.radius_mm))
      throw std::invalid_argument(fmt::format(
          "the mu map reaches {:.0f} mm from the axis, to the detectors at {:.0f} mm: is it of this scanner, "
          "and in mm?",
          std::hypot(point.at.x, point.at.y), detectors_.radius_mm));
}

void SingleScatter::set_table() {
  const EnergyAcceptance& energy = detectors_.energy;
  const double total = klein_nishina_total(electron_keV), share = energy.share(electron_keV);
  for (int n = 0; n <= angles_of_table; ++n) {
    const double cosine = -1 + 2.0 * n / angles_of_table, after_keV = scattered_keV(cosine);
    scattered_.push_back(klein_nishina_per_sr(cosine) / total * energy.share(after_keV) / share);
    ratio_.push_back(klein_nishina_total(after_keV) / total);
  }
}

SingleScatter::Legs SingleScatter::legs_of(const RayImage& activity, const std::vector<Point>& points, const Ends& ends,
                                           double leg_mm, int legs) const {
  const RayImage& mu = *mu_;
  const RayBox box = box_of(mu.box(), activity.box());
  const double wanted_mm = 0.5 * std::min(mu.least_edge(), activity.least_edge());
  const bool has_tof = legs > 1;
  const int steps_a_leg = has_tof ? static_cast<int>(std::ceil(leg_mm / wanted_mm)) : 1;
  const double step_mm = has_tof ? leg_mm / steps_a_leg : wanted_mm;
  Legs made;
  made.legs.resize(points.size() * ends.at.size());
  made.activity.assign(made.legs.size() * static_cast<std::size_t>(legs), 0.0f);
  tbb::parallel_for(std::size_t{0}, made.legs.size(), [&](std::size_t n) {
    const Vec3d from = points[n / ends.at.size()].at, end = ends.at[n % ends.at.size()];
    const double length = norm(end - from);
    const Vec3d direction = (1 / length) * (end - from);
    const double way = std::min(way_out_mm(from, direction, box), length);
    double attenuation = 0;
    float* const of_legs = made.activity.data() + n * static_cast<std::size_t>(legs);
    const int steps = static_cast<int>(std::ceil(way / step_mm));
    const RayImage::Place in_mu = mu.place(from), step_in_mu = mu.step(step_mm * direction),
                          in_activity = activity.place(from), step_in_activity = activity.step(step_mm * direction);
    for (int k = 0; k < steps; ++k) {
      const float at = static_cast<float>(k) + 0.5f;
      attenuation += static_cast<double>(mu.at(in_mu, step_in_mu, at)) * step_mm;
      const int leg = has_tof ? std::min(k / steps_a_leg, legs - 1) : 0;
      of_legs[leg] += activity.at(in_activity, step_in_activity, at) * static_cast<float>(step_mm);
    }
    int begin = 0, end_of_steps = legs;
    while (begin < end_of_steps && of_legs[begin] == 0) ++begin;
    while (end_of_steps > begin && of_legs[end_of_steps - 1] == 0) --end_of_steps;
    made.legs[n] = {direction.as<float>(),
                    static_cast<float>(length),
                    static_cast<float>(response(detectors_.crystal, end, direction) / (length * length)),
                    static_cast<float>(attenuation),
                    begin,
                    end_of_steps};
  });
  return made;
}

/// Adds a leg's activity to a spectrum of ToF, times a factor: step k at place + sign k, shared out between two steps.
template <int sign>
void SingleScatter::Legs::add_leg(const float* activity, const Leg& leg, float factor, double place, float* spectrum,
                                  int steps) {
  const double floor = std::floor(place);
  const auto at = static_cast<int>(floor);
  const auto share = static_cast<float>(place - floor);
  const float low = factor * (1 - share), high = factor * share;
  // Within the spectrum, of which nothing lies outside but what no detectors can see.
  const int begin = std::max(leg.begin, sign > 0 ? -at : at + 2 - steps);
  const int end = std::min(leg.end, sign > 0 ? steps - 1 - at : at + 1);
  for (int k = begin; k < end; ++k) spectrum[at + sign * k] += low * activity[k];
  for (int k = begin; k < end; ++k) spectrum[at + sign * k + 1] += high * activity[k];
}

ScatterEstimate SingleScatter::estimate(const Image& activity, const ScatterSampling& sampling,
                                        const std::function<void(std::int64_t)>& progress) const {
  require_voxels(activity, "image");
  const RayImage emitted(in_coarse_voxels(activity));
  ScatterEstimate made = sampling.lattice;
  const Ends ends(made, detectors_.radius_mm);
  const auto tof_samples = static_cast<std::size_t>(made.size[4]);
  made.values.assign(ends.samples * tof_samples, 0.0f);
  validate(made);
  const double reach = 0.5 * (made.size[0] - 1) * static_cast<double>(made.radial_mm);
  if (!(reach < 0.99 * detectors_.radius_mm))
    throw std::invalid_argument(fmt::format("scatter on lines {:.0f} mm from the axis, with detectors at {:.0f} mm",
                                            reach, detectors_.radius_mm));
  if (made.has_tof() && !(sampling.tof_sigma_mm > 0))
    throw std::invalid_argument("scatter by ToF needs the scanner's ToF resolution");
  // ToF is followed in steps that are fine beside its response; where a value falls between two, both have a share.
  constexpr double steps_a_sigma = 3;
  const double step_mm = made.has_tof() ? sampling.tof_sigma_mm / steps_a_sigma : 1;
  const double most_mm = 2 * detectors_.radius_mm;
  const int half_steps = made.has_tof() ? static_cast<int>(std::ceil(most_mm / step_mm)) : 0;
  const int steps = made.has_tof() ? 2 * half_steps + 2 : 1;
  const RayBox box = box_of(mu_->box(), emitted.box());
  const double diagonal = norm(box.high - box.low);  // no leg is longer
  const int legs = made.has_tof() ? std::max(2, static_cast<int>(std::ceil(diagonal / step_mm))) : 1;
  std::vector<float> spectra(ends.lines.size() * static_cast<std::size_t>(steps), 0.0f);

  constexpr std::size_t most_floats = std::size_t{32} << 20;
  const std::size_t at_once =
      std::clamp<std::size_t>(most_floats / (ends.at.size() * static_cast<std::size_t>(legs + 8)), 1, points_.size());
  for (std::size_t first = 0; first < points_.size(); first += at_once) {
    const std::vector<Point> part(
        points_.begin() + static_cast<std::ptrdiff_t>(first),
        points_.begin() + static_cast<std::ptrdiff_t>(std::min(first + at_once, points_.size())));
    if (progress) progress(static_cast<std::int64_t>(first));
    const Legs table = legs_of(emitted, part, ends, step_mm, legs);
    tbb::parallel_for(std::size_t{0}, ends.lines.size(), [&](std::size_t n) {
      const Ends::Line& line = ends.lines[n];
      float* const spectrum = spectra.data() + n * static_cast<std::size_t>(steps);
      for (std::size_t p = 0; p < part.size(); ++p) {
        const std::size_t at_a = p * ends.at.size() + line.a, at_b = p * ends.at.size() + line.b;
        const Legs::Leg &a = table.legs[at_a], &b = table.legs[at_b];
        const double cosine = -static_cast<double>(dot(a.direction, b.direction));
        const double of_table = 0.5 * (cosine + 1) * angles_of_table;
        const auto node = static_cast<std::size_t>(std::clamp(of_table, 0.0, angles_of_table - 1.0));
        const double beyond = of_table - static_cast<double>(node);
        const double scattered = scattered_[node] + beyond * (scattered_[node + 1] - scattered_[node]);
        if (!(scattered > 1e-12)) continue;
        const double ratio = ratio_[node] + beyond * (ratio_[node + 1] - ratio_[node]);
        const double common = part[p].weight * scattered * static_cast<double>(a.response * b.response);
        const auto of_a = static_cast<float>(
            common * std::exp(-static_cast<double>(a.attenuation) - ratio * static_cast<double>(b.attenuation)));
        const auto of_b = static_cast<float>(
            common * std::exp(-static_cast<double>(b.attenuation) - ratio * static_cast<double>(a.attenuation)));
        const float* const along_a = table.activity.data() + at_a * static_cast<std::size_t>(legs);
        const float* const along_b = table.activity.data() + at_b * static_cast<std::size_t>(legs);
        if (!made.has_tof()) {
          spectrum[0] += of_a * along_a[0] + of_b * along_b[0];
          continue;
        }
        // A decay at a distance d from the point, towards A, has its ToF at (a - b) / 2 - d from the middle towards B.
        const double apart = 0.5 * static_cast<double>(a.length_mm - b.length_mm) / step_mm + half_steps;
        Legs::add_leg<-1>(along_a, a, of_a, apart - 0.5, spectrum, steps);
        Legs::add_leg<1>(along_b, b, of_b, apart + 0.5, spectrum, steps);
      }
    });
  }

  // Shares of two steps spread by h^2/6 on average, a leg's step by h^2/12.
  const double variance = made.has_tof() ? sampling.tof_sigma_mm * sampling.tof_sigma_mm - 0.25 * step_mm * step_mm : 1;
  std::vector<float> kernel;
  for (std::size_t t = 0; made.has_tof() && t < tof_samples; ++t)
    for (int j = 0; j < steps; ++j) {
      const double apart =
          (static_cast<double>(t) - 0.5 * static_cast<double>(tof_samples - 1)) * static_cast<double>(made.tof_mm) -
          (j - half_steps) * step_mm;
      kernel.push_back(
          static_cast<float>(std::exp(-0.5 * apart * apart / variance) / std::sqrt(2 * std::numbers::pi * variance)));
    }
  tbb::parallel_for(std::size_t{0}, ends.lines.size(), [&](std::size_t n) {
    const Ends::Line& line = ends.lines[n];
    const Vec3d from = ends.at[line.a], to = ends.at[line.b];
    const double length = norm(to - from);
    const Vec3d direction = (1 / length) * (to - from);
    // The pair's own efficiency but for 1 / (2 pi), which both have.
    const double own = response(detectors_.crystal, from, -1.0 * direction) *
                       response(detectors_.crystal, to, direction) / (length * length);
    const float* const spectrum = spectra.data() + n * static_cast<std::size_t>(steps);
    for (std::size_t t = 0; t < tof_samples; ++t) {
      double sum = made.has_tof() ? 0 : static_cast<double>(spectrum[0]);
      for (int j = 0; made.has_tof() && j < steps; ++j)
        sum += static_cast<double>(kernel[t * static_cast<std::size_t>(steps) + static_cast<std::size_t>(j)] *
                                   spectrum[j]);
      made.values[line.sample + t * ends.samples] = static_cast<float>(sum / own);
    }
  });
  return made;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
