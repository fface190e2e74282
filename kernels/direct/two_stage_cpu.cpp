// Two stages on the CPU. Columns of voxels are spread onto rows of the lattice between the stages, slabs of rows in
// parallel: each takes all columns that reach it. Columns gather from these rows, rows of columns in parallel. So
// nothing is written by two threads, and the result does not depend on them.
//
// A column of the lattice between the stages is finer than one of voxels by `fine`. It is kept as so many columns of
// every fine-th row, one behind the other: weights of voxels then lie `fine` apart.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/direct/column_sums.hpp"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/two_stage.hpp"
#include "kernels/direct/z_columns.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

/// What one view's passes read.
struct TwoStageView {
  TwoStageView(const Grid& grid, const ViewFrame& frame, const DirectSettings& settings, const RadialProfiles& profiles)
      : split(grid, frame, settings.kernel, profiles, settings.lattice),
        in(grid, frame, split, split.in, profiles),
        rest(split.rest_weights(static_cast<double>(settings.kernel.cut_sigma))),
        reach(static_cast<int>(rest.size() / 2)),
        rows(split.between.size[2] / split.fine),
        length(ColumnLayout(rows, 0).length * split.fine) {
    if (split.out) out.emplace(grid, frame, split, *split.out, profiles);
    rest.insert(rest.begin(), blur_guard, 0.0f);
    rest.insert(rest.end(), blur_guard, 0.0f);
  }
  int size_u() const { return split.between.size[0]; }
  int size_s() const { return split.between.size[1]; }
  const float* rest_begin() const { return rest.data() + blur_guard; }

  TwoStageSplit split;
  ResamplingTaps in;
  std::optional<ResamplingTaps> out;
  std::vector<float> rest;
  int reach;            // of the rest of the ToF response, in points
  int rows;             // of each of the columns of a point
  std::int64_t length;  // of all columns of a point
};

/// Which points of the lattice a row of columns has: from -before to size_u + before.
struct RowsBetween {
  float* columns = nullptr;
  int before = 0;
  std::int64_t row_size = 0;  // floats from row to row
  int first_row = 0;
};

/// A column's points of a row, of which only those that the row has.
struct ClippedPoints {
  int begin = 0;  // point of the lattice
  RowWeights weights;

  ClippedPoints(const TwoStageView& view, const ResamplingTaps& taps, std::int64_t column, int before) {
    const int first = taps.first(column).u;
    begin = std::max(first, -before);
    const int end = std::min(first + taps.count_u(), view.size_u() + before);
    weights = {taps.u(column) + (begin - first), taps.channels(), taps.count_u(), end - begin, 1};
  }
};

/// Calls visit(phase, shift, count, weights of the first channel): what voxel n gives to rows n + shift, ...,
/// n + shift + count - 1 of the phase's column; the weights lie fine() apart.
template <class Visit>
void for_each_phase(const ResamplingTaps& taps, std::int64_t column, const Visit& visit) {
  const int first = taps.first(column).k, fine = taps.fine();
  for (int phase = 0; phase < fine; ++phase) {
    const int skipped = ((phase - first) % fine + fine) % fine;
    const int count = (taps.count_k() - skipped + fine - 1) / fine;
    if (count > 0) visit(phase, (first + skipped - phase) / fine, count, taps.k(column) + skipped);
  }
}

/// Whether any voxel of a column reaches a row of the lattice.
bool reaches_rows(const TwoStageView& view, const ResamplingTaps& taps, std::int64_t column, int voxels) {
  const int first = taps.first(column).k, fine = taps.fine();
  return first < fine * view.rows && first + taps.count_k() > -fine * voxels;
}

class CpuTwoStage final : public DirectProjector {
 public:
  using DirectProjector::DirectProjector;

  void forward(const Views& views, const float* image, float* expectation, Stream) override {
    require_views(views);
    ColumnStack voxels = stack(views);
    voxels.load(image);
    std::vector<float> between;
    for (int v = 0; v < views.views; ++v) {
      const TwoStageView view(grid(), frame(views, v), settings(), profiles());
      float* const histo = expectation + v * points();
      if (view.out) between.resize(static_cast<std::size_t>(view.size_u() * view.length * view.size_s()));
      for_each_slab(view, [&](int begin, int end) {
        std::vector<float> rows;
        const RowsBetween spread_rows = rows_for(view, view.reach, begin, end, rows);
        spread(view, view.in, voxels, end, spread_rows);
        blur_forward(view, spread_rows, end, between.data(), histo);
      });
      if (!view.out) continue;
      const RowsBetween blurred{between.data(), 0, view.size_u() * view.length, 0};
      tbb::parallel_for(0, grid().size[1], [&](int y) {
        const std::int64_t length = voxels.layout().length;
        std::vector<float> row(static_cast<std::size_t>(grid().size[0] * length), 0.0f);
        collect(view, *view.out, blurred, voxels.layout(), y, [&](int x) { return row.data() + x * length; });
        store_row(row.data(), length, grid().size[0], grid().size[1], grid().size[2], y, histo);
      });
    }
  }

  void back(const Views& views, const float* values, float* image, Stream) override {
    require_views(views);
    ColumnStack sum = stack(views), histo_columns = stack(views);
    std::vector<float> between;
    for (int v = 0; v < views.views; ++v) {
      const TwoStageView view(grid(), frame(views, v), settings(), profiles());
      const float* const histo = values ? values + v * points() : nullptr;
      const RowsBetween blurred = {nullptr, view.reach, (view.size_u() + 2 * view.reach) * view.length, 0};
      between.resize(static_cast<std::size_t>(blurred.row_size * view.size_s()));
      if (view.out) histo_columns.load(histo);
      for_each_slab(view, [&](int begin, int end) {
        std::vector<float> rows;
        const RowsBetween wide = rows_for(view, 2 * view.reach, begin, end, rows);
        if (view.out)
          spread(view, *view.out, histo_columns, end, wide, 0);
        else
          load_rows(view, histo, end, wide);
        for (int j = begin; j < end; ++j)
          column_sums().blur(wide.columns + (j - begin) * wide.row_size, view.rest_begin(), view.reach,
                             view.size_u() + 2 * view.reach, view.length, view.length,
                             between.data() + j * blurred.row_size);
      });
      RowsBetween gathered = blurred;
      gathered.columns = between.data();
      tbb::parallel_for(0, grid().size[1], [&](int y) {
        collect(view, view.in, gathered, sum.layout(), y, [&](int x) { return sum.at(x, y); });
      });
    }
    sum.add_to(image);
  }

 private:
  static constexpr int slab = 8;  // rows of the lattice that stay in a core's cache

  template <class Work>
  static void for_each_slab(const TwoStageView& view, const Work& work) {
    tbb::parallel_for(0, (view.size_s() + slab - 1) / slab,
                      [&](int number) { work(number * slab, std::min(view.size_s(), (number + 1) * slab)); });
  }

  /// Columns of voxels with zeros at their ends, beyond which no view's weights reach.
  ColumnStack stack(const Views& views) const {
    const double cut = static_cast<double>(settings().kernel.cut_sigma) + 1,
                 edge = static_cast<double>(grid().voxel_mm.z);
    const double axial_mm = static_cast<double>(settings().kernel.axial_fwhm_mm) / fwhm_per_sigma;
    const double half_x = 0.5 * grid().size[0] * static_cast<double>(grid().voxel_mm.x);
    const double half_y = 0.5 * grid().size[1] * static_cast<double>(grid().voxel_mm.y);
    double most_mm = 0;
    for (int v = 0; v < views.views; ++v) {
      const ViewFrame& look = frame(views, v);
      const double reach_mm = std::max(edge, cut * axial_mm / look.cos_q);
      const double shift_mm = std::hypot(half_x, half_y) * std::abs(look.tan_q());
      // On the image's lattice the finer one has rows for the shift at both ends.
      most_mm = std::max(most_mm, 3 * reach_mm + (settings().lattice == HistoLattice::image
                                                      ? 2 * shift_mm
                                                      : std::min(shift_mm, grid().size[2] * edge + reach_mm)));
    }
    const auto margin = static_cast<std::int64_t>(std::ceil(most_mm / edge)) + 4;
    return {grid().size[0], grid().size[1], ColumnLayout(grid().size[2], margin)};
  }

  /// Rows [begin, end) of zeros.
  static RowsBetween rows_for(const TwoStageView& view, int before, int begin, int end, std::vector<float>& rows) {
    const std::int64_t row_size = (view.size_u() + 2 * before) * view.length;
    rows.assign(static_cast<std::size_t>((end - begin) * row_size), 0.0f);
    return {rows.data(), before, row_size, begin};
  }

  /// Adds to the rows up to `end` what columns of voxels give to them, at most `beyond` points beyond the lattice.
  void spread(const TwoStageView& view, const ResamplingTaps& taps, const ColumnStack& voxels, int end,
              const RowsBetween& rows, int beyond) const {
    std::vector<float> channels(static_cast<std::size_t>(taps.channels() * view.length));
    for (std::int64_t column = 0; column < grid().stride(2); ++column) {
      const int first = taps.first(column).s;
      const int j_begin = std::max(rows.first_row, first), j_end = std::min(end, first + taps.count_s());
      if (j_begin >= j_end || !reaches_rows(view, taps, column, grid().size[2])) continue;
      ClippedPoints at(view, taps, column, beyond);
      if (at.weights.points <= 0) continue;
      const auto x = static_cast<int>(column % grid().size[0]), y = static_cast<int>(column / grid().size[0]);
      spread_along_z(view, taps, column, voxels.at(x, y), channels.data());
      for (int j = j_begin; j < j_end; ++j) {
        at.weights.scale = taps.s(column)[j - first];
        if (at.weights.scale == 0) continue;
        float* const row = rows.columns + (j - rows.first_row) * rows.row_size;
        column_sums().spread(channels.data(), at.weights, view.length, row + (at.begin + rows.before) * view.length,
                             view.length);
      }
    }
  }
  void spread(const TwoStageView& view, const ResamplingTaps& taps, const ColumnStack& voxels, int end,
              const RowsBetween& rows) const {
    spread(view, taps, voxels, end, rows, rows.before);
  }

  static void spread_along_z(const TwoStageView& view, const ResamplingTaps& taps, std::int64_t column,
                             const float* voxels, float* channels) {
    const std::int64_t length = view.length / taps.fine();
    if (taps.count_k() < taps.fine()) std::fill_n(channels, taps.channels() * view.length, 0.0f);
    for_each_phase(taps, column, [&](int phase, int shift, int count, const float* weights) {
      for (int r = 0; r < taps.channels(); ++r) {
        const ColumnRun run{voxels - shift - (count - 1),
                            weights + r * taps.count_k() + std::ptrdiff_t{taps.fine()} * (count - 1), count,
                            -taps.fine()};
        column_sums().sum_runs(&run, 1, length, channels + r * view.length + phase * length);
      }
    });
  }

  /// The convolution of rows: into the histo-image, or into rows without margins for a second resampling.
  static void blur_forward(const TwoStageView& view, const RowsBetween& rows, int end, float* between, float* histo) {
    std::vector<float> row;
    if (!view.out) row.resize(static_cast<std::size_t>(view.size_u() * view.length));
    for (int j = rows.first_row; j < end; ++j) {
      float* const out = view.out ? between + j * view.size_u() * view.length : row.data();
      column_sums().blur(rows.columns + (j - rows.first_row) * rows.row_size, view.rest_begin(), view.reach,
                         view.size_u(), view.length, view.length, out);
      if (!view.out) store_row(out, view.length, view.size_u(), view.size_s(), view.rows, j, histo);
    }
  }

  /// Rows from a histo-image on the view's lattice; null stands for ones.
  static void load_rows(const TwoStageView& view, const float* histo, int end, const RowsBetween& rows) {
    for (int j = rows.first_row; j < end; ++j)
      for (int k = 0; k < view.rows; ++k) {
        const float* const from = histo ? histo + view.split.between.index(0, j, k) : nullptr;
        float* const to =
            rows.columns + (j - rows.first_row) * rows.row_size + std::int64_t{rows.before} * view.length + k;
        for (int i = 0; i < view.size_u(); ++i) to[i * view.length] = from ? from[i] : 1.0f;
      }
  }

  /// Adds to column_at(x) of row y what its voxels gather from rows between the stages.
  template <class ColumnAt>
  void collect(const TwoStageView& view, const ResamplingTaps& taps, const RowsBetween& rows,
               const ColumnLayout& voxels, int y, const ColumnAt& column_at) const {
    const std::int64_t length = view.length / taps.fine(), stride = length + 2 * voxels.margin;
    const int channels = taps.channels();
    std::vector<float> gathered(static_cast<std::size_t>(channels * view.length));
    std::vector<float> guarded(static_cast<std::size_t>(channels * taps.fine() * stride), 0.0f);
    std::vector<float> along(static_cast<std::size_t>(voxels.length));
    std::vector<ColumnRun> runs;
    for (int x = 0; x < grid().size[0]; ++x) {
      const std::int64_t column = y * grid().size[0] + x;
      if (!reaches_rows(view, taps, column, grid().size[2])) continue;
      ClippedPoints at(view, taps, column, rows.before);
      if (at.weights.points <= 0) continue;
      const int first = taps.first(column).s;
      std::ranges::fill(gathered, 0.0f);
      for (int j = std::max(0, first); j < std::min(view.size_s(), first + taps.count_s()); ++j) {
        at.weights.scale = taps.s(column)[j - first];
        if (at.weights.scale == 0) continue;
        column_sums().collect(rows.columns + j * rows.row_size + (at.begin + rows.before) * view.length, view.length,
                              at.weights, view.length, gathered.data());
      }
      runs.clear();
      for_each_phase(taps, column, [&](int phase, int shift, int count, const float* weights) {
        for (int r = 0; r < channels; ++r) {
          float* const column_rows = guarded.data() + (r * taps.fine() + phase) * stride + voxels.margin;
          std::copy_n(gathered.data() + r * view.length + phase * length, view.rows, column_rows);
          runs.push_back({column_rows + shift, weights + r * taps.count_k(), count, taps.fine()});
        }
      });
      column_sums().sum_runs(runs.data(), static_cast<int>(runs.size()), voxels.length, along.data());
      float* const to = column_at(x);
      for (std::int64_t k = 0; k < voxels.length; ++k) to[k] += along[static_cast<std::size_t>(k)];
    }
  }
};

}  // namespace

std::unique_ptr<ViewProjector> make_two_stage_cpu(const Grid& grid, const ViewSet& set,
                                                  const DirectSettings& settings) {
  return std::make_unique<CpuTwoStage>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
