// Random LORs: see workloads.hpp.
#include "kernels/ring/simulate/workloads.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/ring/simulate/chord.hpp"

namespace tofstream {

namespace {

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {
      {"W1", Grid::centred(75, 75, 26, {4, 4, 4}), 443, 180, {40.5f, 0}},
      {"W2-128", Grid::centred(128, 128, 128, {4, 4, 4}), 443, 180, {40.5f, 0}},
      {"W2-256", Grid::centred(256, 256, 256, {2, 2, 2}), 443, 180, {40.5f, 0}},
      {"W3", Grid::centred(200, 200, 300, {2, 2, 2}), 390, 1060, {13.6f, 0}},
  };
  return all;
}

/// Uniform in [0, 1) with 53 bits: std::uniform_real_distribution differs between libraries.
double uniform(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11) * 0x1p-53;
}

Vec3d point_on_wall(const Workload& workload, std::mt19937_64& generator) {
  const double angle = 2 * std::numbers::pi * uniform(generator);
  const double radius = static_cast<double>(workload.radius_mm);
  return {radius * std::cos(angle), radius * std::sin(angle),
          static_cast<double>(workload.length_mm) * (uniform(generator) - 0.5)};
}

}  // namespace

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const Workload& workload : workloads()) names.push_back(workload.name);
  return names;
}

Workload find_workload(std::string_view name) {
  for (const Workload& workload : workloads())
    if (workload.name == name) return workload;
  throw std::invalid_argument(
      fmt::format("no workload is called '{}': choose one of {}", name, fmt::join(workload_names(), ", ")));
}

EventBatch random_lors(const Workload& workload, std::int64_t count, std::uint64_t seed) {
  if (count < 0) throw std::invalid_argument(fmt::format("{} random LORs asked for", count));
  validate(workload.grid);
  EventBatch batch;
  batch.count = count;
  batch.tof = workload.tof;
  for (auto& end : batch.ends) end = Buffer<float>(Memory::host, count);
  const bool tof = workload.tof.sigma_mm > 0;
  if (tof) batch.tof_mm = Buffer<float>(Memory::host, count);
  std::mt19937_64 generator(seed);
  std::int64_t tries_left = 1000 * (count + 1000);
  for (std::int64_t i = 0; i < count;) {
    if (--tries_left < 0) throw std::runtime_error("hardly any line between the cylinder's walls crosses the image");
    const Vec3d a = point_on_wall(workload, generator), b = point_on_wall(workload, generator);
    const double position = uniform(generator);
    const Chord chord = chord_in_box(workload.grid, a, b);
    if (chord.empty()) continue;
    for (int axis = 0; axis < 3; ++axis) {
      batch.ends[axis][i] = static_cast<float>(a[axis]);
      batch.ends[3 + axis][i] = static_cast<float>(b[axis]);
    }
    const double t = chord.from + position * (chord.to - chord.from);
    if (tof) batch.tof_mm[i] = static_cast<float>((t - 0.5) * norm(b - a));
    ++i;
  }
  return batch;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
