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

constexpr int turn_threads = 192, turn_blocks = 2;  // of a multiprocessor
constexpr int most_groups = 12;                     // of a chunk

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
/// S along one axis; exactly 0 beyond its reach along c and e, where another view may have left numbers.
__device__ float weight_of(float distance, float reach) {
  return fabsf(distance) <= reach ? power_of_two(-distance * distance) : 0.0f;
}

/// Indices from first to last of the columns that a box about a place meets, in the order of TurnLattice; and the nearest
/// one.
struct ColumnBox {
  int first[2], last[2], nearest[2];

  __device__ ColumnBox(const TurnLattice& from, TurnPlace middle, float half_e, float half_v) {
    const double e = middle.e - from.first.e, v = middle.v - from.first.v;
    for (int a = 0; a < 2; ++a) {
      const TurnPlace step = from.step[a];
      const double inverse = 1 / (step.e * step.e + step.v * step.v), at = (e * step.e + v * step.v) * inverse;
      const double half = (half_e * fabs(step.e) + half_v * fabs(step.v)) * inverse;
      first[a] = max(0, static_cast<int>(ceil(at - half)));
      last[a] = min(from.size[a] - 1, static_cast<int>(floor(at + half)));
      nearest[a] = static_cast<int>(rint(at));
    }
  }
  __device__ int width() const { return last[0] - first[0] + 1; }
  __device__ int columns() const { return max(0, width()) * max(0, last[1] - first[1] + 1); }
};

/// Where a thread's targets lie.
struct TurnShare {
  int line = 0, row = 0, target = 0;  // the first ones

  __device__ static int lines_of_block(const Turn& turn) { return turn_threads / turn.groups; }
  /// The share of a line of threads of this block, counted from its first one, and of a group.
  __device__ TurnShare(const Turn& turn, int of_block, int group) {
    const int chunk = static_cast<int>(blockIdx.x) % turn.chunks, block = static_cast<int>(blockIdx.x) / turn.chunks;
    line = turn.first_line + block * lines_of_block(turn) + of_block +
           static_cast<int>(rint(rows_a_thread * group * turn.lines_a_row));
    row = rows_a_thread * (chunk * turn.groups + group) +
          static_cast<int>(floor(turn.first_row + line * turn.rows_a_line));
    target = targets_a_row * static_cast<int>(blockIdx.y);
  }
  /// Between the rows and the targets.
  __device__ TurnPlace middle(const TurnLattice& to) const {
    return to.first + static_cast<double>(line) * to.step[0] + (row + 0.5 * (rows_a_thread - 1)) * to.step[1] +
           (target + 0.5 * (targets_a_row - 1)) * to.step[2];
  }
};

/// The factors of S in e of a block's columns: [column][target].
__device__ void fill_factors(const TurnLattice& from, const ColumnBox& box, double first_e, float step_e, float reach,
                             float4* factors) {
  for (int n = static_cast<int>(threadIdx.x); n < box.columns(); n += turn_threads) {
    const int b = n / box.width(), a = n - b * box.width();
    const double e = from.first.e + (box.first[0] + a) * from.step[0].e + (box.first[1] + b) * from.step[1].e - first_e;
    float own[targets_a_row];
#pragma unroll
    for (int k = 0; k < targets_a_row; ++k) own[k] = weight_of(static_cast<float>(e) - k * step_e, reach);
    factors[2 * n] = {own[0], own[1], own[2], own[3]};
    factors[2 * n + 1] = {own[4], own[5], own[6], own[7]};
  }
}

__device__ float half_e_of(const Turn& turn) {
  return static_cast<float>(turn.reach + 0.5 * (targets_a_row - 1) * turn.to.step[2].e);
}
__device__ float half_v_of(const Turn& turn) {
  return static_cast<float>(turn.reach + 0.5 * (rows_a_thread - 1) * fabs(turn.to.step[1].v));
}

/// What a thread reads of one column.
template <int fours>
struct ColumnValues {
  float4 four[fours];

  __device__ explicit ColumnValues(const float* column) {
#pragma unroll
    for (int f = 0; f < fours; ++f) four[f] = four_of(column + 4 * f);
  }
};

/// What a thread adds up: of `fours` fours of each column from `first` on.
template <int fours>
struct TurnSums {
  float along[rows_a_thread][4 * fours];  // the factors of S in c
  float sum[rows_a_thread][targets_a_row] = {};
  int first = 0;

  __device__ TurnSums(const Turn& turn, TurnPlace middle) {
    const TurnLattice& from = turn.from;
    const double spacing = from.step[2].c, half = 0.5 * (rows_a_thread - 1) * turn.to.step[1].c;
    const double low = (middle.c - fabs(half) - turn.reach - from.first.c) / spacing;
    first = min(max(static_cast<int>(ceil(low)) & ~3, -4 * fours), two_stage::to_four(from.size[2]));
    const auto step = static_cast<float>(spacing);
#pragma unroll
    for (int r = 0; r < rows_a_thread; ++r) {
      const auto begin = static_cast<float>(from.first.c + first * spacing - middle.c + half - r * turn.to.step[1].c);
#pragma unroll
      for (int n = 0; n < 4 * fours; ++n) along[r][n] = weight_of(begin + n * step, static_cast<float>(turn.reach));
    }
  }
  /// Adds a column with its factors in v and e, of which the first four targets or the last ones may all have 0.
  __device__ void add(const ColumnValues<fours>& value, const float (&across)[rows_a_thread], const float4* factors,
                      bool has_first, bool has_last) {
    float of_row[rows_a_thread];
#pragma unroll
    for (int r = 0; r < rows_a_thread; ++r) {
      of_row[r] = 0;
#pragma unroll
      for (int f = 0; f < fours; ++f) {
        of_row[r] += along[r][4 * f] * value.four[f].x;
        of_row[r] += along[r][4 * f + 1] * value.four[f].y;
        of_row[r] += along[r][4 * f + 2] * value.four[f].z;
        of_row[r] += along[r][4 * f + 3] * value.four[f].w;
      }
      of_row[r] *= across[r];
    }
    if (has_first) add_to<0>(of_row, factors[0]);
    if (has_last) add_to<targets_a_row / 2>(of_row, factors[1]);
  }

 private:
  template <int first>
  __device__ void add_to(const float (&of_row)[rows_a_thread], float4 factor) {
#pragma unroll
    for (int r = 0; r < rows_a_thread; ++r) {
      sum[r][first] += of_row[r] * factor.x;
      sum[r][first + 1] += of_row[r] * factor.y;
      sum[r][first + 2] += of_row[r] * factor.z;
      sum[r][first + 3] += of_row[r] * factor.w;
    }
  }
};

/// As an int may be.
__device__ float limited(float n) {
  constexpr float far = 1e6f;
  return fminf(fmaxf(n, -far), far);
}

/// Adds so many columns that follow each other, the first of which lies at e and v from the targets' middle.
template <int fours>
__device__ void add_row(const Turn& turn, const float* column, int count, float e, float v, const float4* factors,
                        TurnSums<fours>& sums) {
  const auto step_e = static_cast<float>(turn.from.step[0].e), step_v = static_cast<float>(turn.from.step[0].v);
  const auto row_v = static_cast<float>(turn.to.step[1].v);
  // As far from the middle S reaches the other half of the targets.
  const float reach_of_half = static_cast<float>(turn.reach - 0.5 * turn.to.step[2].e);
  const std::int64_t stride = turn.from.stride[0];
  ColumnValues<fours> next(column);
#pragma unroll 2
  for (int left = count - 1; left >= 0; --left) {
    const ColumnValues<fours> value = next;
    if (left > 0) column += stride;
    next = ColumnValues<fours>(column);  // on its way while this one is added
    float across[rows_a_thread];
#pragma unroll
    for (int r = 0; r < rows_a_thread; ++r) {
      const float distance = v - (r - 0.5f * (rows_a_thread - 1)) * row_v;
      across[r] = power_of_two(-distance * distance);
    }
    sums.add(value, across, factors, e <= reach_of_half, e >= -reach_of_half);
    e += step_e;
    v += step_v;
    factors += 2;
  }
}

/// Adds all columns that S reaches from a thread's targets, of the block's box.
template <int fours>
__device__ void add_columns(const Turn& turn, TurnPlace middle, const ColumnBox& block, const float4* factors,
                            const float* values, TurnSums<fours>& sums) {
  const TurnLattice& from = turn.from;
  const float half_e = half_e_of(turn), half_v = half_v_of(turn);
  const ColumnBox own(from, middle, half_e, half_v);
  const int near_a = own.nearest[0], near_b = own.nearest[1];
  // Where the nearest column lies from the middle, so that numbers are small.
  const auto e = static_cast<float>(from.first.e + near_a * from.step[0].e + near_b * from.step[1].e - middle.e);
  const auto v = static_cast<float>(from.first.v + near_a * from.step[0].v + near_b * from.step[1].v - middle.v);
  const auto step_e = static_cast<float>(from.step[0].e), step_v = static_cast<float>(from.step[0].v);
  const auto next_e = static_cast<float>(from.step[1].e), next_v = static_cast<float>(from.step[1].v);
  const float inverse_e = 1 / step_e, inverse_v = 1 / step_v;
  for (int b = max(own.first[1], block.first[1]); b <= min(own.last[1], block.last[1]); ++b) {
    const float here_e = e + (b - near_b) * next_e, here_v = v + (b - near_b) * next_v;
    const float end_e[2] = {(-half_e - here_e) * inverse_e, (half_e - here_e) * inverse_e};
    const float end_v[2] = {(-half_v - here_v) * inverse_v, (half_v - here_v) * inverse_v};
    const float low = fmaxf(fminf(end_e[0], end_e[1]), fminf(end_v[0], end_v[1]));
    const float high = fminf(fmaxf(end_e[0], end_e[1]), fmaxf(end_v[0], end_v[1]));
    const int first = max(static_cast<int>(ceilf(limited(low))) + near_a, block.first[0]);
    const int last = min(static_cast<int>(floorf(limited(high))) + near_a, block.last[0]);
    if (first > last) continue;
    add_row(turn, values + b * from.stride[1] + first * from.stride[0] + sums.first, last - first + 1,
            here_e + (first - near_a) * step_e, here_v + (first - near_a) * step_v,
            factors + 2 * ((b - block.first[1]) * block.width() + first - block.first[0]), sums);
  }
}

template <int fours>
__device__ void store_sums(const Turn& turn, const TurnShare& share, bool by_unit, TurnSums<fours>& sums, float* to) {
  const TurnLattice& lattice = turn.to;
#pragma unroll
  for (int r = 0; r < rows_a_thread; ++r) {
    const int row = share.row + r;
    if (static_cast<unsigned>(row) >= static_cast<unsigned>(lattice.size[1])) continue;
#pragma unroll
    for (int k = 0; k < targets_a_row; ++k) {
      const int target = share.target + k;
      if (target >= lattice.size[2]) {
        sums.sum[r][k] = 0;
      } else if (by_unit) {
        int at[3] = {};
#pragma unroll
        for (int a = 0; a < 3; ++a) at[a] = lattice.axis[0] == a ? share.line : lattice.axis[1] == a ? row : target;
        sums.sum[r][k] = __fdividef(sums.sum[r][k], turn.unit.at(at[0], at[1], at[2]));
      }
    }
    auto* const out =
        reinterpret_cast<float4*>(to + share.line * lattice.stride[0] + row * lattice.stride[1] + share.target);
    const float(&sum)[targets_a_row] = sums.sum[r];
    out[0] = {sum[0], sum[1], sum[2], sum[3]};
    if (share.target + 4 < lattice.size[2]) out[1] = {sum[4], sum[5], sum[6], sum[7]};
  }
}

template <int fours>
__global__ void __launch_bounds__(turn_threads, turn_blocks)
    turn_lattice(TurnViews views, const float* from, std::int64_t from_slot, float* to, std::int64_t to_slot,
                 bool by_unit) {
  extern __shared__ float4 factors[];
  const int slot = static_cast<int>(blockIdx.z);
  const Turn& turn = views[slot];
  const int lines = TurnShare::lines_of_block(turn), group = static_cast<int>(threadIdx.x) % turn.groups;
  const TurnShare share(turn, static_cast<int>(threadIdx.x) / turn.groups, group);
  chain::wait_for_those_before();
  if (static_cast<int>(blockIdx.x) >= turn.chunks * ((turn.lines + lines - 1) / lines) ||
      share.target >= turn.to.size[2])
    return;
  const TurnPlace middle_of_block =
      0.5 * (TurnShare(turn, 0, 0).middle(turn.to) + TurnShare(turn, lines - 1, 0).middle(turn.to));
  const ColumnBox block(turn.from, middle_of_block, half_e_of(turn),
                        half_v_of(turn) + static_cast<float>(turn.spread_v(lines)));
  fill_factors(turn.from, block, turn.to.first.e + share.target * turn.to.step[2].e,
               static_cast<float>(turn.to.step[2].e), static_cast<float>(turn.reach), factors);
  __syncthreads();
  if (static_cast<int>(threadIdx.x) >= lines * turn.groups ||
      static_cast<unsigned>(share.line) >= static_cast<unsigned>(turn.to.size[0]))
    return;
  const TurnPlace middle = share.middle(turn.to);
  TurnSums<fours> sums(turn, middle);
  add_columns(turn, middle, block, factors, from + slot * from_slot, sums);
  store_sums(turn, share, by_unit, sums, to + slot * to_slot);
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

/// What a block needs for the factors of its columns.
std::size_t bytes_of_factors(const Turn& turn) {
  const int lines = turn_threads / turn.groups;
  const double half_e = turn.reach + 0.5 * (targets_a_row - 1) * turn.to.step[2].e;
  const double half_v = turn.reach + 0.5 * (rows_a_thread - 1) * std::abs(turn.to.step[1].v) + turn.spread_v(lines);
  double columns = 1;
  for (int a = 0; a < 2; ++a) {
    const TurnPlace step = turn.from.step[a];
    columns *=
        std::floor(2 * (half_e * std::abs(step.e) + half_v * std::abs(step.v)) / (step.e * step.e + step.v * step.v)) +
        2;
  }
  return static_cast<std::size_t>(columns) * 2 * sizeof(float4);
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
  for (const Turn& turn : turns) {
    const int lines = turn_threads / turn.groups;
    fours_ = std::max(fours_, turn.fours());
    most_blocks_ = std::max(most_blocks_, turn.chunks * ((turn.lines + lines - 1) / lines));
    most_targets_ = std::max(most_targets_, (turn.to.size[2] + targets_a_row - 1) / targets_a_row);
    bytes_ = std::max(bytes_, bytes_of_factors(turn));
  }
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
                  from, from_slot, to, to_slot, by_unit);
  });
}

}  // namespace tofstream::paper
// SPDX-License-Identifier: Apache-2.0
