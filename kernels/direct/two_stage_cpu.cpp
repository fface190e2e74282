// Two stages on the CPU. Columns of voxels are spread over rows of the lattice between the stages, slabs of rows in
// parallel: each takes all columns that reach it. Columns gather from these rows, rows of columns in parallel. So
// nothing is written by two threads, and the result does not depend on them.
//
// A column of the lattice between the stages is finer than one of voxels by `fine`. It is kept as so many columns of
// every fine-th row, one behind the other: weights of voxels then lie `fine` apart.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "kernels/direct/column_sums.hpp"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/two_stage.hpp"
#include "kernels/direct/z_columns.hpp"

namespace tofstream {

namespace {

/// One thread's memory, kept from one call to the next.
struct TwoStageScratch {
  std::vector<float> rows, row, resampled, column;
  std::vector<float> guarded;  // all 0 between calls
  std::vector<ColumnRun> runs;

  static float* room(std::vector<float>& values, std::int64_t size) {
    if (values.size() < static_cast<std::size_t>(size)) values.resize(static_cast<std::size_t>(size));
    return values.data();
  }
};

/// Resamples columns along z between voxels and rows of the lattice, each by the weights of its place.
class AlongZ {
 public:
  AlongZ() = default;
  AlongZ(WeightsAlongZ weights, int fine, int voxels, int rows)
      : weights_(std::move(weights)),
        fine_(fine),
        voxels_(voxels),
        rows_(rows),
        voxel_length_(ColumnLayout(voxels, 0).length),
        row_length_(ColumnLayout(rows, 0).length),
        guard_(voxel_length_ + row_length_ + weights_.count + 1) {}

  /// Floats of a column of voxels, and of all columns of a place's rows.
  std::int64_t voxel_length() const { return voxel_length_; }
  std::int64_t length() const { return fine_ * row_length_; }

  void to_rows(std::int64_t place, const float* voxels, float* rows, TwoStageScratch& scratch) const {
    if (!reaches(place) || weights_.count < fine_) std::fill_n(rows, length(), 0.0f);
    if (!reaches(place)) return;
    float* const guarded = TwoStageScratch::room(scratch.guarded, voxel_length_ + 2 * guard_) + guard_;
    std::copy_n(voxels, voxels_, guarded);
    for_each_phase(place, [&](int phase, int shift, int count, const float* weights) {
      const ColumnRun run{guarded - shift - (count - 1), weights + std::ptrdiff_t{fine_} * (count - 1), count, -fine_};
      column_sums().sum_runs(&run, 1, row_length_, rows + phase * row_length_);
    });
    std::fill_n(guarded, voxels_, 0.0f);
  }

  /// The transpose.
  void to_voxels(std::int64_t place, const float* rows, float* voxels, TwoStageScratch& scratch) const {
    if (!reaches(place)) {
      std::fill_n(voxels, voxel_length_, 0.0f);
      return;
    }
    const std::int64_t stride = row_length_ + guard_;
    float* const guarded = TwoStageScratch::room(scratch.guarded, fine_ * stride + guard_) + guard_;
    for (int phase = 0; phase < fine_; ++phase)
      std::copy_n(rows + phase * row_length_, rows_, guarded + phase * stride);
    scratch.runs.clear();
    for_each_phase(place, [&](int phase, int shift, int count, const float* weights) {
      scratch.runs.push_back({guarded + phase * stride + shift, weights, count, fine_});
    });
    column_sums().sum_runs(scratch.runs.data(), static_cast<int>(scratch.runs.size()), voxel_length_, voxels);
    for (int phase = 0; phase < fine_; ++phase) std::fill_n(guarded + phase * stride, rows_, 0.0f);
  }

 private:
  /// Whether any voxel of a place gives to a row of the lattice.
  bool reaches(std::int64_t place) const {
    const int first = weights_.starts[static_cast<std::size_t>(place)];
    return first < fine_ * rows_ && first + weights_.count > -fine_ * voxels_;
  }
  /// Calls visit(phase, shift, count, weights): what voxel n gives to rows n + shift, ..., n + shift + count - 1 of the
  /// phase's column; the weights lie `fine` apart.
  template <class Visit>
  void for_each_phase(std::int64_t place, const Visit& visit) const {
    const int first = weights_.starts[static_cast<std::size_t>(place)];
    for (int phase = 0; phase < fine_; ++phase) {
      const int skipped = ((phase - first) % fine_ + fine_) % fine_;
      const int count = (weights_.count - skipped + fine_ - 1) / fine_;
      if (count > 0) visit(phase, (first + skipped - phase) / fine_, count, weights_.at(place) + skipped);
    }
  }

  WeightsAlongZ weights_;
  int fine_ = 1, voxels_ = 0, rows_ = 0;  // rows of each of the columns of a place
  std::int64_t voxel_length_ = 0, row_length_ = 0;
  std::int64_t guard_ = 0;  // zeros on either side of a column, that weights may reach
};

/// What one view's passes read.
struct TwoStageView {
  /// Takes another view, in the memory of the one before.
  void set(const Grid& grid, const ViewFrame& frame, const DirectSettings& settings, const RadialProfiles& profiles) {
    split.emplace(grid, frame, settings.kernel, profiles, settings.lattice);
    in.set(grid, frame, *split, split->in, profiles);
    rest = split->rest_weights(static_cast<double>(settings.kernel.cut_sigma));
    reach = static_cast<int>(rest.size() / 2);
    rest.insert(rest.begin(), blur_guard, 0.0f);
    rest.insert(rest.end(), blur_guard, 0.0f);
    rows = split->between.size[2] / split->fine;
    at_points = AlongZ(weights_at_points(grid, *split, reach), split->fine, grid.size[2], rows);
    if (!split->out) return;
    out.set(grid, frame, *split, *split->out, profiles);
    at_columns = AlongZ(weights_at_columns(grid, *split), split->fine, grid.size[2], rows);
  }
  bool has_out() const { return split->out.has_value(); }
  int size_u() const { return split->between.size[0]; }
  int size_s() const { return split->between.size[1]; }
  /// Points of a row that have values before the convolution, and of one that it reaches back to.
  int width() const { return size_u() + 2 * reach; }
  std::int64_t length() const { return at_points.length(); }
  std::int64_t voxel_length() const { return at_points.voxel_length(); }
  const float* rest_begin() const { return rest.data() + blur_guard; }

  std::optional<TwoStageSplit> split;
  ResamplingTaps in, out;        // out: where there is a second resampling
  AlongZ at_points, at_columns;  // of the first resampling, of the second
  std::vector<float> rest;
  int reach = 0;  // of the rest of the ToF response, in points
  int rows = 0;   // of each of the columns of a point
};

/// Rows of points of the lattice, each from -before to size_u + before.
struct RowsBetween {
  float* columns = nullptr;
  int before = 0, first_row = 0;
  std::int64_t length = 0, row_size = 0;  // floats of a point, and of a row

  RowsBetween(const TwoStageView& view, int before, std::int64_t length, int first_row)
      : before(before), first_row(first_row), length(length), row_size((view.size_u() + 2 * before) * length) {}
  float* row(int j) const { return columns + (j - first_row) * row_size; }
  float* at(int i, int j) const { return row(j) + (i + before) * length; }
};

/// A column's points of a row, of which only those that the row has.
struct ClippedPoints {
  int begin = 0;  // point of the lattice
  RowWeights weights;

  ClippedPoints(const TwoStageView& view, const ResamplingTaps& taps, std::int64_t column, int before) {
    const int first = taps.first(column).u;
    begin = std::max(first, -before);
    const int end = std::min(first + taps.count_u(), view.size_u() + before);
    weights = {taps.u(column) + (begin - first), end - begin, 1};
  }
};

class CpuTwoStage final : public DirectProjector {
 public:
  using DirectProjector::DirectProjector;

  void forward(const Views& views, const float* image, float* expectation, Stream) override {
    require_views(views);
    ColumnStack voxels = stack();
    voxels.load(image);
    for (int v = 0; v < views.views; ++v) {
      take_view(views, v);
      float* const histo = expectation + v * points();
      RowsBetween between(view_, 0, view_.length(), 0);
      if (view_.has_out()) between.columns = TwoStageScratch::room(between_, view_.size_s() * between.row_size);
      for_each_slab([&](int begin, int end, TwoStageScratch& scratch) {
        const RowsBetween rows = rows_from(view_.reach, view_.voxel_length(), begin, end, scratch);
        spread(view_.in, end, rows, view_.reach, [&](std::int64_t column) { return column_of(voxels, column); });
        for (int j = begin; j < end; ++j) blur_forward(rows, j, between, histo, scratch);
      });
      if (view_.has_out()) collect_histo(between, histo);
    }
  }

  void back(const Views& views, const float* values, float* image, Stream) override {
    require_views(views);
    ColumnStack sum = stack(), histo_columns = stack();
    for (int v = 0; v < views.views; ++v) {
      take_view(views, v);
      const float* const histo = values ? values + v * points() : nullptr;
      RowsBetween between(view_, view_.reach, view_.voxel_length(), 0);
      between.columns = TwoStageScratch::room(between_, view_.size_s() * between.row_size);
      if (view_.has_out()) histo_columns.load(histo);
      for_each_slab([&](int begin, int end, TwoStageScratch& scratch) {
        const RowsBetween wide = rows_from(2 * view_.reach, view_.length(), begin, end, scratch);
        if (view_.has_out())
          spread_histo(histo_columns, end, wide, scratch);
        else
          load_rows(histo, end, wide);
        for (int j = begin; j < end; ++j) blur_back(wide, j, between, scratch);
      });
      tbb::parallel_for(0, grid().size[1], [&](int y) {
        for (int x = 0; x < grid().size[0]; ++x) collect(view_.in, between, x, y, sum.at(x, y));
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

  ColumnStack stack() const { return {grid().size[0], grid().size[1], ColumnLayout(grid().size[2], 0)}; }
  const float* column_of(const ColumnStack& voxels, std::int64_t column) const {
    return voxels.at(static_cast<int>(column % grid().size[0]), static_cast<int>(column / grid().size[0]));
  }

  /// Rows [begin, end), not yet filled.
  RowsBetween rows_from(int before, std::int64_t length, int begin, int end, TwoStageScratch& scratch) const {
    RowsBetween rows(view_, before, length, begin);
    rows.columns = TwoStageScratch::room(scratch.rows, (end - begin) * rows.row_size);
    return rows;
  }

  /// Fills the rows up to `end` with what columns give to them, at most `beyond` points beyond the lattice;
  /// value_of(column) is asked for those that give.
  template <class ValueOf>
  void spread(const ResamplingTaps& taps, int end, const RowsBetween& rows, int beyond, const ValueOf& value_of) const {
    std::fill_n(rows.columns, (end - rows.first_row) * rows.row_size, 0.0f);
    for (std::int64_t column = 0; column < grid().stride(2); ++column) {
      const int first = taps.first(column).s;
      const int j_begin = std::max(rows.first_row, first), j_end = std::min(end, first + taps.count_s());
      ClippedPoints at(view_, taps, column, beyond);
      if (j_begin >= j_end || at.weights.points <= 0) continue;
      const float* const values = value_of(column);
      for (int j = j_begin; j < j_end; ++j) {
        at.weights.scale = taps.s(column)[j - first];
        if (at.weights.scale != 0)
          column_sums().spread(values, at.weights, rows.length, rows.at(at.begin, j), rows.length);
      }
    }
  }

  /// Adds to `to` what a column gathers from rows between the stages.
  void collect(const ResamplingTaps& taps, const RowsBetween& rows, int x, int y, float* to) const {
    const std::int64_t column = y * grid().size[0] + x;
    ClippedPoints at(view_, taps, column, rows.before);
    if (at.weights.points <= 0) return;
    const int first = taps.first(column).s;
    for (int j = std::max(0, first); j < std::min(view_.size_s(), first + taps.count_s()); ++j) {
      at.weights.scale = taps.s(column)[j - first];
      if (at.weights.scale != 0) column_sums().collect(rows.at(at.begin, j), rows.length, at.weights, rows.length, to);
    }
  }

  /// Row j along z, then along the view: into the histo-image, or where there is a second resampling into `between`.
  void blur_forward(const RowsBetween& rows, int j, const RowsBetween& between, float* histo,
                    TwoStageScratch& scratch) const {
    const std::int64_t length = view_.length();
    float* const resampled = TwoStageScratch::room(scratch.resampled, view_.width() * length);
    for (int i = 0; i < view_.width(); ++i)
      view_.at_points.to_rows(i, rows.row(j) + i * rows.length, resampled + i * length, scratch);
    float* const out = view_.has_out() ? between.row(j) : TwoStageScratch::room(scratch.row, view_.size_u() * length);
    column_sums().blur(resampled, view_.rest_begin(), view_.reach, view_.size_u(), length, length, out);
    if (!view_.has_out()) store_row(out, length, view_.size_u(), view_.size_s(), view_.rows, j, histo);
  }

  /// Its transpose: row j of `between` from the row that has points up to 2 reach beyond the lattice.
  void blur_back(const RowsBetween& wide, int j, const RowsBetween& between, TwoStageScratch& scratch) const {
    const std::int64_t length = view_.length();
    float* const resampled = TwoStageScratch::room(scratch.resampled, view_.width() * length);
    column_sums().blur(wide.row(j), view_.rest_begin(), view_.reach, view_.width(), length, length, resampled);
    for (int i = 0; i < view_.width(); ++i)
      view_.at_points.to_voxels(i, resampled + i * length, between.row(j) + i * between.length, scratch);
  }

  /// Rows from a histo-image on the view's lattice, with zeros beyond it; null stands for ones.
  void load_rows(const float* histo, int end, const RowsBetween& rows) const {
    const std::int64_t length = rows.length, margin = rows.before * length;
    for (int j = rows.first_row; j < end; ++j) {
      std::fill_n(rows.row(j), margin, 0.0f);
      std::fill_n(rows.row(j) + rows.row_size - margin, margin, 0.0f);
      for (int i = 0; i < view_.size_u(); ++i) {
        float* const to = rows.at(i, j);
        for (int k = 0; k < view_.rows; ++k) to[k] = histo ? histo[view_.split->between.index(i, j, k)] : 1.0f;
        std::fill(to + view_.rows, to + length, 0.0f);
      }
    }
  }

  /// The second resampling: a histo-image on the image's lattice.
  void collect_histo(const RowsBetween& between, float* histo) {
    const std::int64_t length = view_.voxel_length();
    tbb::parallel_for(0, grid().size[1], [&](int y) {
      TwoStageScratch& scratch = scratch_.local();
      float* const row = TwoStageScratch::room(scratch.row, grid().size[0] * length);
      float* const gathered = TwoStageScratch::room(scratch.column, view_.length());
      for (int x = 0; x < grid().size[0]; ++x) {
        std::fill_n(gathered, view_.length(), 0.0f);
        collect(view_.out, between, x, y, gathered);
        view_.at_columns.to_voxels(y * grid().size[0] + x, gathered, row + x * length, scratch);
      }
      store_row(row, length, grid().size[0], grid().size[1], grid().size[2], y, histo);
    });
  }

  /// Its transpose.
  void spread_histo(const ColumnStack& histo_columns, int end, const RowsBetween& wide,
                    TwoStageScratch& scratch) const {
    float* const rows = TwoStageScratch::room(scratch.column, view_.length());
    spread(view_.out, end, wide, 0, [&](std::int64_t column) {
      view_.at_columns.to_rows(column, column_of(histo_columns, column), rows, scratch);
      return rows;
    });
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
