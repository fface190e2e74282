// What one_stage on CUDA reads of a view: runs of its kernel, bundled so that a column of voxels that is read serves
// four neighbouring columns of the result, and sorted by the code that adds them up.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/direct/kernel_tables.hpp"

namespace tofstream {

inline constexpr int bundle_columns = 4;
inline constexpr int rows_of_quad = 4;
inline constexpr int most_bundle_taps = 8;
/// Rows from the first whole quad that a bundle reads to its last tap, at most.
inline constexpr int most_bundle_rows = 9;

/// Taps of neighbouring columns on one column that they read.
struct ColumnBundle {
  int dx = 0, dy = 0;       // of the column that is read, from the first of the four
  int quad = 0;             // the first whole quad of rows that is read, from the thread's own
  int shift = 0, taps = 0;  // the taps' first row in that quad, and how many rows they have
  int mask = 0;             // which of the four columns have taps here
  /// Where the radial factor of the first column stands in a profile's; those of the others stand before it.
  int weight = 0;
  /// Of each column and tap, zeros where it has none: a point of the kernel, or -1.
  int points[bundle_columns][most_bundle_taps] = {};
};

/// Bundles that follow each other and have one shift and one number of taps.
struct BundleSegment {
  int shift = 0, taps = 0;
  int first = 0, end = 0;  // bundles
  int values = 0;          // of the first bundle, in fours
};

/// A column's taps, filled up to whole fours.
constexpr int fours_of_taps(int taps) {
  return (taps + 3) / 4;
}

struct ViewBundles {
  bool is_along_y = false;  // the four columns are neighbours along y, not x
  std::vector<ColumnBundle> bundles;
  std::vector<BundleSegment> segments;
  int fours = 0;  // of values: four columns of whole fours for each bundle
  /// Of each weight's place: a run of the kernel, or -1.
  std::vector<int> weights;
  int reach = 0;  // rows that bundles reach beyond a column's own
};

/// The four columns lie along the axis that the view's direction is nearest to: their runs are most alike there.
ViewBundles bundle_runs(const KernelTables& tables, const ViewFrame& look);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
