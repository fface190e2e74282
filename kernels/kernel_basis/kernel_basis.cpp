// The rows of the kernel matrix: see kernel_basis.hpp.
#include "kernels/kernel_basis/kernel_basis.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

namespace tofstream {
namespace {

constexpr int widest_window = 15, widest_patch = 7;

void check_kernel_settings(const KernelBasisSettings& settings) {
  const auto check_edge = [](const char* name, int edge, int most) {
    if (edge < 1 || edge > most || edge % 2 == 0)
      throw std::invalid_argument(fmt::format("{} must be an odd number of voxels up to {}, not {}", name, most, edge));
  };
  check_edge("window", settings.window, widest_window);
  check_edge("patch", settings.patch, widest_patch);
  const int most = settings.window * settings.window * settings.window;
  if (settings.neighbours < 1 || settings.neighbours > most)
    throw std::invalid_argument(
        fmt::format("{} neighbours in a window of {} voxels: it holds {}", settings.neighbours, settings.window, most));
  if (!(settings.sigma > 0 && std::isfinite(settings.sigma)))
    throw std::invalid_argument(fmt::format("sigma must be positive, not {}", settings.sigma));
}

double anatomical_deviation(const Image& image) {
  double sum = 0, squares = 0;
  for (const float value : image.voxels.span()) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(image.voxels.size());
  for (const float value : image.voxels.span()) squares += std::pow(static_cast<double>(value) - mean, 2);
  return std::sqrt(squares / static_cast<double>(image.voxels.size()));
}

struct KernelPlace {
  int x, y, z;
};

KernelPlace operator+(const KernelPlace& a, const KernelPlace& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}

/// The offsets of a cube, x fastest.
std::vector<KernelPlace> cube_offsets(int edge) {
  std::vector<KernelPlace> places;
  const int reach = edge / 2;
  for (int z = -reach; z <= reach; ++z)
    for (int y = -reach; y <= reach; ++y)
      for (int x = -reach; x <= reach; ++x) places.push_back({x, y, z});
  return places;
}

/// Voxels within `reach` of a place along an axis.
std::int64_t voxels_within(int at, int reach, int size) {
  return std::min(at + reach, size - 1) - std::max(at - reach, 0) + 1;
}

struct Alike {
  double distance2, away_mm2;  // in the anatomical image, and in space
  std::int64_t voxel;
  bool operator<(const Alike& other) const {
    return std::tie(distance2, away_mm2, voxel) < std::tie(other.distance2, other.away_mm2, other.voxel);
  }
};

class KernelRows {
 public:
  KernelRows(const Image& anatomy, const KernelBasisSettings& settings)
      : anatomy_(anatomy),
        settings_(settings),
        window_(cube_offsets(settings.window)),
        patch_(cube_offsets(settings.patch)) {
    validate(anatomy.grid);
    check_kernel_settings(settings);
    if (anatomy.grid.voxels() > most_sparse_voxels)
      throw std::invalid_argument(fmt::format("{} voxels are too many for a kernel basis", anatomy.grid.voxels()));
    if (std::ranges::any_of(anatomy.voxels.span(), [](float value) { return !std::isfinite(value); }))
      throw std::invalid_argument("the anatomical image has a value that is not a finite number");
    deviation_ = anatomical_deviation(anatomy);
    if (!(deviation_ > 0))
      throw std::invalid_argument("the anatomical image is constant: it tells no voxel from another");
  }

  SparseRows make() const {
    const Grid& grid = anatomy_.grid;
    SparseRows rows{Buffer<std::int64_t>(Memory::host, grid.voxels() + 1), {}, {}};
    rows.begin[0] = 0;
    for (std::int64_t v = 0; v < grid.voxels(); ++v) rows.begin[v + 1] = rows.begin[v] + entries_of(place_of(v));
    const std::int64_t entries = rows.begin[grid.voxels()];
    rows.column = Buffer<std::int32_t>(Memory::host, entries);
    rows.weight = Buffer<float>(Memory::host, entries);
    tbb::parallel_for(0, grid.size[1] * grid.size[2], [&](int line) {
      std::vector<Alike> candidates;
      for (int x = 0; x < grid.size[0]; ++x) fill({x, line % grid.size[1], line / grid.size[1]}, candidates, rows);
    });
    return rows;
  }

 private:
  KernelPlace place_of(std::int64_t v) const {
    const int* size = anatomy_.grid.size;
    return {static_cast<int>(v % size[0]), static_cast<int>(v / size[0] % size[1]),
            static_cast<int>(v / size[0] / size[1])};
  }

  std::int64_t entries_of(const KernelPlace& at) const {
    const int reach = settings_.window / 2, *size = anatomy_.grid.size;
    return std::min<std::int64_t>(settings_.neighbours, voxels_within(at.x, reach, size[0]) *
                                                            voxels_within(at.y, reach, size[1]) *
                                                            voxels_within(at.z, reach, size[2]));
  }

  double value(const KernelPlace& at) const {
    const int* size = anatomy_.grid.size;
    return static_cast<double>(anatomy_.voxels[anatomy_.grid.index(
        std::clamp(at.x, 0, size[0] - 1), std::clamp(at.y, 0, size[1] - 1), std::clamp(at.z, 0, size[2] - 1))]);
  }

  double distance2(const KernelPlace& a, const KernelPlace& b) const {
    double sum = 0;
    for (const KernelPlace& offset : patch_) {
      const double difference = value(a + offset) - value(b + offset);
      sum += difference * difference;
    }
    return sum / (static_cast<double>(patch_.size()) * deviation_ * deviation_);
  }

  void find(const KernelPlace& at, std::vector<Alike>& candidates) const {
    const Grid& grid = anatomy_.grid;
    candidates.clear();
    for (const KernelPlace& offset : window_) {
      const KernelPlace to = at + offset;
      if (to.x < 0 || to.x >= grid.size[0] || to.y < 0 || to.y >= grid.size[1] || to.z < 0 || to.z >= grid.size[2])
        continue;
      const Vec3d away = {offset.x * static_cast<double>(grid.voxel_mm.x),
                          offset.y * static_cast<double>(grid.voxel_mm.y),
                          offset.z * static_cast<double>(grid.voxel_mm.z)};
      candidates.push_back({distance2(at, to), dot(away, away), grid.index(to.x, to.y, to.z)});
    }
  }

  void fill(const KernelPlace& at, std::vector<Alike>& candidates, SparseRows& rows) const {
    find(at, candidates);
    const std::int64_t first = rows.begin[anatomy_.grid.index(at.x, at.y, at.z)];
    const auto chosen = candidates.begin() + entries_of(at);
    std::nth_element(candidates.begin(), chosen - 1, candidates.end());
    std::sort(candidates.begin(), chosen, [](const Alike& a, const Alike& b) { return a.voxel < b.voxel; });
    const auto weight = [&](const Alike& alike) {
      return std::exp(-alike.distance2 / (2 * settings_.sigma * settings_.sigma));
    };
    double sum = 0;
    for (auto alike = candidates.begin(); alike != chosen; ++alike) sum += weight(*alike);
    std::int64_t entry = first;
    for (auto alike = candidates.begin(); alike != chosen; ++alike, ++entry) {
      rows.column[entry] = static_cast<std::int32_t>(alike->voxel);
      rows.weight[entry] = static_cast<float>(weight(*alike) / sum);
    }
  }

  const Image& anatomy_;
  const KernelBasisSettings settings_;
  const std::vector<KernelPlace> window_, patch_;
  double deviation_ = 0;
};

}  // namespace

SparseRows kernel_basis_rows(const Image& anatomy, const KernelBasisSettings& settings) {
  return KernelRows(anatomy, settings).make();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
