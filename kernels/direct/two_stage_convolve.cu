// The second stage of two_stage on CUDA: the convolution along the view. See two_stage_cuda.cuh.
#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/check.hpp"
#include "kernels/direct/two_stage_along.cuh"
#include "kernels/direct/two_stage_lines.cuh"

namespace tofstream::two_stage {

namespace {

// A block has some rows of a line, and a thread some neighbouring points of a row.
constexpr int convolve_threads = 384, convolve_blocks = 3;
constexpr int few_rows = 16, many_rows = 32;  // of a block
// Lattices with so many rows a voxel take the voxels' weights in turn: each phase of them has few_rows.
constexpr int fine_phases = 3, fine_rows = fine_phases * few_rows;

/// How much of voxels' rows a block reads of each point for its rows of the lattice, of so many phases.
struct Window {
  int fours = 0, stride = 0;  // of points: odd, so that neighbouring ones use different banks
  unsigned inverse = 0;       // of the fours, times 2^32

  static Window of(int rows, int phases, int blocks_of_taps) {
    // Where phases begin differs by a voxel at most.
    const int fours = to_four(rows / phases + (phases > 1 ? 1 : 0) + blocks_of_taps * tap_block - 1 + 3) / 4;
    return {fours, LineRows::odd(4 * fours),
            static_cast<unsigned>((std::uint64_t{1} << 32) / static_cast<unsigned>(fours)) + 1};
  }
  /// Of the n-th four of all points: exact where n times the fours is below 2^32.
  __device__ int point(int n) const { return static_cast<int>(__umulhi(static_cast<unsigned>(n), inverse)); }
};

/// A thread's row, and where its points begin: it takes every so many.
struct RowShare {
  int row = 0, first = 0, step = 0;
  __device__ explicit RowShare(int rows)
      : row(static_cast<int>(threadIdx.x) % rows),
        first(static_cast<int>(threadIdx.x) / rows * outputs_a_thread),
        step(static_cast<int>(blockDim.x) / rows * outputs_a_thread) {}
  __device__ bool has_any() const { return first < step; }
};

/// n / phases, rounded down.
template <int phases>
__device__ int whole_steps(int n) {
  return phases == 1 ? n : (n >= 0 ? n / phases : -((phases - 1 - n) / phases));
}

/// First voxel of each point's window for rows from first_row on.
template <int phases>
__device__ void find_windows(const DeviceTaps& taps, int points, int first_row, std::int32_t* begins) {
  for (int i = static_cast<int>(threadIdx.x); i < points; i += static_cast<int>(blockDim.x))
    begins[i] = whole_steps<phases>(first_row - taps.first_row(i)) - (taps.blocks * tap_block - 1);
}

/// Voxels' rows of points, which lie `stride` apart, in windows that begin at whole fours.
__device__ void load_windows(const float* line, int stride, int points, const Window& window,
                             const std::int32_t* begins, float* windows) {
  constexpr int at_once = 4;
  const int all = points * window.fours, step = static_cast<int>(blockDim.x);
  for (int first = static_cast<int>(threadIdx.x); first < all; first += at_once * step) {
    float4 four[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const int n = first + k * step, i = window.point(n), f = n - i * window.fours;
      const int voxel = n < all ? (begins[i] & ~3) + 4 * f : -1;
      const bool is_there = static_cast<unsigned>(voxel) < static_cast<unsigned>(stride);
      four[k] = is_there ? four_of(line + i * stride + voxel) : float4{0, 0, 0, 0};
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const int n = first + k * step, i = window.point(n), f = n - i * window.fours;
      if (n >= all) continue;
      float* const to = windows + i * window.stride + 4 * f;
      to[0] = four[k].x, to[1] = four[k].y, to[2] = four[k].z, to[3] = four[k].w;
    }
  }
}

/// Rows of the lattice from first_row on, of windows of voxels' rows. A thread has neighbouring rows of a phase.
template <int rows_here, int phases>
__device__ void resample_windows(const DeviceTaps& taps, int points, int first_row, const Window& window,
                                 const std::int32_t* begins, const float* windows, const LineRows& to) {
  constexpr int segments = rows_here / outputs_a_thread;  // of all phases
  for (int n = static_cast<int>(threadIdx.x); n < points * segments; n += static_cast<int>(blockDim.x)) {
    int segment = 0;
#pragma unroll
    for (int s = 1; s < segments; ++s) segment += n >= s * points ? 1 : 0;
    const int i = n - segment * points;
    const int phase = segment % phases, first = segment / phases * outputs_a_thread;
    // Rows of this phase begin at `start`; the window begins where the last phase's do.
    const int start = taps.first_row(i) + phase;
    const int steps = whole_steps<phases>(first_row - start + phases - 1);
    const int row = start + phases * steps - first_row + phases * first;
    const float* given = windows + i * window.stride + (begins[i] & 3) + first +
                         (phases == 1 ? 0 : steps - (begins[i] + taps.blocks * tap_block - 1));
    float sums[outputs_a_thread] = {};
#pragma unroll 1
    for (int b = taps.blocks - 1; b >= 0; --b, given += tap_block) {
      float weight[tap_block], turned[tap_block];
      taps.read(i * phases + phase, b, weight);
#pragma unroll
      for (int t = 0; t < tap_block; ++t) turned[t] = weight[tap_block - 1 - t];
      add_taps(
          turned, [&](int at) { return given[at]; }, sums);
    }
    float* out = to.at(row, i);
#pragma unroll
    for (int e = 0; e < outputs_a_thread; ++e, out += phases * to.stride) *out = sums[e];
  }
}

/// The same of any lattice, from memory.
template <int rows_here>
__device__ void resample_rows(const DeviceStages& stages, int points, const float* line, int stride, int voxels,
                              int first_row, int rows, const LineRows& to) {
  constexpr int fours = rows_here / 4;
  const DeviceAlong along = stages.along;
  const int fine = stages.fine, four = static_cast<int>(threadIdx.x) % fours, row = first_row + 4 * four;
  for (int i = static_cast<int>(threadIdx.x) / fours; i < points; i += static_cast<int>(blockDim.x) / fours) {
    float sums[4] = {};
    if (row < rows) AlongZ(along, i, fine).to_rows(line + std::int64_t{i} * stride, voxels, row, sums);
#pragma unroll
    for (int r = 0; r < 4; ++r) *to.at(4 * four + r, i) = row + r < rows ? sums[r] : 0;
  }
}

/// Points of the lattice from voxels' rows at those that lie also in its margin; into `points`, or where that is null
/// into histo-images. In a single round the result takes its input's place. `phases`: 0 where voxels' rows are read from
/// memory and not from windows.
template <int rows_here, int phases>
__global__ void __launch_bounds__(convolve_threads, convolve_blocks)
    convolve_inwards(StageViews views, StageLattice at, StageLattice gathered, Window window, const float* from,
                     int voxels, float* points, float* histo, std::int64_t histo_points) {
  extern __shared__ float shared[];
  const RowShare share(rows_here);
  const int j = static_cast<int>(blockIdx.x), slot = static_cast<int>(blockIdx.y);
  const DeviceStages& stages = views[slot];
  const int count = stages.between.size[0], lines = stages.between.size[1], rows = stages.between.size[2];
  const int reach = stages.reach, width = count + 2 * reach, first_row = static_cast<int>(blockIdx.z) * rows_here;
  const int blocks = stages.blocks;
  float* const rest = shared;
  const LineRows given{rest + blocks * tap_block, LineRows::odd(width + spare_points)};
  float* const behind = given.values + rows_here * given.stride;
  const LineRows made = share.step >= count ? given : LineRows{behind, LineRows::odd(count + outputs_a_thread)};
  auto* const begins = reinterpret_cast<std::int32_t*>(behind);
  float* const windows = behind + width;
  // The views and their weights are there before the kernels before this one end.
  const DeviceTaps taps = stages.taps;
  load_rest(stages, rest);
  constexpr bool in_windows = phases > 0;
  if constexpr (in_windows) find_windows<phases>(taps, width, first_row, begins);
  const int warp = static_cast<int>(threadIdx.x) / lanes_of_warp, lane = static_cast<int>(threadIdx.x) % lanes_of_warp;
  if (width + lane < given.stride)  // spare_points and one are fewer than lanes
    for (int row = warp; row < rows_here; row += static_cast<int>(blockDim.x) / lanes_of_warp)
      *given.at(row, width + lane) = 0;
  chain::wait_for_those_before();
  if (j >= lines) return;
  __syncthreads();
  const float* const line = from + slot * gathered.floats() + gathered.at(j, -reach);
  if constexpr (in_windows) {
    load_windows(line, gathered.rows, width, window, begins, windows);
    __syncthreads();
    resample_windows<rows_here, phases>(taps, width, first_row, window, begins, windows, given);
  } else {
    resample_rows<rows_here>(stages, width, line, gathered.rows, voxels, first_row, rows, given);
  }
  __syncthreads();
  for (int round = 0; round < count; round += share.step) {
    const int first = round + share.first;
    const bool has_points = share.has_any() && first < count && first_row + share.row < at.rows;
    float sums[outputs_a_thread];
    if (has_points) convolve(given.at(share.row, first), rest, 0, blocks, sums);
    if (made.values == given.values) __syncthreads();
    if (!has_points) continue;
    if (points) {
      float* const to = points + slot * at.floats() + at.at(j, first) + first_row + share.row;
#pragma unroll
      for (int e = 0; e < outputs_a_thread; ++e)
        if (first + e < count) to[e * at.rows] = sums[e];
    } else {
      float* const to = made.at(share.row, first);
#pragma unroll
      for (int e = 0; e < outputs_a_thread; ++e) to[e] = sums[e];
    }
  }
  if (points) return;
  __syncthreads();
  const std::int64_t slice = std::int64_t{count} * lines;
  store_histo(made, min(rows_here, rows - first_row), count,
              histo + slot * histo_points + stages.between.index(0, j, first_row), slice);
}

/// Points also of the margin from those of the lattice alone: of `points`, or where that is null of histo-images, or
/// ones.
__global__ void __launch_bounds__(convolve_threads, convolve_blocks)
    convolve_outwards(StageViews views, StageLattice at, std::int64_t slot_size, const float* points,
                      const float* histo, std::int64_t histo_points, float* to) {
  extern __shared__ float shared[];
  chain::wait_for_those_before();
  const RowShare share(many_rows);
  const int j = static_cast<int>(blockIdx.x), slot = static_cast<int>(blockIdx.y);
  const DeviceStages& stages = views[slot];
  const DirectLattice& lattice = stages.between;
  const int count = lattice.size[0], begin = at.margin + stages.reach;
  if (j >= lattice.size[1]) return;
  const int first_row = static_cast<int>(blockIdx.z) * many_rows;
  const int rows = min(many_rows, lattice.size[2] - first_row);
  const LineRows given{shared + stages.blocks * tap_block, LineRows::odd(count + 2 * begin + spare_points)};
  load_rest(stages, shared);
  for (int n = static_cast<int>(threadIdx.x); n < many_rows * given.stride; n += static_cast<int>(blockDim.x))
    given.values[n] = 0;
  __syncthreads();
  if (points) {
    constexpr int fours = many_rows / 4;
    const int four = static_cast<int>(threadIdx.x) % fours;
    const float* const line = points + slot * slot_size + at.at(j, 0) + first_row + 4 * four;
    for (int i = static_cast<int>(threadIdx.x) / fours; i < count && first_row + 4 * four < at.rows;
         i += static_cast<int>(blockDim.x) / fours) {
      const float4 values = four_of(line + std::int64_t{i} * at.rows);
      *given.at(4 * four, begin + i) = values.x, *given.at(4 * four + 1, begin + i) = values.y;
      *given.at(4 * four + 2, begin + i) = values.z, *given.at(4 * four + 3, begin + i) = values.w;
    }
  } else {
    load_histo(histo ? histo + slot * histo_points + lattice.index(0, j, first_row) : nullptr,
               std::int64_t{count} * lattice.size[1], rows, count, -begin, count + begin, given);
  }
  __syncthreads();
  const int made = count + 2 * at.margin;
  for (int first = share.first; share.has_any() && first < made && first_row + share.row < at.rows;
       first += share.step) {
    float sums[outputs_a_thread];
    convolve(given.at(share.row, first), shared, 0, stages.blocks, sums);
    float* const out = to + slot * slot_size + at.at(j, first - at.margin) + first_row + share.row;
#pragma unroll
    for (int e = 0; e < outputs_a_thread; ++e)
      if (first + e < made) out[e * at.rows] = sums[e];
  }
}

std::size_t memory_of_rows(int rows, int points) {
  return sizeof(float) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(LineRows::odd(points));
}

int segments_of(int points) {
  return (points + outputs_a_thread - 1) / outputs_a_thread;
}

}  // namespace

std::size_t most_shared_bytes() {
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "ask for shared memory");
  return static_cast<std::size_t>(most);
}

/// How convolve_inwards() is to run with so many rows a block.
Convolution::Inwards Convolution::inwards_of(int rows, bool in_windows) const {
  const int width = points_ + 2 * lattice_.margin, segments = segments_of(points_);
  Inwards how;
  how.rows = rows;
  how.threads =
      threads_for(std::max(segments * rows, in_windows ? width * (rows / outputs_a_thread) : 0), convolve_threads);
  const bool is_one_round = points_ <= static_cast<int>(how.threads) / rows * outputs_a_thread;
  how.bytes = memory_of_rest(lattice_.margin) + memory_of_rows(rows, width + spare_points);
  const Window window = Window::of(rows, phases_, taps_);
  const std::size_t of_windows =
      in_windows ? sizeof(float) * static_cast<std::size_t>(width) * static_cast<std::size_t>(1 + window.stride) : 0;
  how.bytes += std::max(of_windows, is_one_round ? 0 : memory_of_rows(rows, points_ + outputs_a_thread));
  return how;
}

Convolution::Convolution(const StageLattice& lattice, int points, int taps, int phases)
    : lattice_(lattice),
      points_(points),
      taps_(taps),
      phases_(phases),
      outwards_bytes_(memory_of_rest(lattice.margin) +
                      memory_of_rows(many_rows, points + 4 * lattice.margin + spare_points)) {
  const std::size_t most = most_shared_bytes();
  const int least_rows = phases == fine_phases ? fine_rows : few_rows;
  in_windows_ = taps > 0 && inwards_of(least_rows, true).bytes <= most;
  few_ = inwards_of(in_windows_ ? least_rows : few_rows, in_windows_);
  many_ = inwards_of(many_rows, in_windows_);
  if (many_.bytes > most / 2 || few_.rows == fine_rows) many_ = few_;
  if (std::max(outwards_bytes_, few_.bytes) > most)
    throw std::invalid_argument(
        "the image's rows are longer than this GPU's shared memory allows two_stage: take larger voxels, operator "
        "one_stage, or backend: cpu");
  for (const auto kernel :
       {convolve_inwards<few_rows, 0>, convolve_inwards<many_rows, 0>, convolve_inwards<few_rows, 1>,
        convolve_inwards<many_rows, 1>, convolve_inwards<fine_rows, fine_phases>})
    take_shared(kernel);
  take_shared(convolve_outwards);
}

dim3 Convolution::blocks(const StageViews& views, int rows) const {
  return {static_cast<unsigned>(lattice_.lines), static_cast<unsigned>(views.count), parts(lattice_.rows, rows)};
}

void Convolution::queue_inwards(const StageViews& views, const StageLattice& gathered, const float* from, int voxels,
                                float* points, float* histo, std::int64_t histo_points, Stream stream) const {
  // Few rows a block fill the GPU with one view, and are no more rows in all; many read less of their neighbours'.
  const bool wastes = parts(lattice_.rows, many_rows) * many_rows > parts(lattice_.rows, few_rows) * few_rows;
  const Inwards& how = views.count == 1 || wastes ? few_ : many_;
  auto* kernel = how.rows == few_rows ? convolve_inwards<few_rows, 0> : convolve_inwards<many_rows, 0>;
  if (in_windows_) kernel = how.rows == few_rows ? convolve_inwards<few_rows, 1> : convolve_inwards<many_rows, 1>;
  if (how.rows == fine_rows) kernel = convolve_inwards<fine_rows, fine_phases>;
  chain::launch("convolve views", kernel, blocks(views, how.rows), how.threads, how.bytes, stream, views, lattice_,
                gathered, Window::of(how.rows, phases_, taps_), from, voxels, points, histo, histo_points);
}

void Convolution::queue_outwards(const StageViews& views, const float* points, const float* histo,
                                 std::int64_t histo_points, float* to, Stream stream) const {
  chain::launch("convolve views", convolve_outwards, blocks(views, many_rows),
                threads_for(segments_of(points_ + 2 * lattice_.margin) * many_rows, convolve_threads), outwards_bytes_,
                stream, views, lattice_, lattice_.floats(), points, histo, histo_points, to);
}

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
