// Bundles of runs: see one_stage_bundles.hpp.
#include "kernels/direct/one_stage_bundles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace tofstream {

namespace {

/// A run by its place along the four columns' axis and on the other one.
struct PlacedRun {
  int along = 0, across = 0;
  const KernelRun* run = nullptr;
};

/// The runs that four neighbouring columns have on one column.
using RunsOfColumns = std::array<const KernelRun*, bundle_columns>;

int floor_to_quad(int row) {
  return (row - ((row % rows_of_quad) + rows_of_quad) % rows_of_quad) / rows_of_quad;
}

class Bundler {
 public:
  Bundler(const KernelTables& tables, bool is_along_y) : tables_(tables) { made_.is_along_y = is_along_y; }

  ViewBundles make() {
    std::map<std::pair<int, int>, RunsOfColumns> columns;  // by across and along
    for (const KernelRun& run : tables_.runs()) {
      const int along = made_.is_along_y ? run.dy : run.dx, across = made_.is_along_y ? run.dx : run.dy;
      for (int c = 0; c < bundle_columns; ++c)
        columns.try_emplace({across, along + c}, RunsOfColumns{}).first->second[static_cast<std::size_t>(c)] = &run;
    }
    set_weights();
    for (const auto& [place, runs] : columns) add(place.first, place.second, runs);
    fill_up_rare();
    std::ranges::stable_sort(made_.bundles, {},
                             [](const ColumnBundle& bundle) { return std::pair(bundle.shift, bundle.taps); });
    set_segments();
    return std::move(made_);
  }

 private:
  /// Each line of runs along the four columns' axis has a place for each column from its first to its last.
  void set_weights() {
    std::map<int, std::map<int, int>> lines;
    for (std::size_t r = 0; r < tables_.runs().size(); ++r) {
      const KernelRun& run = tables_.runs()[r];
      lines[made_.is_along_y ? run.dx : run.dy][made_.is_along_y ? run.dy : run.dx] = static_cast<int>(r);
    }
    // A bundle's columns at a line's ends, some of which have no taps, are read too.
    made_.weights.assign(bundle_columns - 1, -1);
    for (const auto& [across, line] : lines) {
      const int first = line.begin()->first, last = line.rbegin()->first;
      weight_of_line_[across] = static_cast<int>(made_.weights.size()) - first;
      made_.weights.resize(made_.weights.size() + static_cast<std::size_t>(last - first + 1), -1);
      for (const auto& [along, r] : line) made_.weights[static_cast<std::size_t>(weight_of_line_[across] + along)] = r;
    }
    made_.weights.resize(made_.weights.size() + bundle_columns - 1, -1);
  }

  void add(int across, int along, const RunsOfColumns& runs) {
    int low = std::numeric_limits<int>::max(), high = std::numeric_limits<int>::min();
    for (const KernelRun* run : runs)
      if (run) low = std::min(low, run->dz), high = std::max(high, run->dz + run->count);
    while (low < high) {
      ColumnBundle bundle{.dx = made_.is_along_y ? across : along, .dy = made_.is_along_y ? along : across};
      bundle.quad = floor_to_quad(low);
      bundle.shift = low - rows_of_quad * bundle.quad;
      bundle.taps = std::min({high - low, most_bundle_taps, most_bundle_rows - bundle.shift});
      // What is left begins with a whole quad.
      if (high - low > bundle.taps) bundle.taps = most_bundle_taps - bundle.shift;
      bundle.weight = weight_of_line_.at(across) + along;
      set_points(bundle, runs, low);
      if (bundle.mask) made_.bundles.push_back(bundle);
      low += bundle.taps;
    }
  }

  static void set_points(ColumnBundle& bundle, const RunsOfColumns& runs, int low) {
    for (int c = 0; c < bundle_columns; ++c) {
      const KernelRun* const run = runs[static_cast<std::size_t>(c)];
      for (int t = 0; t < most_bundle_taps; ++t) {
        const int m = run ? low + t - run->dz : -1;
        const bool is_there = run && t < bundle.taps && m >= 0 && m < run->count;
        bundle.points[c][t] = is_there ? run->first + m : -1;
        if (is_there) bundle.mask |= 1 << c;
      }
    }
  }

  /// Bundles of a kind that few have get a tap more, of zeros: their code would be fetched for little.
  void fill_up_rare() {
    constexpr int few = 8;
    for (int shift = 0; shift < rows_of_quad; ++shift)
      for (int taps = 1; taps < std::min(most_bundle_taps, most_bundle_rows - shift); ++taps) {
        const auto is_such = [&](const ColumnBundle& b) { return b.shift == shift && b.taps == taps; };
        if (std::ranges::count_if(made_.bundles, is_such) > few) continue;
        const bool has_more = std::ranges::any_of(
            made_.bundles, [&](const ColumnBundle& b) { return b.shift == shift && b.taps > taps; });
        if (!has_more) continue;
        for (ColumnBundle& bundle : made_.bundles)
          if (is_such(bundle)) ++bundle.taps;
      }
  }

  void set_segments() {
    for (const ColumnBundle& bundle : made_.bundles) {
      const auto n = static_cast<int>(&bundle - made_.bundles.data());
      if (made_.segments.empty() || made_.segments.back().shift != bundle.shift ||
          made_.segments.back().taps != bundle.taps)
        made_.segments.push_back({bundle.shift, bundle.taps, n, n, made_.fours});
      made_.segments.back().end = n + 1;
      made_.fours += bundle_columns * fours_of_taps(bundle.taps);
      const int first = rows_of_quad * bundle.quad, last = first + bundle.shift + bundle.taps - 1;
      made_.reach = std::max({made_.reach, -first, last});
    }
  }

  const KernelTables& tables_;
  ViewBundles made_;
  std::map<int, int> weight_of_line_;  // of the column at 0 along the line
};

}  // namespace

ViewBundles bundle_runs(const KernelTables& tables, const ViewFrame& look) {
  return Bundler(tables, std::abs(look.sin_f) > std::abs(look.cos_f)).make();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
