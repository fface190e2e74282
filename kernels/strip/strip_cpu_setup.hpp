// What the strip projector on the CPU keeps: tables that all threads share, and arrays for an event at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/memory/memory.hpp"
#include "kernels/strip/sensitivity.hpp"
#include "kernels/strip/strip.hpp"

namespace tofstream {

/// Floats after an image, and after a table of pixels, that whole vectors may reach.
inline constexpr std::int64_t strip_padding = 16;

/// What all threads share: the settings, and the angles of each pixel for the full form.
struct StripSetup {
  Grid grid;
  StripSettings settings;
  std::vector<float> y;  // of each row of pixels; beyond the last, far away
  std::vector<float> low, high;
  float per_y, per_z;  // 1 / edges of a pixel

  static StripSetup make(const Grid& grid, const StripSettings& settings) {
    StripSetup setup{grid, settings, {}, {}, {}, 1 / grid.voxel_mm.y, 1 / grid.voxel_mm.z};
    for (int j = 0; j < grid.size[1]; ++j) setup.y.push_back(grid.centre(0, j, 0).y);
    setup.y.resize(setup.y.size() + 2 * strip_padding, 1e9f);
    if (settings.form != StripForm::full) return setup;
    for (const StripAngles<float>& angles : strip_pixel_angles(settings.geometry, grid)) {
      setup.low.push_back(angles.low);
      setup.high.push_back(angles.high);
    }
    setup.low.resize(setup.low.size() + strip_padding, 0.0f);
    setup.high.resize(setup.high.size() + strip_padding, 0.0f);
    return setup;
  }

  /// Whether a decay in each pixel can be seen, which the full form alone knows.
  std::vector<bool> visible() const {
    std::vector<bool> seen(static_cast<std::size_t>(grid.voxels()), true);
    if (settings.form == StripForm::full)
      for (std::size_t v = 0; v < seen.size(); ++v) seen[v] = low[v] < high[v];
    return seen;
  }
};

/// Arrays for one event at a time.
struct StripStore {
  struct Pass {
    int first = 0, last = -1;  // columns of the image
    int count() const { return last - first + 1; }
  };
  StripStore(const Grid& grid, std::int64_t lanes) : passes(static_cast<std::size_t>(grid.size[1] / lanes + 1)) {
    const std::int64_t columns = grid.size[2] + strip_padding;
    numbers = Buffer<float>(Memory::host, 6 * columns);
    for (int c = 0; c < 6; ++c) coefficient[c] = numbers.data() + c * columns;
    first = Buffer<std::int32_t>(Memory::host, columns);
    const std::int64_t vectors = grid.size[2] * static_cast<std::int64_t>(passes.size());
    offsets = Buffer<std::int32_t>(Memory::host, vectors);
    weights = Buffer<float>(Memory::host, vectors * lanes);
    nearer = Buffer<float>(Memory::host, columns * lanes);
    farther = Buffer<float>(Memory::host, columns * lanes);
    cut = Buffer<std::int32_t>(Memory::host, columns);
  }
  std::vector<Pass> passes;
  Buffer<float> numbers;
  float* coefficient[6];         // of each column: those of its polynomials that columns do not share
  Buffer<std::int32_t> first;    // pixel of each column's chord
  Buffer<std::int32_t> offsets;  // in the image, of each vector of weights
  Buffer<float> weights;
  // What the full form needs in the current pass: the edges of each vector's pixels, and the vectors that have an edge
  // within reach.
  Buffer<float> nearer, farther;
  Buffer<std::int32_t> cut;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
