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

#include <tbb/enumerable_thread_specific.h>
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
  /// Takes another view, in the memory of the one before.
  void set(const Grid& grid, const ViewFrame& frame, const DirectSettings& settings, const RadialProfiles& profiles) {
    split.emplace(grid, frame, settings.kernel, profiles, settings.lattice);
    in.set(grid, frame, *split, split->in, profiles);
    if (split->out) out.set(grid, frame, *split, *split->out, profiles);
    rest = split->rest_weights(static_cast<double>(settings.kernel.cut_sigma));
    reach = static_cast<int>(rest.size() / 2);
    rest.insert(rest.begin(), blur_guard, 0.0f);
    rest.insert(rest.end(), blur_guard, 0.0f);
    rows = split->between.size[2] / split->fine;
    length = ColumnLayout(rows, 0).length * split->fine;
  }
  bool has_out() const { return split->out.has_value(); }
  int size_u() const { return split->between.size[0]; }
  int size_s() const { return split->between.size[1]; }
  const float* rest_begin() const { return rest.data() + blur_guard; }

  std::optional<TwoStageSplit> split;
  ResamplingTaps in, out;  // out: where there is a second resampling
  std::vector<float> rest;
  int reach = 0;            // of the rest of the ToF response, in points
  int rows = 0;             // of each of the columns of a point
  std::int64_t length = 0;  // of all columns of a point
};

/// One thread's memory, kept from one call to the next.
struct TwoStageScratch {
  std::vector<float> rows, row, channels, guarded, along;
  std::vector<ColumnRun> runs;

  static float* zeros(std::vector<float>& values, std::int64_t size) {
    values.assign(static_cast<std::size_t>(size), 0.0f);
    return values.data();
  }
  static float* room(std::vector<float>& values, std::int64_t size) {
    if (values.size() < static_cast<std::size_t>(size)) values.resize(static_cast<std::size_t>(size));
    return values.data();
  }
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
    for (int v = 0; v < views.views; ++v) {
      take_view(views, v);
      float* const histo = expectation + v * points();
      float* const between =
          view_.has_out() ? TwoStageScratch::room(between_, view_.size_u() * view_.length * view_.size_s()) : nullptr;
      for_each_slab([&](int begin, int end, TwoStageScratch& scratch) {
        const RowsBetween rows = rows_from(view_.reach, begin, end, scratch);
        spread(view_.in, voxels, end, rows, view_.reach, scratch);
        blur_forward(rows, end, between, histo, scratch);
      });
      if (view_.has_out()) collect_histo(voxels.layout(), {between, 0, view_.size_u() * view_.length, 0}, histo);
    }
  }

  void back(const Views& views, const float* values, float* image, Stream) override {
    require_views(views);
    ColumnStack sum = stack(views), histo_columns = stack(views);
    for (int v = 0; v < views.views; ++v) {
      take_view(views, v);
      const float* const histo = values ? values + v * points() : nullptr;
      const int width = view_.size_u() + 2 * view_.reach;
      const std::int64_t row_size = width * view_.length;
      const RowsBetween blurred = {TwoStageScratch::room(between_, row_size * view_.size_s()), view_.reach, row_size,
                                   0};
      if (view_.has_out()) histo_columns.load(histo);
      for_each_slab([&](int begin, int end, TwoStageScratch& scratch) {
        const RowsBetween wide = rows_from(2 * view_.reach, begin, end, scratch);
        if (view_.has_out())
          spread(view_.out, histo_columns, end, wide, 0, scratch);
        else
          load_rows(histo, end, wide);
        for (int j = begin; j < end; ++j)
          column_sums().blur(wide.columns + (j - begin) * wide.row_size, view_.rest_begin(), view_.reach, width,
                             view_.length, view_.length, blurred.columns + j * row_size);
      });
      tbb::parallel_for(0, grid().size[1], [&](int y) {
        collect(view_.in, blurred, sum.layout(), y, [&](int x) { return sum.at(x, y); });
      });
    }
    sum.add_to(image);
  }

 private:
  static constexpr int slab = 8;  // rows of the lattice that stay in a core's cache

  /// Whoever updates an image view by view asks for a view twice in turn.
  void take_view(const Views& views, int v) {
    const int number = views.records[v].view;
    if (number == taken_) return;
    taken_ = -1;
    view_.set(grid(), frame(views, v), settings(), profiles());
    taken_ = number;
  }

  template <class Work>
  void for_each_slab(const Work& work) {
    tbb::parallel_for(0, (view_.size_s() + slab - 1) / slab, [&](int number) {
      work(number * slab, std::min(view_.size_s(), (number + 1) * slab), scratch_.local());
    });
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

  /// Rows [begin, end), not yet filled.
  RowsBetween rows_from(int before, int begin, int end, TwoStageScratch& scratch) const {
    const std::int64_t row_size = (view_.size_u() + 2 * before) * view_.length;
    return {TwoStageScratch::room(scratch.rows, (end - begin) * row_size), before, row_size, begin};
  }

  /// Fills the rows up to `end` with what columns of voxels give to them, at most `beyond` points beyond the lattice.
  void spread(const ResamplingTaps& taps, const ColumnStack& voxels, int end, const RowsBetween& rows, int beyond,
              TwoStageScratch& scratch) const {
    const std::int64_t length = view_.length;
    std::fill_n(rows.columns, (end - rows.first_row) * rows.row_size, 0.0f);
    float* const channels = TwoStageScratch::room(scratch.channels, taps.channels() * length);
    for (std::int64_t column = 0; column < grid().stride(2); ++column) {
      const int first = taps.first(column).s;
      const int j_begin = std::max(rows.first_row, first), j_end = std::min(end, first + taps.count_s());
      if (j_begin >= j_end || !reaches_rows(view_, taps, column, grid().size[2])) continue;
      ClippedPoints at(view_, taps, column, beyond);
      if (at.weights.points <= 0) continue;
      const auto x = static_cast<int>(column % grid().size[0]), y = static_cast<int>(column / grid().size[0]);
      spread_along_z(taps, column, voxels.at(x, y), channels);
      for (int j = j_begin; j < j_end; ++j) {
        at.weights.scale = taps.s(column)[j - first];
        if (at.weights.scale == 0) continue;
        float* const row = rows.columns + (j - rows.first_row) * rows.row_size;
        column_sums().spread(channels, at.weights, length, row + (at.begin + rows.before) * length, length);
      }
    }
  }

  void spread_along_z(const ResamplingTaps& taps, std::int64_t column, const float* voxels, float* channels) const {
    const std::int64_t length = view_.length / taps.fine();
    if (taps.count_k() < taps.fine()) std::fill_n(channels, taps.channels() * view_.length, 0.0f);
    for_each_phase(taps, column, [&](int phase, int shift, int count, const float* weights) {
      for (int r = 0; r < taps.channels(); ++r) {
        const ColumnRun run{voxels - shift - (count - 1),
                            weights + r * taps.count_k() + std::ptrdiff_t{taps.fine()} * (count - 1), count,
                            -taps.fine()};
        column_sums().sum_runs(&run, 1, length, channels + r * view_.length + phase * length);
      }
    });
  }

  /// The convolution of rows: into the histo-image, or where there is a second resampling into rows between.
  void blur_forward(const RowsBetween& rows, int end, float* between, float* histo, TwoStageScratch& scratch) const {
    const std::int64_t size = view_.size_u() * view_.length;
    for (int j = rows.first_row; j < end; ++j) {
      float* const out = between ? between + j * size : TwoStageScratch::room(scratch.row, size);
      column_sums().blur(rows.columns + (j - rows.first_row) * rows.row_size, view_.rest_begin(), view_.reach,
                         view_.size_u(), view_.length, view_.length, out);
      if (!between) store_row(out, view_.length, view_.size_u(), view_.size_s(), view_.rows, j, histo);
    }
  }

  /// Rows from a histo-image on the view's lattice, with zeros beyond it; null stands for ones.
  void load_rows(const float* histo, int end, const RowsBetween& rows) const {
    const std::int64_t length = view_.length, margin = rows.before * length;
    for (int j = rows.first_row; j < end; ++j) {
      float* const row = rows.columns + (j - rows.first_row) * rows.row_size;
      std::fill_n(row, margin, 0.0f);
      std::fill_n(row + rows.row_size - margin, margin, 0.0f);
      for (int i = 0; i < view_.size_u(); ++i) {
        float* const to = row + margin + i * length;
        for (int k = 0; k < view_.rows; ++k) to[k] = histo ? histo[view_.split->between.index(i, j, k)] : 1.0f;
        std::fill(to + view_.rows, to + length, 0.0f);
      }
    }
  }

  /// The second resampling: a histo-image on the image's lattice.
  void collect_histo(const ColumnLayout& layout, const RowsBetween& between, float* histo) {
    tbb::parallel_for(0, grid().size[1], [&](int y) {
      float* const row = TwoStageScratch::zeros(scratch_.local().row, grid().size[0] * layout.length);
      collect(view_.out, between, layout, y, [&](int x) { return row + x * layout.length; });
      store_row(row, layout.length, grid().size[0], grid().size[1], grid().size[2], y, histo);
    });
  }

  /// Adds to column_at(x) of row y what its voxels gather from rows between the stages.
  template <class ColumnAt>
  void collect(const ResamplingTaps& taps, const RowsBetween& rows, const ColumnLayout& voxels, int y,
               const ColumnAt& column_at) {
    TwoStageScratch& scratch = scratch_.local();
    const std::int64_t length = view_.length / taps.fine(), stride = length + 2 * voxels.margin;
    const int channels = taps.channels();
    float* const guarded = TwoStageScratch::zeros(scratch.guarded, channels * taps.fine() * stride);
    float* const along = TwoStageScratch::room(scratch.along, voxels.length);
    for (int x = 0; x < grid().size[0]; ++x) {
      const std::int64_t column = y * grid().size[0] + x;
      if (!reaches_rows(view_, taps, column, grid().size[2])) continue;
      ClippedPoints at(view_, taps, column, rows.before);
      if (at.weights.points <= 0) continue;
      const int first = taps.first(column).s;
      float* const gathered = TwoStageScratch::zeros(scratch.channels, channels * view_.length);
      for (int j = std::max(0, first); j < std::min(view_.size_s(), first + taps.count_s()); ++j) {
        at.weights.scale = taps.s(column)[j - first];
        if (at.weights.scale == 0) continue;
        column_sums().collect(rows.columns + j * rows.row_size + (at.begin + rows.before) * view_.length, view_.length,
                              at.weights, view_.length, gathered);
      }
      scratch.runs.clear();
      for_each_phase(taps, column, [&](int phase, int shift, int count, const float* weights) {
        for (int r = 0; r < channels; ++r) {
          float* const column_rows = guarded + (r * taps.fine() + phase) * stride + voxels.margin;
          std::copy_n(gathered + r * view_.length + phase * length, view_.rows, column_rows);
          scratch.runs.push_back({column_rows + shift, weights + r * taps.count_k(), count, taps.fine()});
        }
      });
      column_sums().sum_runs(scratch.runs.data(), static_cast<int>(scratch.runs.size()), voxels.length, along);
      float* const to = column_at(x);
      for (std::int64_t k = 0; k < voxels.length; ++k) to[k] += along[k];
    }
  }

  TwoStageView view_;
  int taken_ = -1;  // its number in the set
  std::vector<float> between_;
  tbb::enumerable_thread_specific<TwoStageScratch> scratch_;
};

}  // namespace

std::unique_ptr<ViewProjector> make_two_stage_cpu(const Grid& grid, const ViewSet& set,
                                                  const DirectSettings& settings) {
  return std::make_unique<CpuTwoStage>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
