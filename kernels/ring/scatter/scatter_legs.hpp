// What single scatter (single_scatter.hpp) computes of one leg, from a scatter point to a detector, and of two: for host
// and device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"
#include "kernels/types/geometric_efficiency.hpp"

namespace tofstream::ring_scatter {

struct RayBox {
  Vec3d low, high;

  /// How far along a direction the box ends.
  TOFSTREAM_HOST_DEVICE double way_out_mm(Vec3d from, Vec3d direction) const {
    double way = 1e30;
    for (int axis = 0; axis < 3; ++axis) {
      if (direction[axis] == 0) continue;
      const double here = ((direction[axis] > 0 ? high : low)[axis] - from[axis]) / direction[axis];
      way = here < way ? here : way;
    }
    return way > 0 ? way : 0;
  }
};

/// An image along rays: linear between voxels' centres, and to 0 at a voxel's edge beyond the outermost ones, where its
/// values are 0.
struct RayView {
  Vec3d origin_mm, edge_mm;  // of the first voxel's centre
  int size[3] = {};
  const float* values = nullptr;

  /// A point, or a step, in voxels.
  struct Place {
    float x, y, z;
  };
  TOFSTREAM_HOST_DEVICE Place place(Vec3d at_mm) const { return step(at_mm - origin_mm); }
  TOFSTREAM_HOST_DEVICE Place step(Vec3d by_mm) const {
    return {static_cast<float>(by_mm.x / edge_mm.x), static_cast<float>(by_mm.y / edge_mm.y),
            static_cast<float>(by_mm.z / edge_mm.z)};
  }
  /// At so many steps from a place.
  TOFSTREAM_HOST_DEVICE float at(const Place& from, const Place& step, float steps) const {
    const float x = from.x + steps * step.x, y = from.y + steps * step.y, z = from.z + steps * step.z;
    const auto is_in = [](float at, int of) { return at >= 0 && at < static_cast<float>(of - 1); };
    if (!is_in(x, size[0]) || !is_in(y, size[1]) || !is_in(z, size[2])) return 0;
    const int i = static_cast<int>(x), j = static_cast<int>(y), k = static_cast<int>(z);
    const float a = x - static_cast<float>(i), b = y - static_cast<float>(j), c = z - static_cast<float>(k);
    const std::ptrdiff_t line = size[0], plane = line * size[1];
    const float* const v = values + i + line * j + plane * k;
    const auto along_x = [&](const float* at) { return at[0] + a * (at[1] - at[0]); };
    const auto in_plane = [&](const float* at) { return along_x(at) + b * (along_x(at + line) - along_x(at)); };
    return in_plane(v) + c * (in_plane(v + plane) - in_plane(v));
  }
};

/// What lies between a scatter point and a detector.
struct alignas(16) Leg {  // a GPU loads it by halves
  Vec3 direction;         // from the point
  float length_mm = 0;
  float response = 0;  // of the detector to the point, 1/mm^2
  float attenuation = 0;
  std::int32_t begin = 0, end = 0;  // steps with activity
};

/// What a detector on a cylinder about the axis, which it faces, records of photons along `direction`; an area of 1.
TOFSTREAM_HOST_DEVICE inline double detector_response(const ElementResponse& crystal, Vec3d at, Vec3d direction) {
  const double radius = std::sqrt(at.x * at.x + at.y * at.y);
  const double cosine = (at.x * direction.x + at.y * direction.y) / radius;
  return static_cast<double>(element_response({1, crystal.front, crystal.back}, static_cast<float>(cosine)));
}

/// How legs are followed.
struct LegLaw {
  RayView mu, activity;
  RayBox box;  // of what they are not 0 in
  ElementResponse crystal;
  int steps = 1;           // of a leg's activity, by the distance from the point; 1: all of it, there is no ToF
  int samples_a_step = 1;  // with ToF
  double sample_mm = 1;

  /// Of a point and a detector. `activity_of_steps` gets the integrals of activity of the steps from the leg's begin to
  /// its end, `apart` floats from one to the next; what stands before and behind them means nothing.
  TOFSTREAM_HOST_DEVICE Leg follow(Vec3d from, Vec3d end, float* activity_of_steps, std::ptrdiff_t apart) const {
    const double length = norm(end - from);
    const Vec3d direction = (1 / length) * (end - from);
    const double way_out = box.way_out_mm(from, direction), way = way_out < length ? way_out : length;
    const int samples = static_cast<int>(std::ceil(way / sample_mm));
    const RayView::Place in_mu = mu.place(from), step_in_mu = mu.step(sample_mm * direction);
    const RayView::Place in_activity = activity.place(from), step_in_activity = activity.step(sample_mm * direction);
    Leg leg{direction.as<float>(),
            static_cast<float>(length),
            static_cast<float>(detector_response(crystal, end, direction) / (length * length)),
            0,
            0,
            0};
    double attenuation = 0;
    float of_step = 0;
    for (int k = 0, step = 0; k < samples; ++k) {
      const float at = static_cast<float>(k) + 0.5f;
      attenuation += static_cast<double>(mu.at(in_mu, step_in_mu, at)) * sample_mm;
      of_step += activity.at(in_activity, step_in_activity, at) * static_cast<float>(sample_mm);
      const int behind = (k + 1) / samples_a_step, next = behind < steps ? behind : steps - 1;
      if (k + 1 < samples && next == step) continue;
      if (leg.end == 0) leg.begin = step;
      if (of_step != 0 || leg.end > leg.begin) {
        activity_of_steps[step * apart] = of_step;
        leg.end = step + 1;
      }
      of_step = 0;
      step = next;
    }
    leg.attenuation = static_cast<float>(attenuation);
    return leg;
  }
};

inline constexpr int angles_of_table = 2048;

/// At one angle of scatter.
struct alignas(16) AngleEntry {
  double scattered = 0;  // p g per sr
  double ratio = 0;      // r
};

/// By the cosine of the angle of scatter, from -1 to 1 in angles_of_table steps.
struct AngleTable {
  const AngleEntry* entries = nullptr;
};

/// What the activity along each leg of a pair is multiplied with.
struct PairFactors {
  float of_a = 0, of_b = 0;  // 0: nothing is scattered by so much

  TOFSTREAM_HOST_DEVICE static PairFactors of(const AngleTable& table, double point_weight, const Leg& a,
                                              const Leg& b) {
    const double cosine = -static_cast<double>(dot(a.direction, b.direction));
    const double at = 0.5 * (cosine + 1) * angles_of_table;
    const int node = at <= 0 ? 0 : (at < angles_of_table - 1.0 ? static_cast<int>(at) : angles_of_table - 1);
    const double beyond = at - node;
    const AngleEntry low = table.entries[node], high = table.entries[node + 1];
    const double scattered = low.scattered + beyond * (high.scattered - low.scattered);
    if (!(scattered > 1e-12)) return {};
    const double ratio = low.ratio + beyond * (high.ratio - low.ratio);
    const double common = point_weight * scattered * static_cast<double>(a.response * b.response);
    const double of_a = static_cast<double>(a.attenuation), of_b = static_cast<double>(b.attenuation);
    return {static_cast<float>(common * std::exp(-of_a - ratio * of_b)),
            static_cast<float>(common * std::exp(-of_b - ratio * of_a))};
  }
};

/// Where a leg's steps lie in a spectrum of ToF: step k at `at` + sign k, and what is left of it one further.
struct StepsInSpectrum {
  int at = 0;
  float low = 0, high = 0;  // shares of a step
  int begin = 0, end = 0;   // steps within the spectrum, of which nothing lies outside but what no detectors can see

  template <int sign>
  TOFSTREAM_HOST_DEVICE static StepsInSpectrum of(const Leg& leg, float factor, double place, int spectrum_steps) {
    const double floor = std::floor(place);
    const auto share = static_cast<float>(place - floor);
    const int at = static_cast<int>(floor);
    const int first = sign > 0 ? -at : at + 2 - spectrum_steps, last = sign > 0 ? spectrum_steps - 1 - at : at + 1;
    return {at, factor * (1 - share), factor * share, leg.begin > first ? leg.begin : first,
            leg.end < last ? leg.end : last};
  }
};

/// Detectors at which lines end; a line's are numbers of these.
struct ScatterLine {
  std::uint32_t a = 0, b = 0;
};

/// A line's spectrum of ToF, in steps that are fine beside its response, and how it becomes samples.
struct SpectrumLaw {
  double step_mm = 1;
  int half_steps = 0, steps = 1;  // step half_steps lies in the middle of a line
  TOFSTREAM_HOST_DEVICE bool has_tof() const { return steps > 1; }

  /// Where the point of a pair lies in its spectrum. A decay at a distance d from the point, towards A, has its ToF at
  /// (a - b) / 2 - d from the middle towards B.
  TOFSTREAM_HOST_DEVICE double middle(const Leg& a, const Leg& b) const {
    return 0.5 * static_cast<double>(a.length_mm - b.length_mm) / step_mm + half_steps;
  }
  /// A sample of a spectrum, whose steps lie `apart` floats apart; `response` has its response to each step.
  TOFSTREAM_HOST_DEVICE float sample(const float* spectrum, std::ptrdiff_t apart, const float* response) const {
    if (!has_tof()) return spectrum[0];
    double sum = 0;
    for (int j = 0; j < steps; ++j) sum += static_cast<double>(response[j] * spectrum[j * apart]);
    return static_cast<float>(sum);
  }
};

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
