// Pairs drawn and kept: see random_pairs.hpp.
#include "kernels/ring/simulate/random_pairs.hpp"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "kernels/ring/simulate/chord.hpp"
#include "kernels/simulate/random.hpp"

namespace tofstream {

namespace {

/// The centre of the ToF bin at `mm`; nothing outside the window.
std::optional<float> bin_centre(const TofModel& tof, double mm) {
  const auto width = static_cast<double>(tof.bin_width_mm), half = 0.5 * static_cast<double>(tof.window_mm);
  if (half > 0 && std::abs(mm) >= half) return std::nullopt;
  if (!(width > 0)) return static_cast<float>(mm);
  return static_cast<float>((std::floor((mm + half) / width) + 0.5) * width - half);
}

}  // namespace

EventBatch random_pairs(const std::shared_ptr<const Scanner>& scanner, const Grid& grid, std::int64_t count,
                        std::uint64_t seed) {
  if (count < 0) throw std::invalid_argument(fmt::format("{} random pairs asked for", count));
  validate(grid);
  EventBatch batch;
  batch.count = count;
  batch.scanner = scanner;
  batch.detectors = scanner->detectors;
  if (scanner->tof.size() == 1) batch.tof = scanner->tof.front();
  batch.detector1 = Buffer<std::uint32_t>(Memory::host, count);
  batch.detector2 = Buffer<std::uint32_t>(Memory::host, count);
  const bool tof = batch.tof.sigma_mm > 0;
  if (tof) batch.tof_mm = Buffer<float>(Memory::host, count);
  const auto detectors = static_cast<std::uint32_t>(scanner->detectors->size());
  RandomStream random(seed, 0);
  std::int64_t tries_left = 1000 * (count + 1000);
  for (std::int64_t i = 0; i < count;) {
    if (--tries_left < 0) throw std::runtime_error("hardly any line between two detectors crosses the image");
    std::uint32_t first = random.below(detectors), second = random.below(detectors);
    if (first < second) std::swap(first, second);
    const double position = random.uniform();
    const Vec3d a = scanner->detectors->position(first).as<double>();
    const Vec3d b = scanner->detectors->position(second).as<double>();
    const Chord chord = chord_in_box(grid, a, b);
    if (chord.empty() || !scanner->in_coincidence(first, second)) continue;
    if (tof) {
      const double t = chord.from + position * (chord.to - chord.from);
      const auto centre = bin_centre(batch.tof, (t - 0.5) * norm(b - a));
      if (!centre) continue;
      batch.tof_mm[i] = *centre;
    }
    batch.detector1[i] = first;
    batch.detector2[i] = second;
    ++i;
  }
  return batch;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
