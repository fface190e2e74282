// One stage on the CPU: each column of the result is the sum of the columns around it, forward with the values of
// their kernels at the mirrored points, back with those of its own (Ha et al. 2013, figure 2, whose mirrored index is
// one too large). So nothing is written twice, and the result does not depend on the threads.
#include <algorithm>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/direct/column_sums.hpp"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/kernel_tables.hpp"
#include "kernels/direct/z_columns.hpp"

namespace tofstream {

namespace {

class CpuOneStage final : public DirectProjector {
 public:
  using DirectProjector::DirectProjector;

  void forward(const Views& views, const float* image, float* expectation, Stream) override {
    require_views(views);
    ColumnStack voxels = stack(margin(views));
    voxels.load(image);
    for (int v = 0; v < views.views; ++v) {
      const KernelTables tables = tables_of(views, v);
      float* const histo = expectation + v * points();
      project(tables, voxels, Side::forward, [&](const float* row, std::int64_t stride, int y) {
        store_row(row, stride, grid().size[0], grid().size[1], grid().size[2], y, histo);
      });
    }
  }

  void back(const Views& views, const float* values, float* image, Stream) override {
    require_views(views);
    ColumnStack histo = stack(margin(views)), sum = stack(0);
    for (int v = 0; v < views.views; ++v) {
      const KernelTables tables = tables_of(views, v);
      histo.load(values ? values + v * points() : nullptr);
      project(tables, histo, Side::back, [&](const float* row, std::int64_t stride, int y) {
        for (int x = 0; x < grid().size[0]; ++x) {
          float* const to = sum.at(x, y);
          for (std::int64_t k = 0; k < sum.layout().length; ++k) to[k] += row[x * stride + k];
        }
      });
    }
    sum.add_to(image);
  }

 private:
  enum class Side { forward, back };

  KernelTables tables_of(const Views& views, int view) const {
    return {grid(), frame(views, view), settings().kernel, profiles()};
  }
  /// Rows that kernels of these views reach beyond a column's ends.
  int margin(const Views& views) const {
    int reach = 0;
    const Vec3d half = kernel_half_axes_mm(settings().kernel, profiles());
    for (int v = 0; v < views.views; ++v) {
      const ViewFrame& look = frame(views, v);
      const double reach_mm = std::hypot(half.x * look.sin_q, half.z * look.cos_q);
      reach = std::max(reach, static_cast<int>(std::ceil(reach_mm / static_cast<double>(grid().voxel_mm.z))));
    }
    return reach;
  }
  ColumnStack stack(int margin) const { return {grid().size[0], grid().size[1], ColumnLayout(grid().size[2], margin)}; }

  /// Calls take(columns of a row of the result, their stride, y).
  template <class Take>
  void project(const KernelTables& tables, const ColumnStack& in, Side side, const Take& take) const {
    const std::int64_t length = in.layout().length;
    tbb::parallel_for(0, grid().size[1], [&](int y) {
      std::vector<ColumnRun> runs;
      std::vector<float> part(static_cast<std::size_t>(length)), row(static_cast<std::size_t>(grid().size[0] * length));
      for (int x = 0; x < grid().size[0]; ++x) {
        gather_runs(tables, in, side, x, y, runs);
        sum_in_parts(runs, length, part.data(), row.data() + x * length);
      }
      take(row.data(), length, y);
    });
  }

  /// An error of rounding grows with the root of the terms of a sum.
  static void sum_in_parts(const std::vector<ColumnRun>& runs, std::int64_t length, float* part, float* sum) {
    constexpr std::size_t runs_of_part = 64;
    const ColumnSums& math = column_sums();
    std::fill_n(sum, length, 0.0f);
    for (std::size_t first = 0; first < runs.size(); first += runs_of_part) {
      const auto count = static_cast<int>(std::min(runs_of_part, runs.size() - first));
      math.sum_runs(runs.data() + first, count, length, part);
      for (std::int64_t k = 0; k < length; ++k) sum[k] += part[k];
    }
  }

  void gather_runs(const KernelTables& tables, const ColumnStack& in, Side side, int x, int y,
                   std::vector<ColumnRun>& runs) const {
    const auto last = static_cast<std::ptrdiff_t>(tables.points()) - 1;
    runs.clear();
    for (const KernelRun& run : tables.runs()) {
      const int from_x = x + run.dx, from_y = y + run.dy;
      if (from_x < 0 || from_x >= grid().size[0] || from_y < 0 || from_y >= grid().size[1]) continue;
      const float* const data = in.at(from_x, from_y) + run.dz;
      if (side == Side::back)
        runs.push_back({data, tables.values(x, y) + run.first, run.count, 1});
      else
        runs.push_back({data, tables.values(from_x, from_y) + (last - run.first), run.count, -1});
    }
  }
};

}  // namespace

std::unique_ptr<ViewProjector> make_one_stage_cpu(const Grid& grid, const ViewSet& set,
                                                  const DirectSettings& settings) {
  return std::make_unique<CpuOneStage>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
