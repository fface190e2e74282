// The rotations of the published two stages on CUDA: see paper_turn.cuh.
#include <algorithm>
#include <array>
#include <numbers>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/check.hpp"
#include "kernels/direct/paper_turn.cuh"
#include "kernels/direct/two_stage_lines.cuh"

namespace tofstream::paper {

namespace {

using two_stage::four_of;

constexpr int turn_threads = 192, turn_blocks = 3;  // of a multiprocessor
constexpr int most_groups = 12;                     // of a chunk
constexpr int targets_a_block = 32, pairs_a_block = targets_a_block / 2;

__host__ __device__ TurnPlace operator+(TurnPlace a, TurnPlace b) {
  return {a.c + b.c, a.e + b.e, a.v + b.v};
}
__host__ __device__ TurnPlace operator*(double n, TurnPlace a) {
  return {n * a.c, n * a.e, n * a.v};
}

__device__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// S along one axis; exactly 0 beyond its reach, where another view may have left numbers.
__device__ float weight_of(float distance, float reach) {
  return fabsf(distance) <= reach ? power_of_two(-distance * distance) : 0.0f;
}

/// As an int may be.
__device__ int limited(float n) {
  constexpr float far = 1e6f;
  return static_cast<int>(fminf(fmaxf(n, -far), far));
}

/// The rows of targets of one group.
struct TurnShare {
  int line = 0, row = 0;  // the first one

  __device__ TurnShare(const Turn& turn, int chunk, int line_of_threads, int group)
      : line(turn.first_line + line_of_threads + static_cast<int>(rint(rows_a_thread * group * turn.lines_a_row))),
        row(rows_a_thread * (chunk * turn.groups + group) +
            static_cast<int>(floor(turn.first_row + line * turn.rows_a_line))) {}
  __device__ bool has_line(const TurnLattice& to) const {
    return static_cast<unsigned>(line) < static_cast<unsigned>(to.size[0]);
  }
  /// Between the rows, at a target.
  __device__ TurnPlace middle(const TurnLattice& to, double target) const {
    return to.first + static_cast<double>(line) * to.step[0] + (row + 0.5 * (rows_a_thread - 1)) * to.step[1] +
           target * to.step[2];
  }
};

/// A column that a block reads: where it lies in memory, and from the block's middle.
struct TurnColumn {
  std::int64_t at;
  float e, v;
};

/// Columns of one number b, which follow each other in the block's list: their first a, and its place in the list.
struct TurnRow {
  int first, begin, end;
};

/// What a block has in shared memory: columns that S reaches from its targets, and their sums along c at its rows.
struct TurnBlock {
  TurnRow* rows;
  TurnColumn* columns;
  float4* sums;  // [column][group]

  static __host__ __device__ int padded(int n) { return (n + 3) / 4 * 4; }
  __device__ TurnBlock(char* shared, int most_rows, int most_columns)
      : rows(reinterpret_cast<TurnRow*>(shared)),
        columns(reinterpret_cast<TurnColumn*>(rows + padded(most_rows))),
        sums(reinterpret_cast<float4*>(columns + padded(most_columns))) {}
  static std::size_t bytes(int most_rows, int most_columns, int groups) {
    return sizeof(TurnRow) * static_cast<std::size_t>(padded(most_rows)) +
           static_cast<std::size_t>(padded(most_columns)) *
               (sizeof(TurnColumn) + sizeof(float4) * static_cast<std::size_t>(groups));
  }
};

/// Columns (a, b) about a place, in the order of TurnLattice.
struct ColumnFrame {
  float e, v;  // of column (0, 0) from the middle, which is the nearest one
  float step_e[2], step_v[2];
  int near[2];

  __device__ ColumnFrame(const TurnLattice& from, TurnPlace middle) {
    TurnPlace nearest = from.first;
    for (int n = 0; n < 2; ++n) {
      const TurnPlace step = from.step[n];
      const double far_e = middle.e - from.first.e, far_v = middle.v - from.first.v;
      near[n] = static_cast<int>(rint((far_e * step.e + far_v * step.v) / (step.e * step.e + step.v * step.v)));
      nearest = nearest + static_cast<double>(near[n]) * step;
      step_e[n] = static_cast<float>(step.e), step_v[n] = static_cast<float>(step.v);
    }
    e = static_cast<float>(nearest.e - middle.e), v = static_cast<float>(nearest.v - middle.v);
  }
  /// Numbers b, from the nearest one, of columns in a box whose middle lies `from_middle` further along e.
  __device__ int first_b(float from_middle, float half_e, float half_v) const {
    return limited(ceilf(middle_b(from_middle) - half_b(half_e, half_v)));
  }
  __device__ int last_b(float from_middle, float half_e, float half_v) const {
    return limited(floorf(middle_b(from_middle) + half_b(half_e, half_v)));
  }

 private:
  __device__ float square() const { return step_e[1] * step_e[1] + step_v[1] * step_v[1]; }
  __device__ float middle_b(float from_middle) const {
    return ((from_middle - e) * step_e[1] - v * step_v[1]) / square();
  }
  __device__ float half_b(float half_e, float half_v) const {
    return (half_e * fabsf(step_e[1]) + half_v * fabsf(step_v[1])) / square();
  }
};

/// Lists a block's columns, in a box about its middle, row by row. By all threads.
__device__ void list_columns(const TurnLattice& from, const ColumnFrame& frame, float half_e, float half_v, int first_b,
                             int rows, const TurnBlock& block) {
  constexpr int lanes = two_stage::lanes_of_warp;
  const int lane = static_cast<int>(threadIdx.x) % lanes, warp = static_cast<int>(threadIdx.x) / lanes;
  const float inverse_e = 1 / frame.step_e[0], inverse_v = 1 / frame.step_v[0];
  if (warp == 0) {
    int sum = 0;
    for (int first = 0; first < rows; first += lanes) {
      const int n = first + lane, b = first_b + n;
      const float here_e = frame.e + b * frame.step_e[1], here_v = frame.v + b * frame.step_v[1];
      const float end_e[2] = {(-half_e - here_e) * inverse_e, (half_e - here_e) * inverse_e};
      const float end_v[2] = {(-half_v - here_v) * inverse_v, (half_v - here_v) * inverse_v};
      const int low = limited(ceilf(fmaxf(fminf(end_e[0], end_e[1]), fminf(end_v[0], end_v[1]))));
      const int high = limited(floorf(fminf(fmaxf(end_e[0], end_e[1]), fmaxf(end_v[0], end_v[1]))));
      const int first_a = max(low, -frame.near[0]), last_a = min(high, from.size[0] - 1 - frame.near[0]);
      const int count = n < rows ? max(0, last_a - first_a + 1) : 0;
      int until = count;
      for (int by = 1; by < lanes; by *= 2) {
        const int other = __shfl_up_sync(~0u, until, by);
        if (lane >= by) until += other;
      }
      if (n < rows) block.rows[n] = {first_a, sum + until - count, sum + until};
      sum += __shfl_sync(~0u, until, lanes - 1);
    }
  }
  __syncthreads();
  for (int n = warp; n < rows; n += turn_threads / lanes) {
    const TurnRow row = block.rows[n];
    const int b = first_b + n;
    for (int at = row.begin + lane; at < row.end; at += lanes) {
      const int a = row.first + at - row.begin;
      block.columns[at] = {(frame.near[0] + a) * from.stride[0] + (frame.near[1] + b) * from.stride[1],
                           frame.e + b * frame.step_e[1] + a * frame.step_e[0],
                           frame.v + b * frame.step_v[1] + a * frame.step_v[0]};
    }
  }
  __syncthreads();
}

template <int fours>
struct ColumnValues {
  float4 four[fours];

  __device__ explicit ColumnValues(const float* column) {
#pragma unroll
    for (int f = 0; f < fours; ++f) four[f] = four_of(column + 4 * f);
  }
};

/// The factors of S in c of a group's rows, for `fours` fours of columns from `first` on.
template <int fours>
struct AlongColumns {
  float weight[rows_a_thread][4 * fours];
  int first = 0;

  __device__ AlongColumns(const Turn& turn, TurnPlace middle) {
    const TurnLattice& from = turn.from;
    const double spacing = from.step[2].c, half = 0.5 * (rows_a_thread - 1) * turn.to.step[1].c;
    const double low = (middle.c - fabs(half) - turn.reach - from.first.c) / spacing;
    first = min(max(static_cast<int>(ceil(low)) & ~3, -4 * fours), two_stage::to_four(from.size[2]));
    const auto step = static_cast<float>(spacing), reach = static_cast<float>(turn.reach);
#pragma unroll
    for (int r = 0; r < rows_a_thread; ++r) {
      const auto begin = static_cast<float>(from.first.c + first * spacing - middle.c + half - r * turn.to.step[1].c);
#pragma unroll
      for (int n = 0; n < 4 * fours; ++n) weight[r][n] = weight_of(begin + n * step, reach);
    }
  }
  __device__ float sum(int row, const ColumnValues<fours>& of) const {
    float sum = 0;
#pragma unroll
    for (int f = 0; f < fours; ++f) {
      sum += weight[row][4 * f] * of.four[f].x;
      sum += weight[row][4 * f + 1] * of.four[f].y;
      sum += weight[row][4 * f + 2] * of.four[f].z;
      sum += weight[row][4 * f + 3] * of.four[f].w;
    }
    return sum;
  }
};

/// Sums of all of the block's columns along c, with the factors in v, at a group's rows.
template <int fours>
__device__ void sum_along(const Turn& turn, TurnPlace middle, float from_block, const float* values,
                          const TurnBlock& block, int count, int group) {
  const AlongColumns<fours> along(turn, middle);
  const auto row_v = static_cast<float>(turn.to.step[1].v);
  values += along.first;
  const int step = turn_threads / turn.groups;
  int n = static_cast<int>(threadIdx.x) / turn.groups;
  if (n >= count) return;
  ColumnValues<fours> next(values + block.columns[n].at);
#pragma unroll 2
  for (; n < count; n += step) {
    const ColumnValues<fours> value = next;
    next = ColumnValues<fours>(values + block.columns[min(n + step, count - 1)].at);  // while this one is added
    const float v = block.columns[n].v - from_block;
    float sums[rows_a_thread];
#pragma unroll
    for (int r = 0; r < rows_a_thread; ++r) {
      const float distance = v - (r - 0.5f * (rows_a_thread - 1)) * row_v;
      sums[r] = along.sum(r, value) * power_of_two(-distance * distance);
    }
    block.sums[n * turn.groups + group] = {sums[0], sums[1], sums[2], sums[3]};
  }
}

/// Two targets of each of a group's rows, from `e` of the first one on: sums of the columns near them.
__device__ void sum_across(const Turn& turn, const ColumnFrame& frame, const TurnBlock& block, int first_b, int rows,
                           float half_v, float e, int group, float (&sums)[rows_a_thread][2]) {
  const auto spacing = static_cast<float>(turn.to.step[2].e), reach = static_cast<float>(turn.reach);
  const float middle = e + 0.5f * spacing, half_e = reach + 0.5f * spacing, inverse = 1 / frame.step_e[0];
  const int begin = max(frame.first_b(middle, half_e, half_v) - first_b, 0);
  const int end = min(frame.last_b(middle, half_e, half_v) - first_b + 1, rows);
  for (int n = begin; n < end; ++n) {
    const TurnRow row = block.rows[n];
    const float here = middle - frame.e - (first_b + n) * frame.step_e[1];
    const float ends[2] = {(here - half_e) * inverse, (here + half_e) * inverse};
    const int low = limited(ceilf(fminf(ends[0], ends[1]))) - row.first;
    const int high = limited(floorf(fmaxf(ends[0], ends[1]))) - row.first + 1;
    const int last = min(row.begin + high, row.end);
    for (int at = max(row.begin + low, row.begin); at < last; ++at) {
      const float distance = block.columns[at].e - e, other = distance - spacing;
      const float factor[2] = {power_of_two(-distance * distance), power_of_two(-other * other)};
      const float4 four = block.sums[at * turn.groups + group];
      const float of_row[rows_a_thread] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int r = 0; r < rows_a_thread; ++r) {
        sums[r][0] += of_row[r] * factor[0];
        sums[r][1] += of_row[r] * factor[1];
      }
    }
  }
}

__device__ void store_sums(const Turn& turn, const TurnShare& share, int target, bool by_unit,
                           float (&sums)[rows_a_thread][2], float* to) {
  const TurnLattice& lattice = turn.to;
#pragma unroll
  for (int r = 0; r < rows_a_thread; ++r) {
    const int row = share.row + r;
    if (static_cast<unsigned>(row) >= static_cast<unsigned>(lattice.size[1])) continue;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      if (target + k >= lattice.size[2]) {
        sums[r][k] = 0;
      } else if (by_unit) {
        int at[3] = {};
#pragma unroll
        for (int a = 0; a < 3; ++a) at[a] = lattice.axis[0] == a ? share.line : lattice.axis[1] == a ? row : target + k;
        sums[r][k] = __fdividef(sums[r][k], turn.unit.at(at[0], at[1], at[2]));
      }
    }
    *reinterpret_cast<float2*>(to + share.line * lattice.stride[0] + row * lattice.stride[1] + target) = {sums[r][0],
                                                                                                          sums[r][1]};
  }
}

/// A block has a chunk of one line of threads, and some targets of each of its rows.
template <int fours>
__global__ void __launch_bounds__(turn_threads, turn_blocks)
    turn_lattice(TurnViews views, int most_rows, int most_columns, const float* from, std::int64_t from_slot, float* to,
                 std::int64_t to_slot, bool by_unit) {
  extern __shared__ __align__(16) char turn_shared[];
  const int slot = static_cast<int>(blockIdx.z), first_target = targets_a_block * static_cast<int>(blockIdx.y);
  const Turn& turn = views[slot];
  const int chunk = static_cast<int>(blockIdx.x) % turn.chunks, line = static_cast<int>(blockIdx.x) / turn.chunks;
  chain::wait_for_those_before();
  if (line >= turn.lines || first_target >= turn.to.size[2]) return;
  const TurnBlock block(turn_shared, most_rows, most_columns);
  const TurnPlace middle = TurnShare(turn, chunk, line, 0).middle(turn.to, first_target + 0.5 * (targets_a_block - 1));
  const ColumnFrame frame(turn.from, middle);
  const auto half_e = static_cast<float>(turn.half_e(targets_a_block)), half_v = static_cast<float>(turn.half_v());
  const int first_b = max(frame.first_b(0, half_e, half_v), -frame.near[1]);
  const int last_b = min(frame.last_b(0, half_e, half_v), turn.from.size[1] - 1 - frame.near[1]);
  const int rows = min(max(0, last_b - first_b + 1), most_rows);
  list_columns(turn.from, frame, half_e, half_v, first_b, rows, block);
  const int count = rows > 0 ? min(block.rows[rows - 1].end, most_columns) : 0;
  const int n = static_cast<int>(threadIdx.x), group = n % turn.groups;
  const TurnShare share(turn, chunk, line, group);
  if (n < turn_threads / turn.groups * turn.groups && share.has_line(turn.to)) {
    const TurnPlace own = share.middle(turn.to, first_target);
    sum_along<fours>(turn, own, static_cast<float>(own.v - middle.v), from + slot * from_slot, block, count, group);
  }
  __syncthreads();
  const auto first_e = static_cast<float>(-0.5 * (targets_a_block - 1) * turn.to.step[2].e);
  for (int pair = n / turn.groups; pair < pairs_a_block; pair += turn_threads / turn.groups) {
    const int target = first_target + 2 * pair;
    if (n >= turn_threads / turn.groups * turn.groups || !share.has_line(turn.to) ||
        target >= two_stage::to_four(turn.to.size[2]))
      continue;
    float sums[rows_a_thread][2] = {};
    sum_across(turn, frame, block, first_b, rows, half_v, first_e + 2 * pair * static_cast<float>(turn.to.step[2].e),
               group, sums);
    store_sums(turn, share, target, by_unit, sums, to + slot * to_slot);
  }
}

/// The lattice's axes in this order, seen in the frame.
TurnLattice in_order(const TurnedLattice& lattice, std::array<int, 3> order, const std::int64_t (&strides)[3],
                     const Vec3d (&frame)[3], double units_a_mm) {
  const auto place = [&](Vec3d at) {
    return TurnPlace{units_a_mm * dot(at, frame[0]), units_a_mm * dot(at, frame[1]), units_a_mm * dot(at, frame[2])};
  };
  TurnLattice in;
  in.first = place(lattice.first_mm);
  for (std::size_t n = 0; n < 3; ++n) {
    const int a = order[n];
    in.axis[n] = a;
    in.size[n] = lattice.size[a];
    in.stride[n] = strides[a];
    in.step[n] = place(lattice.spacing_mm[a] * lattice.axis[a]);
  }
  return in;
}

/// Which axis a thread goes through first: that which changes e most; the source's columns lie along axis `columns`.
std::array<int, 3> source_order(const TurnedLattice& lattice, int columns, Vec3d e) {
  const int a = (columns + 1) % 3, b = (columns + 2) % 3;
  if (std::abs(dot(lattice.axis[a], e)) >= std::abs(dot(lattice.axis[b], e))) return {a, b, columns};
  return {b, a, columns};
}
/// Rows are those along which c changes most.
std::array<int, 3> target_order(const TurnedLattice& lattice, int shared, Vec3d c) {
  const int a = (shared + 1) % 3, b = (shared + 2) % 3;
  if (std::abs(dot(lattice.axis[a], c)) >= std::abs(dot(lattice.axis[b], c))) return {b, a, shared};
  return {a, b, shared};
}

/// From one lattice to another, whose axes `columns` and `shared` are at right angles.
Turn make_turn(const TurnedLattice& from, int columns, const std::int64_t (&from_strides)[3], const TurnedLattice& to,
               int shared, const std::int64_t (&to_strides)[3], double sigma_mm) {
  const Vec3d c = from.axis[columns], e = to.axis[shared];
  const Vec3d frame[3] = {c, e, {c.y * e.z - c.z * e.y, c.z * e.x - c.x * e.z, c.x * e.y - c.y * e.x}};
  const double units_a_mm = 1 / (sigma_mm * std::sqrt(2 * std::numbers::ln2));
  Turn turn;
  turn.from = in_order(from, source_order(from, columns, e), from_strides, frame, units_a_mm);
  turn.to = in_order(to, target_order(to, shared, c), to_strides, frame, units_a_mm);
  turn.reach = RotationGaussian{sigma_mm}.reach_mm() * units_a_mm;
  turn.unit = unit_about(from, to, sigma_mm);
  return turn;
}

/// Sets the shares of threads for so many rows of each line.
void share_out(Turn& turn, int rows) {
  const int groups = (rows + rows_a_thread - 1) / rows_a_thread;
  turn.chunks = (groups + most_groups - 1) / most_groups;
  turn.groups = (groups + turn.chunks - 1) / turn.chunks;
  turn.lines_a_row = -turn.to.step[1].v / turn.line_v();
  const auto farthest = static_cast<int>(std::rint(rows_a_thread * (turn.groups - 1) * turn.lines_a_row));
  turn.first_line = -std::max(0, farthest);
  turn.lines = turn.to.size[0] + std::abs(farthest);
}

/// Rows of columns of a block, and columns, at most.
int rows_of_block(const Turn& turn) {
  const TurnPlace step = turn.from.step[1];
  const double half = turn.half_e(targets_a_block) * std::abs(step.e) + turn.half_v() * std::abs(step.v);
  return static_cast<int>(2 * half / (step.e * step.e + step.v * step.v)) + 2;
}
int columns_of_block(const Turn& turn) {
  const TurnPlace a = turn.from.step[0], b = turn.from.step[1];
  const double half_e = turn.half_e(targets_a_block), half_v = turn.half_v();
  const double area = 4 * half_e * half_v / std::abs(a.e * b.v - a.v * b.e);
  const double longest = 2 * std::min(half_e / std::abs(a.e), half_v / std::max(std::abs(a.v), 1e-9));
  return static_cast<int>(area + longest) + rows_of_block(turn) + 2;
}

template <class Act>
void with_fours(int fours, const Act& act) {
  if (fours <= 3)
    act(turn_lattice<3>);
  else if (fours <= 5)
    act(turn_lattice<5>);
  else
    act(turn_lattice<12>);
}

}  // namespace

LatticeUnit unit_about(const TurnedLattice& lattice, const TurnedLattice& of, double sigma_mm) {
  const auto phase = [](double points) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(std::rint((points - std::floor(points)) * 0x1p32)));
  };
  LatticeUnit unit;
  double constant = 1;
  for (int a = 0; a < 3; ++a) {
    const double sigma = sigma_mm / lattice.spacing_mm[a], pi = std::numbers::pi;
    constant *= sigma * std::sqrt(2 * pi);
    unit.ripple[a] = static_cast<float>(2 * std::exp(-2 * pi * pi * sigma * sigma));
    const double second = 2 * std::exp(-8 * pi * pi * sigma * sigma);
    unit.level[a] = static_cast<float>(1 - second);
    unit.square[a] = static_cast<float>(2 * second);
    unit.first[a] = phase(lattice.coordinate(of.first_mm, a));
    for (int b = 0; b < 3; ++b)
      unit.step[a][b] = phase(of.spacing_mm[b] * dot(of.axis[b], lattice.axis[a]) / lattice.spacing_mm[a]);
  }
  unit.constant = static_cast<float>(constant);
  return unit;
}

int Turn::fours() const {
  const double of_rows = 2 * reach + (rows_a_thread - 1) * std::abs(to.step[1].c);
  return (static_cast<int>(std::floor(of_rows / from.step[2].c)) + 3) / 4 + 1;
}

Turn turn_forth(const PaperStages& stages, const TurnStrides& strides, double margin_mm) {
  const TurnedLattice &voxels = stages.voxels, &between = stages.between;
  Turn turn = make_turn(voxels, 2, strides.voxel, between, 1, strides.between, stages.rotation.sigma_mm);
  const double units = turn.from.step[2].c / voxels.spacing_mm[2], margin = turn.reach + units * margin_mm;
  const double low = turn.from.first.c - margin, high = low + 2 * margin + (voxels.size[2] - 1) * turn.from.step[2].c;
  const double row = turn.to.step[1].c;
  turn.first_row = ((row > 0 ? low : high) - turn.to.first.c) / row;
  turn.rows_a_line = -turn.to.step[0].c / row;
  share_out(turn, static_cast<int>(std::ceil((high - low) / std::abs(row))) + 2);
  return turn;
}

Turn turn_back(const PaperStages& stages, const TurnStrides& strides) {
  Turn turn = make_turn(stages.between, 1, strides.between, stages.voxels, 2, strides.voxel, stages.rotation.sigma_mm);
  share_out(turn, turn.to.size[1]);
  return turn;
}

Turning::Turning(const std::vector<Turn>& turns) : turns_(Buffer<Turn>::from(turns).to(Memory::device)) {
  int groups = 0;
  for (const Turn& turn : turns) {
    fours_ = std::max(fours_, turn.fours());
    groups = std::max(groups, turn.groups);
    most_blocks_ = std::max(most_blocks_, turn.chunks * turn.lines);
    most_targets_ = std::max(most_targets_, (turn.to.size[2] + targets_a_block - 1) / targets_a_block);
    most_rows_ = std::max(most_rows_, rows_of_block(turn));
    most_columns_ = std::max(most_columns_, columns_of_block(turn));
  }
  bytes_ = TurnBlock::bytes(most_rows_, most_columns_, groups);
  with_fours(fours_, [](auto kernel) { two_stage::take_shared(kernel); });
}

int Turning::pad(const std::vector<Turn>& turns) {
  int fours = 0;
  for (const Turn& turn : turns) fours = std::max(fours, turn.fours());
  return fours <= 3 ? 12 : fours <= 5 ? 20 : 48;
}

void Turning::queue(const std::int32_t* index, int count, const float* from, std::int64_t from_slot, float* to,
                    std::int64_t to_slot, bool by_unit, Stream stream) const {
  const dim3 blocks(static_cast<unsigned>(most_blocks_), static_cast<unsigned>(most_targets_),
                    static_cast<unsigned>(count));
  with_fours(fours_, [&](auto kernel) {
    chain::launch("rotate images", kernel, blocks, turn_threads, bytes_, stream, TurnViews{turns_.data(), index, count},
                  most_rows_, most_columns_, from, from_slot, to, to_slot, by_unit);
  });
}

}  // namespace tofstream::paper
// SPDX-License-Identifier: Apache-2.0
