// Photons in a ring of flat modules: see ring_tracer.hpp.
#include "kernels/ring/simulate/ring_tracer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

namespace tofstream {
namespace {

// Steps around the ring a sector: enough that most photons are looked for where they arrive.
constexpr int steps_a_sector = 16;

}  // namespace

RingTracer::Cells RingTracer::ring_cells(const RingScanner& ring) {
  // A single ring of modules has no axial pitch: its cell is the module.
  const double pitch = ring.modules_axial > 1 ? ring.module_pitch_axial_mm : ring.axial_length_mm();
  return {ring.modules_axial, pitch, pitch};
}

RingTracer::RingTracer(const RingScanner& ring)
    : sectors_(ring.modules_transaxial),
      min_sector_difference_(ring.min_sector_difference),
      max_ring_difference_(ring.max_module_ring_difference),
      radius_(ring.inner_radius_mm),
      wedge_(std::tan(std::numbers::pi / ring.modules_transaxial)),
      rings_(ring_cells(ring)),
      across_(ring.crystals_transaxial, ring.pitch_transaxial_mm, ring.crystal_transaxial_mm),
      along_(ring.crystals_axial, ring.pitch_axial_mm, ring.crystal_axial_mm) {
  validate(ring);
  for (int k = 0; k < sectors_; ++k) {
    const double angle = 2 * std::numbers::pi * k / sectors_;
    normals_.push_back({std::cos(angle), std::sin(angle)});
  }
  double back = 0;
  for (const CrystalLayer& layer : ring.layers) {
    layer_back_mm_.push_back(back += layer.depth_mm);
    layer_per_mm_.push_back(0.1 * layer.attenuation_per_cm);
    free_paths_ += layer.depth_mm * layer_per_mm_.back();
  }
  const int steps = steps_a_sector * sectors_;
  for (int i = 0; i < steps; ++i) {  // the inverse of sector_near(), at the middle of each step
    const double turn = 4 * (i + 0.5) / steps;
    const double y = turn < 2 ? turn - 1 : 3 - turn, x = (turn < 2 ? 1 : -1) * (1 - std::abs(y));
    const auto sector = std::lround(std::atan2(y, x) * sectors_ / (2 * std::numbers::pi));
    sectors_near_.push_back(static_cast<int>((sector + sectors_) % sectors_));
  }
}

int RingTracer::Cells::find(double& x) const {
  const double place = x * per_mm + 0.5 * count;
  if (!(place >= 0 && place < count)) return -1;
  const int cell = static_cast<int>(place);
  x = (place - cell - 0.5) * pitch;
  return std::abs(x) <= half_size ? cell : -1;
}

int RingTracer::sector_near(Vec3d p) const {
  // y / (|x| + |y|) grows with the angle as atan2 does, at the cost of a division.
  const double slope = p.y / (std::abs(p.x) + std::abs(p.y));
  const double turn = 2 - std::copysign(1 - slope, p.x);
  const auto step = static_cast<std::size_t>(0.25 * static_cast<double>(sectors_near_.size()) * turn);
  return sectors_near_[std::min(step, sectors_near_.size() - 1)];
}

RingTracer::Entry RingTracer::enter(Vec3d p, Vec3d u, double circle_mm) const {
  // Around the polygon until the ray crosses a side between its ends: a crossing beyond an end, or the
  // drift of a ray away from a side, says which way that is.
  const double half_width = radius_ * wedge_ * (1 + 1e-12);  // at a corner either side will do
  for (int sector = sector_near(p + circle_mm * u);;) {
    const Normal n = normals_[static_cast<std::size_t>(sector)];
    const double cosine = u.x * n.x + u.y * n.y, drift = n.x * u.y - n.y * u.x;
    double across = drift;
    if (cosine > 0) {
      const double path = (radius_ - p.x * n.x - p.y * n.y) / cosine;
      across = n.x * p.y - n.y * p.x + path * drift;
      if (std::abs(across) <= half_width) return Entry{sector, path, cosine};
    }
    sector = next_sector(sector, across);
  }
}

std::optional<RingTracer::Hit> RingTracer::interact(Vec3d p, Vec3d u, const Entry& entry, double free_paths) const {
  auto [sector, path, cosine] = entry;
  Normal n = normals_[static_cast<std::size_t>(sector)];
  double remaining = free_paths * cosine, depth = 0;
  std::size_t layer = 0;
  for (; layer < layer_back_mm_.size(); ++layer) {
    const double thickness = layer_back_mm_[layer] - depth;
    if (remaining < thickness * layer_per_mm_[layer]) break;
    remaining -= thickness * layer_per_mm_[layer];
    depth = layer_back_mm_[layer];
  }
  if (layer == layer_back_mm_.size()) return std::nullopt;
  depth += remaining / layer_per_mm_[layer];
  path += depth / cosine;

  const Vec3d q = p + path * u;
  double across = n.x * q.y - n.y * q.x;
  if (std::abs(across) > (radius_ + depth) * wedge_) {  // it crossed into the neighbour's slab
    sector = next_sector(sector, across);
    n = normals_[static_cast<std::size_t>(sector)];
    across = n.x * q.y - n.y * q.x;
    depth = q.x * n.x + q.y * n.y - radius_;
    layer = static_cast<std::size_t>(std::ranges::upper_bound(layer_back_mm_, depth) - layer_back_mm_.begin());
    if (layer == layer_back_mm_.size()) return std::nullopt;
  }
  double along = q.z;
  const int ring = rings_.find(along), row = ring < 0 ? -1 : along_.find(along);
  const int column = row < 0 ? -1 : across_.find(across);
  if (column < 0) return std::nullopt;
  const auto module = static_cast<std::uint32_t>(sector + sectors_ * ring);
  const auto per_layer = static_cast<std::uint32_t>(across_.count * along_.count);
  const auto element =
      static_cast<std::uint32_t>(column + across_.count * row) + per_layer * static_cast<std::uint32_t>(layer);
  const auto elements = per_layer * static_cast<std::uint32_t>(layer_back_mm_.size());
  return Hit{element + elements * module, module, path};
}

bool RingTracer::in_coincidence(std::uint32_t module1, std::uint32_t module2) const {
  const auto m1 = static_cast<int>(module1), m2 = static_cast<int>(module2);
  const int step = std::abs(m1 % sectors_ - m2 % sectors_);
  return std::min(step, sectors_ - step) >= min_sector_difference_ &&
         std::abs(m1 / sectors_ - m2 / sectors_) <= max_ring_difference_;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
