// two_stage in CUDA: see two_stage.hpp. Four kernels, of which each is its own mirror image: columns of voxels are spread
// along z; a block makes a row of the lattice, of what it gathers from the columns around each point or of a histo-image,
// and convolves it along t; columns collect what points around them have. All sums are in a fixed order.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/cuda/check.hpp"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/two_stage.hpp"

namespace tofstream {

namespace {

constexpr int warp_lanes = 32, half_lanes = 16, stage_threads = 256, row_threads = 512;
constexpr int halves_a_block = stage_threads / half_lanes, halves_a_row = row_threads / half_lanes;
constexpr int rows_a_lane = 4, rows_at_once = rows_a_lane * half_lanes;  // of a column
constexpr int tap_block = 8, outputs_a_thread = 16;
constexpr int spare_points = outputs_a_thread + tap_block;  // that a thread may read behind its row

TOFSTREAM_HOST_DEVICE int to_four(int size) {
  return (size + 3) / 4 * 4;
}

/// One of a view's resamplings.
struct DeviceResampling {
  ResamplingLaw law;
  const RadialLaw* radial = nullptr;
  int profiles = 1;

  TOFSTREAM_HOST_DEVICE int floats() const {
    return law.channels * law.count_u + law.count_s + law.channels * law.count_k;
  }
};

struct DeviceStages {
  DirectLattice between;
  ViewFrame frame;
  DeviceResampling in, out;
  const float* rest = nullptr;  // of the convolution, in whole blocks, the last ones 0
  int fine = 1, reach = 0, blocks = 1;

  TOFSTREAM_HOST_DEVICE const DeviceResampling& resampling(bool is_out) const { return is_out ? out : in; }
};

/// The weights of all columns of some views: [table][column] of `stride` floats: u[channel][count_u], s[count_s],
/// k[channel][count_k].
struct ColumnTables {
  float* weights = nullptr;
  ColumnStart* starts = nullptr;
  int stride = 0, columns = 0;
  bool by_place = false;  // a table for each place of the set; else one for each view at hand
  bool is_out = false;    // of which resampling

  __device__ std::int64_t of(int slot, int place, int column) const {
    return std::int64_t{by_place ? place : slot} * columns + column;
  }
};

/// Views at hand: slot i is place index[i] of the set.
struct StageViews {
  const DeviceStages* stages = nullptr;  // of places
  const std::int32_t* index = nullptr;
  int count = 0;
  __device__ const DeviceStages& operator[](int slot) const { return stages[index[slot]]; }
};

/// Columns along z: values[(slot * columns + column) * stride + row].
struct StageColumns {
  float* values = nullptr;
  int stride = 0;
  std::int64_t slot_size = 0;  // 0: one for all views
};

/// Rows between the stages: values[slot * slot_size + ((j * width + i + margin) * stride) + row].
struct StageRows {
  float* values = nullptr;
  int stride = 0;
  std::int64_t slot_size = 0;
};

__device__ float4 four_of(const float* values) {
  return *reinterpret_cast<const float4*>(values);
}
__device__ void add_weighted(float4& sum, float weight, float4 value) {
  sum.x += weight * value.x;
  sum.y += weight * value.y;
  sum.z += weight * value.z;
  sum.w += weight * value.w;
}

__global__ void __launch_bounds__(128)
    make_columns(StageViews views, DirectLattice voxels, RadialSteps steps, ColumnTables tables) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), slot = static_cast<int>(blockIdx.y);
  if (column >= tables.columns) return;
  const DeviceStages& stages = views[slot];
  const DeviceResampling& resampling = stages.resampling(tables.is_out);
  const ResamplingLaw& law = resampling.law;
  const Vec3d at = voxels.position(column % voxels.size[0], column / voxels.size[0], 0);
  const int profile = resampling.profiles == 1 ? 0 : steps.index(stages.frame.s(at));
  const std::int64_t table = tables.of(slot, views.index[slot], column);
  float* const u = tables.weights + table * tables.stride;
  float* const s = u + law.channels * law.count_u;
  tables.starts[table] =
      make_column(law, resampling.radial[profile], stages.between.coordinates(at), u, s, s + law.count_s);
}

/// sum[r] += weights over values[r], values[r + 1], ...: in whole blocks of weights, the last ones 0.
__device__ void add_window(const float* values, const float* weights, int blocks, float (&sum)[rows_a_lane]) {
  for (int b = 0; b < blocks; ++b) {
    const float4 low = four_of(weights + b * tap_block), high = four_of(weights + b * tap_block + 4);
    const float weight[tap_block] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    float window[tap_block + rows_a_lane - 1];
#pragma unroll
    for (int i = 0; i < tap_block + rows_a_lane - 1; ++i) window[i] = values[b * tap_block + i];
#pragma unroll
    for (int t = 0; t < tap_block; ++t)
#pragma unroll
      for (int r = 0; r < rows_a_lane; ++r) sum[r] += weight[t] * window[r + t];
  }
}

/// Shared memory of half a warp that spreads or collects: weights along z, in whole blocks, and rows with zeros before and
/// behind them.
struct ZMemory {
  int weights = 0, rows = 0, zeros = 0;  // floats; zeros on either side
  TOFSTREAM_HOST_DEVICE int floats() const { return weights + 2 * zeros + rows; }
};

/// spread[slot][channel][column][row] = what the column's voxels give to a row of the lattice.
__global__ void __launch_bounds__(stage_threads)
    spread_along_z(StageViews views, ColumnTables tables, int voxels, StageColumns from, int most_channels, int rows,
                   ZMemory memory, float* spread) {
  extern __shared__ float4 shared[];
  const int half = static_cast<int>(threadIdx.x) / half_lanes, lane = static_cast<int>(threadIdx.x) % half_lanes;
  const int slot = static_cast<int>(blockIdx.y);
  const int column = static_cast<int>(blockIdx.x) * halves_a_block + half;
  const bool is_column = column < tables.columns;
  const DeviceStages& stages = views[slot];
  const ResamplingLaw& law = stages.resampling(tables.is_out).law;
  const int channels = law.channels, count_k = law.count_k, fine = stages.fine, rows_here = stages.between.size[2];
  const std::int64_t table = tables.of(slot, views.index[slot], is_column ? column : 0);
  const float* const k = tables.weights + table * tables.stride + channels * law.count_u + law.count_s;
  const int first = tables.starts[table].k;
  const float* const x = from.values + slot * from.slot_size + std::int64_t{is_column ? column : 0} * from.stride;
  float* const weights = reinterpret_cast<float*>(shared) + half * memory.floats();
  float* const source = weights + memory.weights;
  for (int n = lane; n < 2 * memory.zeros + memory.rows; n += half_lanes) {
    const int z = n - memory.zeros;
    source[n] = z >= 0 && z < voxels ? x[z] : 0.0f;
  }
  const int phases_of_weights = fine == 1 ? count_k : (count_k + fine - 1) / fine,
            blocks = (phases_of_weights + tap_block - 1) / tap_block;
  for (int channel = 0; channel < channels; ++channel) {
    float* const to = spread + ((std::int64_t{slot} * most_channels + channel) * tables.columns + column) * rows;
    for (int phase = 0; phase < fine; ++phase) {
      // Rows phase, phase + fine, ...: row q of them has voxel q + shift - m with the weight m of its own.
      const int skipped = fine == 1 ? 0 : ((phase - first) % fine + fine) % fine;
      const int shift = fine == 1 ? -first : (phase - first - skipped) / fine;
      __syncwarp();
      for (int n = lane; n < memory.weights; n += half_lanes) {  // mirrored, so that voxels ascend
        const int m = skipped + fine * (blocks * tap_block - 1 - n);
        weights[n] = n < blocks * tap_block && m < count_k ? k[channel * count_k + m] : 0.0f;
      }
      __syncwarp();
      for (int q = rows_a_lane * lane; q * fine + phase < rows; q += rows_at_once) {
        float sum[rows_a_lane] = {};
        const int at = q + shift - (blocks * tap_block - 1) + memory.zeros;
        if (at >= 0 && at + blocks * tap_block + rows_a_lane <= 2 * memory.zeros + memory.rows)
          add_window(source + at, weights, blocks, sum);
        if (!is_column) continue;
        if (fine == 1) {  // `rows` are whole fours
          float value[rows_a_lane];
#pragma unroll
          for (int r = 0; r < rows_a_lane; ++r) value[r] = q + r < rows_here ? sum[r] : 0.0f;
          *reinterpret_cast<float4*>(to + q) = {value[0], value[1], value[2], value[3]};
          continue;
        }
#pragma unroll
        for (int r = 0; r < rows_a_lane; ++r) {
          const int row = (q + r) * fine + phase;
          if (row < rows) to[row] = row < rows_here ? sum[r] : 0.0f;
        }
      }
    }
  }
}

constexpr int points_a_half = 4;  // neighbours along a row of the lattice, which share the columns around them

/// Candidates about some neighbouring points of the lattice: a box of columns of voxels, of which those count that lie
/// within reach of any.
struct CandidateBox {
  float half_x = 0, half_y = 0;  // the box, in voxels
  int count_x = 1, count = 1;
  float u_of_x = 0, u_of_y = 0, s_of_x = 0, s_of_y = 0;  // points of the lattice a voxel
  float reach_u = 0, reach_s = 0;                        // points

  __device__ CandidateBox(const DeviceStages& stages, const ResamplingLaw& law, const DirectLattice& voxels) {
    constexpr float slack = 2e-3f;
    const DirectLattice& to = stages.between;
    u_of_x = static_cast<float>(to.cos_f * voxels.spacing_mm.x / to.spacing_mm.x);
    u_of_y = static_cast<float>(to.sin_f * voxels.spacing_mm.y / to.spacing_mm.x);
    s_of_x = static_cast<float>(-to.sin_f * voxels.spacing_mm.x / to.spacing_mm.y);
    s_of_y = static_cast<float>(to.cos_f * voxels.spacing_mm.y / to.spacing_mm.y);
    // A column's first point to its last are count - 1; the points' middle is half of theirs from the outer ones.
    reach_u = 0.5f * static_cast<float>(law.count_u) + 0.5f * (points_a_half - 1) + slack;
    reach_s = 0.5f * static_cast<float>(law.count_s) + slack;
    const auto u_mm = reach_u * static_cast<float>(to.spacing_mm.x),
               s_mm = reach_s * static_cast<float>(to.spacing_mm.y);
    const auto cosine = static_cast<float>(fabs(to.cos_f)), sine = static_cast<float>(fabs(to.sin_f));
    half_x = (cosine * u_mm + sine * s_mm) / static_cast<float>(voxels.spacing_mm.x) + slack;
    half_y = (sine * u_mm + cosine * s_mm) / static_cast<float>(voxels.spacing_mm.y) + slack;
    count_x = static_cast<int>(2 * half_x) + 1;
    count = count_x * (static_cast<int>(2 * half_y) + 1);
  }
};

/// What a half of a warp has found around its points, and has not added up yet.
struct FoundColumns {
  static constexpr int most = 32;
  float4 weight[most];  // of each point
  int column[most];     // of `spread`
};

/// Which rows a block makes of a histo-image's row or of columns, and where they go.
struct RowWork {
  int content_margin = 0;         // points beyond the lattice that have content: 0 or the convolution's reach
  int out_margin = 0;             // points beyond it that are made, likewise
  std::int64_t histo_points = 0;  // of a view
};

/// Adds up what has been found, four rows a lane.
__device__ void add_found(const FoundColumns& found, int count, const float* spread, int rows, bool has_rows,
                          float4 (&sum)[points_a_half]) {
  if (!has_rows) return;
#pragma unroll 4
  for (int e = 0; e < count; ++e) {
    const float4 weight = found.weight[e], value = four_of(spread + std::int64_t{found.column[e]} * rows);
    add_weighted(sum[0], weight.x, value);
    add_weighted(sum[1], weight.y, value);
    add_weighted(sum[2], weight.z, value);
    add_weighted(sum[3], weight.w, value);
  }
}

/// row[i] = what the columns around each point of a row of the lattice give to it. `offsets`: room for those of a box.
__device__ void gather_row(const StageViews& views, int slot, const ColumnTables& tables, const DirectLattice& voxels,
                           int j, int first_row, int begin, const RowWork& work, int most_channels, int rows,
                           const float* spread, FoundColumns* all_found, short2* offsets, float* row) {
  const DeviceStages& stages = views[slot];
  const ResamplingLaw& law = stages.resampling(tables.is_out).law;
  const int channels = law.channels, count_u = law.count_u, count_s = law.count_s;
  const int half = static_cast<int>(threadIdx.x) / half_lanes, lane = static_cast<int>(threadIdx.x) % half_lanes;
  const unsigned half_shift = (half % 2) * half_lanes;
  FoundColumns& found = all_found[half];
  const int my_row = first_row + rows_a_lane * lane;
  const bool has_rows = my_row < rows;
  const float* const my_spread = spread + std::int64_t{slot} * most_channels * tables.columns * rows + my_row;
  const int margin = work.content_margin > 0 ? stages.reach : 0;
  const int end = stages.between.size[0] + margin;
  const CandidateBox box(stages, law, voxels);
  for (int n = static_cast<int>(threadIdx.x); n < box.count; n += row_threads)
    offsets[n] = {static_cast<short>(n % box.count_x), static_cast<short>(n / box.count_x)};
  __syncthreads();
  // Points of a row lie on a line.
  const Vec3d origin = voxels.coordinates(stages.between.position(0, j, 0));
  const Vec3d next = voxels.coordinates(stages.between.position(1, j, 0));
  const std::int64_t first_table = tables.of(slot, views.index[slot], 0);
  // Both halves of a warp take part in all rounds.
  for (int i_first = -margin + half / 2 * 2 * points_a_half; i_first < end; i_first += halves_a_row * points_a_half) {
    const int i = i_first + half % 2 * points_a_half;
    const double middle = i + 0.5 * (points_a_half - 1);
    const auto x = static_cast<float>(origin.x + middle * (next.x - origin.x)),
               y = static_cast<float>(origin.y + middle * (next.y - origin.y));
    const int x0 = static_cast<int>(ceilf(x - box.half_x)), y0 = static_cast<int>(ceilf(y - box.half_y));
    float4 sum[points_a_half] = {};
    int count = 0;
    for (int round = 0; round < box.count; round += half_lanes) {
      const short2 offset = offsets[min(round + lane, box.count - 1)];
      const int at_x = x0 + offset.x, at_y = y0 + offset.y;
      const float dx = x - static_cast<float>(at_x), dy = y - static_cast<float>(at_y);
      bool is_near = i < end && round + lane < box.count && at_x >= 0 && at_y >= 0 && at_x < voxels.size[0] &&
                     at_y < voxels.size[1] && fabsf(dx * box.u_of_x + dy * box.u_of_y) <= box.reach_u &&
                     fabsf(dx * box.s_of_x + dy * box.s_of_y) <= box.reach_s;
      const int column = at_y * voxels.size[0] + at_x;
      const float* weights = nullptr;
      int at_u = 0;
      float across = 0;
      if (is_near) {
        const ColumnStart start = tables.starts[first_table + column];
        weights = tables.weights + (first_table + column) * tables.stride;
        at_u = i - start.u;
        const int at_s = j - start.s;
        is_near = at_u > -points_a_half && at_u < count_u && at_s >= 0 && at_s < count_s;
        if (is_near) across = weights[channels * count_u + at_s];
        is_near = is_near && across != 0;
      }
      const unsigned which = (__ballot_sync(~0u, is_near) >> half_shift) & 0xffffu;
      for (int channel = 0; channel < channels; ++channel) {
        if (__any_sync(~0u, count > FoundColumns::most - half_lanes)) {
          __syncwarp();
          add_found(found, count, my_spread, rows, has_rows, sum);
          __syncwarp();
          count = 0;
        }
        if (is_near) {
          const int to = count + __popc(which & ((1u << lane) - 1));
          const auto weight = [&](int e) {
            const int at = at_u + e;
            return at >= 0 && at < count_u ? across * weights[channel * count_u + at] : 0.0f;
          };
          found.weight[to] = {weight(0), weight(1), weight(2), weight(3)};
          found.column[to] = channel * tables.columns + column;
        }
        count += __popc(which);
      }
    }
    __syncwarp();
    add_found(found, count, my_spread, rows, has_rows, sum);
    __syncwarp();
#pragma unroll
    for (int e = 0; e < points_a_half; ++e)
      if (i + e < end) *reinterpret_cast<float4*>(row + (i + e - begin) * rows_at_once + rows_a_lane * lane) = sum[e];
  }
}

/// In shared memory: lanes that load neighbouring points then use different banks.
constexpr int loaded_stride = rows_at_once + 1;
template <bool gathers>
constexpr int row_stride = gathers ? rows_at_once : loaded_stride;

/// row[i] = a row of a histo-image, of rows [first_row, ...); null stands for ones.
__device__ void load_row(const DeviceStages& stages, int j, int first_row, int begin, const float* histo, float* row) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes, warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const int points = stages.between.size[0], rows = min(stages.between.size[2] - first_row, rows_at_once);
  const std::int64_t slice = std::int64_t{points} * stages.between.size[1];
  const float* const from = histo ? histo + stages.between.index(0, j, first_row) : nullptr;
  for (int k = warp; k < rows; k += row_threads / warp_lanes)
#pragma unroll 4
    for (int i = lane; i < points; i += warp_lanes)
      row[(i - begin) * loaded_stride + k] = from ? from[k * slice + i] : 1.0f;
}

/// sums[e] = the convolution at the point e behind `from`, for a row of the column.
template <int stride>
__device__ void convolve(const float* from, const float* rest, int blocks, float (&sums)[outputs_a_thread]) {
#pragma unroll
  for (float& sum : sums) sum = 0;
  for (int b = 0; b < blocks; ++b) {
    const float4 low = four_of(rest + b * tap_block), high = four_of(rest + b * tap_block + 4);
    const float weight[tap_block] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int i = 0; i < outputs_a_thread + tap_block - 1; ++i) {
      const float value = from[(b * tap_block + i) * stride];
#pragma unroll
      for (int t = 0; t < tap_block; ++t)
        if (i - t >= 0 && i - t < outputs_a_thread) sums[i - t] += weight[t] * value;
    }
  }
}

/// Makes one row of the lattice, of one view and 64 of its rows along z: from the columns that were spread, or from
/// `histo`; into `made`, or where that has no values into `expectation`.
template <bool gathers>
__global__ void __launch_bounds__(row_threads, 2)
    make_rows(StageViews views, ColumnTables tables, DirectLattice voxels, RowWork work, int most_channels, int rows,
              int row_floats, const float* spread, const float* histo, StageRows made, float* expectation) {
  extern __shared__ float4 shared[];
  __shared__ FoundColumns found[gathers ? halves_a_row : 1];
  constexpr int stride = row_stride<gathers>;
  float* const row = reinterpret_cast<float*>(shared);
  short2* const offsets = reinterpret_cast<short2*>(row + row_floats);
  const int j = static_cast<int>(blockIdx.x), slot = static_cast<int>(blockIdx.y);
  const int first_row = static_cast<int>(blockIdx.z) * rows_at_once;
  const DeviceStages& stages = views[slot];
  const DirectLattice& lattice = stages.between;
  if (j >= lattice.size[1] || first_row >= to_four(lattice.size[2])) return;
  const int out_margin = work.out_margin > 0 ? stages.reach : 0, begin = -(out_margin + stages.reach);
  const int floats = (lattice.size[0] - 2 * begin + spare_points) * stride;
  for (int f = 4 * static_cast<int>(threadIdx.x); f < floats; f += 4 * row_threads) shared[f / 4] = float4{};
  __syncthreads();
  if (gathers)
    gather_row(views, slot, tables, voxels, j, first_row, begin, work, most_channels, rows, spread, found, offsets,
               row);
  else
    load_row(stages, j, first_row, begin, histo ? histo + slot * work.histo_points : nullptr, row);
  __syncthreads();

  const int k = static_cast<int>(threadIdx.x) % rows_at_once, made_points = lattice.size[0] + 2 * out_margin;
  for (int first = static_cast<int>(threadIdx.x) / rows_at_once * outputs_a_thread; first < made_points;
       first += row_threads / rows_at_once * outputs_a_thread) {
    float sums[outputs_a_thread];
    convolve<stride>(row + first * stride + k, stages.rest, stages.blocks, sums);
    if (made.values) {
      float* const to =
          made.values + slot * made.slot_size + std::int64_t{j} * made_points * made.stride + first_row + k;
#pragma unroll
      for (int e = 0; e < outputs_a_thread; ++e)
        if (first + e < made_points && first_row + k < made.stride) to[std::int64_t{first + e} * made.stride] = sums[e];
    } else if (first_row + k < lattice.size[2]) {
      float* const to = expectation + slot * work.histo_points + lattice.index(first, j, first_row + k);
#pragma unroll
      for (int e = 0; e < outputs_a_thread; ++e)
        if (first + e < made_points) to[e] = sums[e];
    }
  }
}

/// Shared memory of half a warp that collects for a column: its weights, those along z of one channel and phase, the rows
/// of some channels by phase, and sums of voxels.
struct CollectMemory {
  int record = 0;  // floats
  ZMemory z;       // rows of a phase
  int channels = 1, fine = 1, voxels = 0;
  TOFSTREAM_HOST_DEVICE int of_phase() const { return z.rows + 2 * z.zeros; }
  TOFSTREAM_HOST_DEVICE int floats() const { return record + z.weights + channels * fine * of_phase() + voxels; }
};

/// sum[c] += across times the points' rows that a line has for a column, by the weights of each channel. `known`: how many
/// points, or 0.
template <int channels_at_once, int known>
__device__ void add_line(const float* line, int stride, int begin, int end, const float* weights, int count_u,
                         float across, float4 (&sum)[channels_at_once]) {
  float4 of_line[channels_at_once] = {};
  const auto add = [&](int a, float4 value) {
#pragma unroll
    for (int c = 0; c < channels_at_once; ++c) add_weighted(of_line[c], weights[c * count_u + a], value);
  };
  if (known > 0) {
    float4 value[known > 0 ? known : 1];
#pragma unroll
    for (int a = 0; a < known; ++a) value[a] = four_of(line + a * stride);
#pragma unroll
    for (int a = 0; a < known; ++a) add(a, value[a]);
  } else {
    for (int a = begin; a < end; ++a) add(a, four_of(line + std::int64_t{a} * stride));
  }
#pragma unroll
  for (int c = 0; c < channels_at_once; ++c) add_weighted(sum[c], across, of_line[c]);
}

/// columns (+)= what the points around each column of voxels have; of all views in turn where `to` is one for all.
template <int channels_at_once>
__global__ void __launch_bounds__(stage_threads)
    collect(StageViews views, ColumnTables tables, int voxels, bool has_margin, int rows, CollectMemory memory,
            StageRows from, bool adds, StageColumns to) {
  extern __shared__ float4 shared[];
  const int half = static_cast<int>(threadIdx.x) / half_lanes, lane = static_cast<int>(threadIdx.x) % half_lanes;
  const int column = static_cast<int>(blockIdx.x) * static_cast<int>(blockDim.x) / half_lanes + half;
  const bool is_column = column < tables.columns;
  float* const record = reinterpret_cast<float*>(shared) + half * memory.floats();
  float* const z_weights = record + memory.record;
  float* const gathered = z_weights + memory.z.weights;
  float* const sums = gathered + channels_at_once * memory.fine * memory.of_phase();
  for (int n = lane; n < memory.floats(); n += half_lanes) record[n] = 0;
  const int begin = to.slot_size == 0 ? 0 : static_cast<int>(blockIdx.y);
  const int end = to.slot_size == 0 ? views.count : begin + 1;
  for (int slot = begin; slot < end; ++slot) {
    const DeviceStages& stages = views[slot];
    const DirectLattice& lattice = stages.between;
    const ResamplingLaw& law = stages.resampling(tables.is_out).law;
    const int channels = law.channels, count_u = law.count_u, count_s = law.count_s, count_k = law.count_k;
    const int lines = lattice.size[1], lattice_rows = lattice.size[2], fine = stages.fine;
    const int floats = channels * count_u + count_s + channels * count_k;
    const std::int64_t table = tables.of(slot, views.index[slot], is_column ? column : 0);
    const ColumnStart start = tables.starts[table];
    __syncwarp();
    for (int n = lane; n < floats; n += half_lanes) record[n] = tables.weights[table * tables.stride + n];
    // What a group of channels reads beyond the last one is multiplied into nothing that is used.
    __syncwarp();
    const float* const in_s = record + channels * count_u;
    const float* const in_k = in_s + count_s;
    const int margin = has_margin ? stages.reach : 0, width = lattice.size[0] + 2 * margin;
    const int first_u = start.u + margin, begin_u = max(0, -first_u), end_u = min(count_u, width - first_u);
    for (int channel = 0; channel < channels; channel += channels_at_once) {
      for (int row = rows_a_lane * lane; row < rows; row += rows_at_once) {
        float4 sum[channels_at_once] = {};
        const float* const of_slot = from.values + slot * from.slot_size + std::int64_t{first_u} * from.stride + row;
        const auto add_lines = [&]<int known>(std::integral_constant<int, known>) {
          for (int b = max(0, -start.s); b < min(count_s, lines - start.s); ++b)
            add_line<channels_at_once, known>(of_slot + std::int64_t{start.s + b} * width * from.stride, from.stride,
                                              begin_u, end_u, record + channel * count_u, count_u, in_s[b], sum);
        };
        const bool is_whole = begin_u == 0 && end_u == count_u;
        if (is_column && is_whole && count_u == 6)
          add_lines(std::integral_constant<int, 6>());
        else if (is_column && is_whole && count_u == 7)
          add_lines(std::integral_constant<int, 7>());
        else if (is_column)
          add_lines(std::integral_constant<int, 0>());
#pragma unroll
        for (int c = 0; c < channels_at_once; ++c) {
          const bool is_one = channel + c < channels;
          if (fine == 1 && row + rows_a_lane <= lattice_rows) {
            *reinterpret_cast<float4*>(gathered + c * memory.of_phase() + memory.z.zeros + row) =
                is_one ? sum[c] : float4{};
            continue;
          }
          const float value[rows_a_lane] = {sum[c].x, sum[c].y, sum[c].z, sum[c].w};
#pragma unroll
          for (int r = 0; r < rows_a_lane; ++r) {
            const int at = row + r, phase = fine == 1 ? 0 : at % fine, q = fine == 1 ? at : at / fine;
            if (q < memory.z.rows)
              gathered[(c * fine + phase) * memory.of_phase() + memory.z.zeros + q] =
                  at < lattice_rows && is_one ? value[r] : 0.0f;
          }
        }
      }
      const int weights_of_phase = fine == 1 ? count_k : (count_k + fine - 1) / fine;
      const int blocks = (weights_of_phase + tap_block - 1) / tap_block;
      for (int c = 0; c < channels_at_once && channel + c < channels; ++c)
        for (int phase = 0; phase < fine; ++phase) {
          // Voxel z has rows z + shift + m of a phase, with the weight m of its own.
          const int skipped = fine == 1 ? 0 : ((phase - start.k) % fine + fine) % fine;
          const int shift = fine == 1 ? start.k : (start.k + skipped - phase) / fine;
          __syncwarp();
          for (int n = lane; n < memory.z.weights; n += half_lanes) {
            const int m = skipped + fine * n;
            z_weights[n] = m < count_k ? in_k[(channel + c) * count_k + m] : 0.0f;
          }
          __syncwarp();
          const float* const of_phase = gathered + (c * fine + phase) * memory.of_phase();
          for (int z = rows_a_lane * lane; z < voxels; z += rows_at_once) {
            const int at = z + shift + memory.z.zeros;
            if (at < 0 || at + blocks * tap_block + rows_a_lane > memory.of_phase()) continue;
            float4 of_four = four_of(sums + z);
            float sum[rows_a_lane] = {of_four.x, of_four.y, of_four.z, of_four.w};
            add_window(of_phase + at, z_weights, blocks, sum);
            of_four = {sum[0], sum[1], sum[2], sum[3]};
            *reinterpret_cast<float4*>(sums + z) = of_four;
          }
        }
      __syncwarp();
    }
  }
  if (!is_column) return;
  float* const out = to.values + begin * to.slot_size + std::int64_t{column} * to.stride;
  for (int z = lane; z < voxels; z += half_lanes) out[z] = adds ? out[z] + sums[z] : sums[z];
}

constexpr int flip_tile = 32, flip_rows = 8;

/// columns[slot][column][z] = image[slot][z][column]; null stands for ones.
__global__ void to_columns(const float* image, std::int64_t image_size, int columns, int voxels, StageColumns to) {
  __shared__ float values[flip_tile][flip_tile + 1];
  const int slot = static_cast<int>(blockIdx.z);
  const int column = static_cast<int>(blockIdx.x) * flip_tile + static_cast<int>(threadIdx.x);
  for (int n = threadIdx.y; n < flip_tile; n += flip_rows) {
    const int z = static_cast<int>(blockIdx.y) * flip_tile + n;
    if (z < voxels && column < columns)
      values[n][threadIdx.x] = image ? image[slot * image_size + std::int64_t{z} * columns + column] : 1.0f;
  }
  __syncthreads();
  const int z = static_cast<int>(blockIdx.y) * flip_tile + static_cast<int>(threadIdx.x);
  for (int n = threadIdx.y; n < flip_tile; n += flip_rows) {
    const int at = static_cast<int>(blockIdx.x) * flip_tile + n;
    if (at < columns && z < voxels)
      to.values[slot * to.slot_size + std::int64_t{at} * to.stride + z] = values[threadIdx.x][n];
  }
}

/// Its transpose: image[slot][z][column] (+)= columns[slot][column][z].
__global__ void from_columns(StageColumns from, int columns, int voxels, bool adds, float* image,
                             std::int64_t image_size) {
  __shared__ float values[flip_tile][flip_tile + 1];
  const int slot = static_cast<int>(blockIdx.z);
  const int z = static_cast<int>(blockIdx.y) * flip_tile + static_cast<int>(threadIdx.x);
  for (int n = threadIdx.y; n < flip_tile; n += flip_rows) {
    const int column = static_cast<int>(blockIdx.x) * flip_tile + n;
    if (column < columns && z < voxels)
      values[n][threadIdx.x] = from.values[slot * from.slot_size + std::int64_t{column} * from.stride + z];
  }
  __syncthreads();
  const int column = static_cast<int>(blockIdx.x) * flip_tile + static_cast<int>(threadIdx.x);
  for (int n = threadIdx.y; n < flip_tile; n += flip_rows) {
    const int at = static_cast<int>(blockIdx.y) * flip_tile + n;
    if (column >= columns || at >= voxels) continue;
    float& to = image[slot * image_size + std::int64_t{at} * columns + column];
    to = adds ? to + values[threadIdx.x][n] : values[threadIdx.x][n];
  }
}

unsigned parts(std::int64_t size, std::int64_t part) {
  return static_cast<unsigned>((size + part - 1) / part);
}

std::size_t most_shared_bytes() {
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "ask for shared memory");
  return static_cast<std::size_t>(most);
}

class TwoStageCuda final : public DirectProjector {
 public:
  TwoStageCuda(const Grid& grid, const ViewSet& set, const DirectSettings& settings)
      : DirectProjector(grid, set, settings, Backend::cuda),
        voxels_(DirectLattice::of(grid, HistoLattice::image, {})),
        on_image_(settings.lattice == HistoLattice::image),
        most_shared_(most_shared_bytes()) {
    make_stages();
    require_room();
    make_tables();
    image_columns_ = Buffer<float>(Memory::device, std::int64_t{columns()} * column_stride());
    synchronize(nullptr);  // what is here may next be used on any stream
  }

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views(views);
    const StageColumns voxels{image_columns_.data(), column_stride(), 0};
    queue_to_columns(image, 1, voxels, stream);
    for_each_group(
        views,
        [&](const StageViews& group, int first) {
          float* const histo = expectation + first * points();
          const ColumnTables in = tables(in_tables_, group, false, stream);
          queue_spread(group, in, voxels, stream);
          if (!on_image_) return queue_rows(group, in, {1, 0, points()}, nullptr, {}, histo, stream);
          queue_rows(group, in, {1, 0, points()}, nullptr, rows_between(), nullptr, stream);
          const StageColumns out{histo_columns_.data(), column_stride(), std::int64_t{columns()} * column_stride()};
          queue_collect(group, tables(out_tables_, group, true, stream), false, false, out, stream);
          queue_from_columns(out, group.count, false, histo, stream);
        },
        stream);
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views(views);
    if (views.views == 0) return;
    const StageColumns sum{image_columns_.data(), column_stride(), 0};
    for_each_group(
        views,
        [&](const StageViews& group, int first) {
          const float* const histo = values ? values + first * points() : nullptr;
          const ColumnTables in = tables(in_tables_, group, false, stream);
          if (on_image_) {
            const StageColumns columns_of_histo{histo_columns_.data(), column_stride(),
                                                std::int64_t{columns()} * column_stride()};
            queue_to_columns(histo, group.count, columns_of_histo, stream);
            const ColumnTables out = tables(out_tables_, group, true, stream);
            queue_spread(group, out, columns_of_histo, stream);
            queue_rows(group, out, {0, 1, points()}, nullptr, rows_between(), nullptr, stream);
          } else {
            queue_rows(group, {}, {0, 1, points()}, histo, rows_between(), nullptr, stream);
          }
          queue_collect(group, in, true, first > 0, sum, stream);
        },
        stream);
    queue_from_columns(sum, 1, true, image, stream);
  }

 private:
  int columns() const { return static_cast<int>(grid().stride(2)); }
  int column_stride() const { return to_four(grid().size[2]); }
  StageRows rows_between() { return {rows_.data(), rows_stride_, most_row_floats_}; }

  /// What is the same in each call: the views' splits, and the largest of their sizes.
  void make_stages() {
    const std::size_t places = frames().size();
    std::vector<std::optional<TwoStageSplit>> splits(places);
    tbb::parallel_for(std::size_t{0}, places, [&](std::size_t p) {
      splits[p].emplace(grid(), frames()[p], settings().kernel, profiles(), settings().lattice);
    });
    std::vector<RadialGaussian> parts_of_all;
    std::vector<float> rest;
    std::vector<RadialLaw> laws;
    std::vector<std::size_t> part_begins;  // of laws
    const auto add_laws = [&](const TwoStageSplit& split, const ResamplingKernel& kernel) {
      for (std::size_t a = 0; a < kernel.radial.size(); ++a) {
        const RadialProfile& radial = kernel.radial[a];
        part_begins.push_back(parts_of_all.size());
        laws.push_back({nullptr, static_cast<int>(radial.size()), radial_reach_mm(radial, split.cut), kernel.sums[a]});
        parts_of_all.insert(parts_of_all.end(), radial.begin(), radial.end());
      }
    };
    std::vector<DeviceStages> stages(places);
    std::vector<std::size_t> in_laws(places), out_laws(places), rest_begins(places);
    for (std::size_t p = 0; p < places; ++p) {
      const TwoStageSplit& split = *splits[p];
      DeviceStages& to = stages[p];
      to.between = split.between;
      to.frame = frames()[p];
      to.fine = split.fine;
      in_laws[p] = laws.size();
      add_laws(split, split.in);
      to.in = {law_of(split, split.in), nullptr, static_cast<int>(split.in.radial.size())};
      out_laws[p] = laws.size();
      if (split.out) {
        add_laws(split, *split.out);
        to.out = {law_of(split, *split.out), nullptr, static_cast<int>(split.out->radial.size())};
      }
      const std::vector<float> weights = split.rest_weights(static_cast<double>(settings().kernel.cut_sigma));
      to.reach = static_cast<int>(weights.size() / 2);
      to.blocks = static_cast<int>(parts(static_cast<std::int64_t>(weights.size()), tap_block));
      rest_begins[p] = rest.size();
      rest.insert(rest.end(), weights.begin(), weights.end());
      rest.resize(rest_begins[p] + static_cast<std::size_t>(to.blocks * tap_block), 0.0f);
      note_sizes(to);
    }
    radial_parts_ = Buffer<RadialGaussian>::from(parts_of_all).to(Memory::device);
    for (std::size_t a = 0; a < laws.size(); ++a) laws[a].parts = radial_parts_.data() + part_begins[a];
    radial_laws_ = Buffer<RadialLaw>::from(laws).to(Memory::device);
    rest_ = Buffer<float>::from(rest).to(Memory::device);
    for (std::size_t p = 0; p < places; ++p) {
      stages[p].in.radial = radial_laws_.data() + in_laws[p];
      stages[p].out.radial = radial_laws_.data() + out_laws[p];
      stages[p].rest = rest_.data() + rest_begins[p];
    }
    stages_ = Buffer<DeviceStages>::from(stages).to(Memory::device);
    std::vector<std::int32_t> all(places);
    for (std::size_t p = 0; p < places; ++p) all[p] = static_cast<std::int32_t>(p);
    all_places_ = Buffer<std::int32_t>::from(all).to(Memory::device);
    synchronize(nullptr);  // the host's copies may go
  }

  void note_sizes(const DeviceStages& stages) {
    const DirectLattice& lattice = stages.between;
    most_rows_ = std::max(most_rows_, to_four(lattice.size[2]));
    most_lines_ = std::max(most_lines_, lattice.size[1]);
    most_points_ = std::max(most_points_, lattice.size[0]);
    most_reach_ = std::max(most_reach_, stages.reach);
    most_channels_ = std::max({most_channels_, stages.in.law.channels, stages.out.law.channels});
    most_count_k_ = std::max({most_count_k_, stages.in.law.count_k, stages.out.law.count_k});
    fine_ = stages.fine;
    for (const ResamplingLaw* const law : {&stages.in.law, &stages.out.law})
      most_box_ = std::max(most_box_, box_of(stages, *law));
    in_stride_ = std::max(in_stride_, to_four(stages.in.floats()));
    if (on_image_) out_stride_ = std::max(out_stride_, to_four(stages.out.floats()));
    rows_stride_ = most_rows_;
    most_row_floats_ = std::int64_t{most_lines_} * (most_points_ + 2 * most_reach_) * rows_stride_;
  }

  /// Candidates of a box, at most: see CandidateBox.
  int box_of(const DeviceStages& stages, const ResamplingLaw& law) const {
    const Vec3d spacing = stages.between.spacing_mm;
    const double u_mm = (0.5 * law.count_u + 2) * spacing.x, s_mm = (0.5 * law.count_s + 1) * spacing.y;
    const double reach_mm = std::hypot(u_mm, s_mm);  // of any angle
    return (static_cast<int>(2 * reach_mm / voxels_.spacing_mm.x) + 2) *
           (static_cast<int>(2 * reach_mm / voxels_.spacing_mm.y) + 2);
  }
  int row_floats(bool gathers, int out_margin) const {
    return to_four((gathers ? row_stride<true>
                            : row_stride<false>)*(most_points_ + 2 * (most_reach_ + out_margin) + spare_points));
  }
  std::size_t row_bytes(bool gathers, int out_margin) const {
    const std::size_t offsets = gathers ? sizeof(short2) * static_cast<std::size_t>(most_box_) : 0;
    return sizeof(float) * static_cast<std::size_t>(row_floats(gathers, out_margin)) + offsets;
  }
  ZMemory z_memory(int rows) const {
    const int weights = static_cast<int>(parts(most_count_k_, tap_block)) * tap_block;
    return {weights, to_four(rows), weights + rows_a_lane};
  }
  CollectMemory collect_memory() const {
    return {std::max(in_stride_, out_stride_), z_memory(static_cast<int>(parts(most_rows_, fine_))), channels_at_once(),
            fine_, to_four(grid().size[2])};
  }
  int channels_at_once() const { return std::min(most_channels_, 3); }
  /// Threads of a block that collects, by what its halves of warps need of shared memory.
  int collect_threads() const {
    int threads = stage_threads;
    while (threads > warp_lanes && collect_bytes(threads) > most_shared_) threads /= 2;
    return threads;
  }
  std::size_t collect_bytes(int threads) const {
    return sizeof(float) * static_cast<std::size_t>(collect_memory().floats()) *
           static_cast<std::size_t>(threads / half_lanes);
  }
  void require_room() const {
    constexpr std::size_t found = sizeof(FoundColumns) * halves_a_row;
    const std::size_t rows =
        std::max(row_bytes(true, on_image_ ? most_reach_ : 0) + found, row_bytes(false, most_reach_));
    if (rows <= most_shared_ && collect_bytes(warp_lanes) <= most_shared_ && spread_bytes() <= most_shared_) return;
    throw std::invalid_argument(
        "the image's rows are longer than this GPU's shared memory allows two_stage: take larger voxels, operator "
        "one_stage, or backend: cpu");
  }

  std::size_t spread_bytes() const {
    return sizeof(float) * static_cast<std::size_t>(z_memory(grid().size[2]).floats()) * halves_a_block;
  }

  struct Tables {
    Buffer<float> weights;
    Buffer<ColumnStart> starts;
    bool by_place = false;
  };

  /// Those of all places, where there is room for them.
  void make_tables() {
    const auto places = static_cast<std::int64_t>(frames().size());
    const auto bytes = static_cast<std::size_t>(places * columns() * (in_stride_ + out_stride_)) * sizeof(float);
    if (bytes > most_bytes_of_direct_tables) return;
    const StageViews all{stages_.data(), all_places_.data(), static_cast<int>(places)};
    for (const bool is_out : {false, true}) {
      if (is_out && !on_image_) continue;
      Tables& to = is_out ? out_tables_ : in_tables_;
      to.by_place = true;
      make_room_for(to, places, is_out ? out_stride_ : in_stride_, nullptr);
      queue_tables(to, all, is_out, nullptr);
    }
  }
  void make_room_for(Tables& to, std::int64_t tables, int stride, Stream stream) const {
    make_room(to.weights, Memory::device, tables * columns() * stride, stream);
    if (to.starts.size() < tables * columns())
      to.starts = Buffer<ColumnStart>(Memory::device, tables * columns(), stream);
  }
  ColumnTables queue_tables(Tables& in, const StageViews& views, bool is_out, Stream stream) const {
    const ColumnTables made{in.weights.data(), in.starts.data(), is_out ? out_stride_ : in_stride_,
                            columns(),         in.by_place,      is_out};
    make_columns<<<dim3(parts(columns(), 128), static_cast<unsigned>(views.count)), 128, 0, stream>>>(
        views, voxels_, profiles().steps(), made);
    check_launch("make the weights of views");
    return made;
  }
  ColumnTables tables(Tables& of, const StageViews& group, bool is_out, Stream stream) {
    const int stride = is_out ? out_stride_ : in_stride_;
    if (of.by_place) return {of.weights.data(), of.starts.data(), stride, columns(), true, is_out};
    make_room_for(of, group.count, stride, stream);
    return queue_tables(of, group, is_out, stream);
  }

  /// Calls work(group, first view) for views whose stages fit the second-level cache.
  template <class Work>
  void for_each_group(const Views& views, const Work& work, Stream stream) {
    const std::int64_t spread = std::int64_t{most_channels_} * columns() * most_rows_;
    const std::int64_t a_view = spread + most_row_floats_ + (on_image_ ? std::int64_t{columns()} * column_stride() : 0);
    const auto held = static_cast<std::int64_t>(most_bytes_of_direct_stages / sizeof(float)) / a_view;
    constexpr std::int64_t most = 1 << 14;  // a grid of blocks has no more than 65535 along y
    const auto group = static_cast<int>(std::clamp<std::int64_t>(held, 1, std::min<std::int64_t>(views.views, most)));
    make_room(spread_, Memory::device, spread * group, stream);
    make_room(rows_, Memory::device, most_row_floats_ * group, stream);
    if (on_image_) make_room(histo_columns_, Memory::device, std::int64_t{columns()} * column_stride() * group, stream);
    for (int first = 0; first < views.views; first += group)
      work(StageViews{stages_.data(), views.index + first, std::min(group, views.views - first)}, first);
  }

  void queue_to_columns(const float* image, int slots, const StageColumns& to, Stream stream) const {
    const dim3 blocks(parts(columns(), flip_tile), parts(grid().size[2], flip_tile), static_cast<unsigned>(slots));
    to_columns<<<blocks, dim3(flip_tile, flip_rows), 0, stream>>>(image, grid().voxels(), columns(), grid().size[2],
                                                                  to);
    check_launch("put images into columns");
  }
  void queue_from_columns(const StageColumns& from, int slots, bool adds, float* image, Stream stream) const {
    const dim3 blocks(parts(columns(), flip_tile), parts(grid().size[2], flip_tile), static_cast<unsigned>(slots));
    from_columns<<<blocks, dim3(flip_tile, flip_rows), 0, stream>>>(from, columns(), grid().size[2], adds, image,
                                                                    grid().voxels());
    check_launch("put columns into images");
  }

  void queue_spread(const StageViews& group, const ColumnTables& tables, const StageColumns& from, Stream stream) {
    const dim3 blocks(parts(columns(), halves_a_block), static_cast<unsigned>(group.count));
    const std::size_t bytes = spread_bytes();
    check_cuda(
        cudaFuncSetAttribute(spread_along_z, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "take shared memory");
    spread_along_z<<<blocks, stage_threads, bytes, stream>>>(group, tables, grid().size[2], from, most_channels_,
                                                             most_rows_, z_memory(grid().size[2]), spread_.data());
    check_launch("spread voxels along z");
  }

  /// From `histo` where there is one, or the tables are empty; else from what was spread.
  void queue_rows(const StageViews& group, const ColumnTables& tables, const RowWork& work, const float* histo,
                  const StageRows& made, float* expectation, Stream stream) {
    const bool gathers = tables.weights != nullptr;
    const int out_margin = work.out_margin > 0 ? most_reach_ : 0;
    const std::size_t bytes = row_bytes(gathers, out_margin);
    const dim3 blocks(static_cast<unsigned>(most_lines_), static_cast<unsigned>(group.count),
                      parts(most_rows_, rows_at_once));
    const auto kernel = gathers ? make_rows<true> : make_rows<false>;
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               "take shared memory");
    kernel<<<blocks, row_threads, bytes, stream>>>(group, tables, voxels_, work, most_channels_, most_rows_,
                                                   row_floats(gathers, out_margin), spread_.data(), histo, made,
                                                   expectation);
    check_launch("make rows of views");
  }

  void queue_collect(const StageViews& group, const ColumnTables& tables, bool has_margin, bool adds,
                     const StageColumns& to, Stream stream) {
    const int threads = collect_threads();
    const std::size_t bytes = collect_bytes(threads);
    const dim3 blocks(parts(columns(), threads / half_lanes),
                      to.slot_size == 0 ? 1u : static_cast<unsigned>(group.count));
    const auto kernel = channels_at_once() == 1 ? collect<1> : channels_at_once() == 2 ? collect<2> : collect<3>;
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               "take shared memory");
    kernel<<<blocks, static_cast<unsigned>(threads), bytes, stream>>>(
        group, tables, grid().size[2], has_margin, most_rows_, collect_memory(), rows_between(), adds, to);
    check_launch("collect views");
  }

  DirectLattice voxels_;
  bool on_image_;
  std::size_t most_shared_;
  int most_rows_ = 0, most_lines_ = 0, most_points_ = 0, most_reach_ = 0, most_channels_ = 1;
  int in_stride_ = 0, out_stride_ = 0, rows_stride_ = 0, most_count_k_ = 1, most_box_ = 1, fine_ = 1;
  std::int64_t most_row_floats_ = 0;
  Buffer<RadialGaussian> radial_parts_;
  Buffer<RadialLaw> radial_laws_;
  Buffer<float> rest_;
  Buffer<DeviceStages> stages_;
  Buffer<std::int32_t> all_places_;
  Tables in_tables_, out_tables_;
  Buffer<float> image_columns_, spread_, rows_, histo_columns_;
};

}  // namespace

std::unique_ptr<ViewProjector> make_two_stage_cuda(const Grid& grid, const ViewSet& set,
                                                   const DirectSettings& settings) {
  return std::make_unique<TwoStageCuda>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
