// Photons in a ring of flat modules: see ring_tracer.hpp.
#include "kernels/simulate/ring_tracer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

namespace tofstream {

RingTracer::RingTracer(const RingScanner& ring)
    : sectors_(ring.modules_transaxial),
      min_sector_difference_(ring.min_sector_difference),
      max_ring_difference_(ring.max_module_ring_difference),
      radius_(ring.inner_radius_mm),
      wedge_(std::tan(std::numbers::pi / ring.modules_transaxial)),
      rings_{ring.modules_axial, ring.module_pitch_axial_mm, 0.5 * ring.module_pitch_axial_mm},
      across_{ring.crystals_transaxial, ring.pitch_transaxial_mm, 0.5 * ring.crystal_transaxial_mm},
      along_{ring.crystals_axial, ring.pitch_axial_mm, 0.5 * ring.crystal_axial_mm} {
  validate(ring);
  // A single ring of modules has no axial pitch to speak of: its cell is the module.
  if (rings_.count == 1) rings_.pitch = 2 * (rings_.half_size = 0.5 * ring.axial_length_mm());
  for (int k = 0; k < sectors_; ++k) {
    const double angle = 2 * std::numbers::pi * k / sectors_;
    normals_.push_back({std::cos(angle), std::sin(angle)});
  }
  double back = 0;
  for (const CrystalLayer& layer : ring.layers) {
    layer_back_mm_.push_back(back += layer.depth_mm);
    layer_per_mm_.push_back(0.1 * layer.attenuation_per_cm);
  }
}

int RingTracer::Cells::find(double& x) const {
  const double place = x / pitch + 0.5 * count;
  if (!(place >= 0 && place < count)) return -1;
  const int cell = static_cast<int>(place);
  x = (place - cell - 0.5) * pitch;
  return std::abs(x) <= half_size ? cell : -1;
}

int RingTracer::sector_towards(Vec3d p, Vec3d u, double& path) const {
  // The ray leaves the circle inside the polygon at an angle that names the module or its
  // neighbour.
  const double a = u.x * u.x + u.y * u.y, b = p.x * u.x + p.y * u.y;
  const double c = p.x * p.x + p.y * p.y - radius_ * radius_;
  if (!(a > 0) || !(c < 0)) return -1;
  const double t = (std::sqrt(b * b - a * c) - b) / a;
  const double angle = std::atan2(p.y + t * u.y, p.x + t * u.x);
  const int guess = static_cast<int>(std::lround(angle * sectors_ / (2 * std::numbers::pi)));
  int sector = -1;
  for (int step = -1; step <= 1; ++step) {
    const int k = (guess + step + 2 * sectors_) % sectors_;
    const Normal n = normals_[static_cast<std::size_t>(k)];
    const double cosine = u.x * n.x + u.y * n.y;
    if (cosine <= 0) continue;
    const double reach = (radius_ - p.x * n.x - p.y * n.y) / cosine;
    if (sector < 0 || reach < path) {
      sector = k;
      path = reach;
    }
  }
  return sector;
}

std::optional<RingTracer::Hit> RingTracer::trace(Vec3d p, Vec3d u, double free_paths) const {
  double path = 0;
  int sector = sector_towards(p, u, path);
  if (sector < 0) return std::nullopt;
  Normal n = normals_[static_cast<std::size_t>(sector)];
  const double cosine = u.x * n.x + u.y * n.y;

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
    sector = (sector + (across > 0 ? 1 : sectors_ - 1)) % sectors_;
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
