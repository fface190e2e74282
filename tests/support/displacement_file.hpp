// A displacement field as a NIfTI-1 file, byte by byte, also one that is wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace tofstream {

/// A file of vectors on a grid whose axes run as ours do.
struct DisplacementFile {
  std::array<short, 8> dims = {5, 3, 2, 2, 1, 3, 1, 1};
  float voxel_mm = 10;
  std::array<float, 3> origin_mm = {-20, -30, -5};  // centre of the first voxel, in our frame
  short intent = 1006;                              // displacement vector
  char units = 2;                                   // mm
  /// Component c of voxel v.
  std::function<float(std::size_t c, std::size_t v)> value = [](std::size_t c, std::size_t v) {
    return 0.01f * static_cast<float>(100 * c + v);
  };

  void write(const std::filesystem::path& path) const {
    std::size_t values = 1, voxels = 1;
    for (std::size_t d = 1; d <= static_cast<std::size_t>(dims[0]); ++d) values *= static_cast<std::size_t>(dims[d]);
    for (std::size_t d = 1; d <= 3; ++d) voxels *= static_cast<std::size_t>(dims[d]);
    std::string bytes(352 + sizeof(float) * values, '\0');
    const auto put = [&](std::size_t offset, auto number) {
      std::memcpy(bytes.data() + offset, &number, sizeof number);
    };
    put(0, 348);
    for (std::size_t d = 0; d < 8; ++d) put(40 + 2 * d, dims[d]);
    put(68, intent);
    put(70, short{16});  // float32
    put(72, short{32});
    for (std::size_t d = 0; d < 8; ++d) put(76 + 4 * d, d > 0 && d < 4 ? voxel_mm : 1.0f);
    put(108, 352.0f);
    put(123, units);
    put(254, short{1});
    for (std::size_t row = 0; row < 3; ++row) {
      const float sign = row < 2 ? -1.0f : 1.0f;  // to RAS
      put(280 + 16 * row + 4 * row, sign * voxel_mm);
      put(280 + 16 * row + 12, sign * origin_mm[row]);
    }
    std::memcpy(bytes.data() + 344, "n+1", 4);
    for (std::size_t i = 0; i < values; ++i) put(352 + 4 * i, value(i / voxels, i % voxels));
    std::ofstream(path, std::ios::binary) << bytes;
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
