// Planes of an image as seen in the anatomical convention: slices and maximum-intensity projections
// along an axis. Internal to pictures.
#pragma once

#include <vector>

#include "kernels/types/image.hpp"

namespace tofstream::detail {

/// A plane of samples, row by row from the top left as it is seen.
struct Plane {
  int columns = 0, rows = 0;
  double column_mm = 0, row_mm = 0;
  std::vector<float> values;

  double width_mm() const { return columns * column_mm; }
  double height_mm() const { return rows * row_mm; }
  float at(int column, int row) const {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column)];
  }
};

/// What is seen along an axis: 2 transverse, 1 coronal, 0 sagittal.
enum class Looking { sagittal = 0, coronal = 1, transverse = 2 };

/// Slice number `index` across the axis.
Plane slice(const Image& image, Looking along, int index);
/// The largest value along the axis, without so many slices at either end of z.
Plane maximum_projection(const Image& image, Looking along, int ends = 0);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
