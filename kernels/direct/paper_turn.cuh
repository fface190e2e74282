// The rotations of the published two stages on CUDA (paper_two_stage.hpp): sums of S times the points of one lattice, at
// the points of another. Both lattices have an axis at right angles to one of the other's: z of the image lies across s of
// the view. In the frame (c, e, v), where c is such an axis of the source, e that of the target, and v lies across both,
// S is a product of factors in c, e and v. So targets that differ along e alone share the sums along c of the source's
// columns. A thread has four neighbouring rows of eight such targets.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/direct/paper_two_stage.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::paper {

constexpr int rows_a_thread = 4, targets_a_row = 8;  // of a rotation

/// What S sums to over all points of a lattice without ends, about points of another: along each axis a constant and two
/// ripples of the phase between the lattices (Poisson's sum; the third is below 1e-9).
struct LatticeUnit {
  std::uint32_t first[3], step[3][3];  // phase along each axis of the lattice, in 2^-32 of its spacing, by point index
  float level[3], ripple[3], square[3];  // of the phase's cosine
  float constant = 1;

  __device__ float at(int i, int j, int k) const {
    float product = constant;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
      const std::uint32_t phase = first[a] + static_cast<std::uint32_t>(i) * step[a][0] +
                                  static_cast<std::uint32_t>(j) * step[a][1] +
                                  static_cast<std::uint32_t>(k) * step[a][2];
      constexpr float to_radians = 1.4629180792671596e-9f;  // 2 pi / 2^32
      const float cosine = __cosf(to_radians * static_cast<float>(static_cast<std::int32_t>(phase)));
      product *= level[a] + cosine * (ripple[a] + cosine * square[a]);
    }
    return product;
  }
};

/// The sums over `lattice` about points of `of`.
LatticeUnit unit_about(const TurnedLattice& lattice, const TurnedLattice& of, double sigma_mm);

/// In the frame that both lattices share, where S is 2^-(c^2 + e^2 + v^2).
struct TurnPlace {
  double c = 0, e = 0, v = 0;
};

/// A lattice with its axes in the order in which a rotation takes them. Of the source: what a thread goes through first,
/// what next, and the columns' axis; of the target: lines, rows, and the axis along which targets share sums.
struct TurnLattice {
  int axis[3];  // of the TurnedLattice
  int size[3];
  std::int64_t stride[3];  // in memory, in floats; the last one is 1
  TurnPlace first, step[3];
};

/// One rotation of one view.
struct Turn {
  TurnLattice from, to;
  double reach = 0;  // of S
  // Threads: groups of four rows, in chunks, and lines. A group's line is that at which v is that of the chunk's first
  // one, so that neighbouring threads read neighbouring numbers of the same columns.
  int groups = 0, chunks = 0, lines = 0, first_line = 0;
  double lines_a_row = 0;
  // The first group's first row, by line: so that it has about the same place along z in each.
  double first_row = 0, rows_a_line = 0;
  LatticeUnit unit;  // of the source about targets

  /// From one line to the next.
  TOFSTREAM_HOST_DEVICE double line_v() const { return to.step[0].v + rows_a_line * to.step[1].v; }
  /// How far threads of so many lines may lie from their middle: a group's line and a line's rows are whole numbers.
  TOFSTREAM_HOST_DEVICE double spread_v(int of_lines) const {
    return (0.5 * of_lines + 1) * std::abs(line_v()) + std::abs(to.step[1].v);
  }
  /// Fours of a column that S reaches from a thread's rows, wherever they begin.
  int fours() const;
};

/// How both lattices lie in memory: floats from one point to the next along each axis.
struct TurnStrides {
  std::int64_t voxel[3], between[3];
};

/// The image to the lattice between, of rows that S reaches from the image and `margin_mm` beyond.
Turn turn_forth(const PaperStages& stages, const TurnStrides& strides, double margin_mm);
/// The lattice between to the image.
Turn turn_back(const PaperStages& stages, const TurnStrides& strides);

/// Views at hand: slot i is place index[i] of the set.
struct TurnViews {
  const Turn* turns = nullptr;  // of places
  const std::int32_t* index = nullptr;
  int count = 0;
  __device__ const Turn& operator[](int slot) const { return turns[index[slot]]; }
};

/// The rotations of a set's views in one direction.
class Turning {
 public:
  explicit Turning(const std::vector<Turn>& turns);
  /// Floats that are 0 before a column, and behind it.
  static int pad(const std::vector<Turn>& turns);
  /// to[slot] = the sums, over units of the source where `by_unit`. `from` begins at the first column's first number; so
  /// many floats lie from one view to the next.
  void queue(const std::int32_t* index, int count, const float* from, std::int64_t from_slot, float* to,
             std::int64_t to_slot, bool by_unit, Stream stream) const;

 private:
  Buffer<Turn> turns_;
  int fours_ = 0, most_blocks_ = 0, most_targets_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tofstream::paper
// SPDX-License-Identifier: Apache-2.0
