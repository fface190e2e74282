// The resamplings of two_stage across z on CUDA: sums of whole columns, between voxels and points of a view's lattice.
// Groups of four neighbouring targets read lists of sources, whose weights serve all rows. See two_stage_cuda.cuh.
#pragma once

#include <vector>

#include "kernels/direct/two_stage_cuda.cuh"

namespace tofstream::two_stage {

/// Targets in groups of 2 x 2; groups are numbered tile by tile, so that those of a block of threads read neighbouring
/// sources.
struct TargetGroups {
  static constexpr int tile_x = 4, tile_y = 4, of_tile = tile_x * tile_y;  // groups
  int points = 0, lines = 0;                                               // targets
  int width = 0;                                                           // of a line in memory
  int tiles_x = 0, tiles_y = 0;

  TargetGroups() = default;
  TargetGroups(int points, int lines, int width)
      : points(points),
        lines(lines),
        width(width),
        tiles_x(static_cast<int>(parts(points, 2 * tile_x))),
        tiles_y(static_cast<int>(parts(lines, 2 * tile_y))) {}
  TOFSTREAM_HOST_DEVICE int tiles() const { return tiles_x * tiles_y; }
  TOFSTREAM_HOST_DEVICE int count() const { return tiles() * of_tile; }
};

/// What each group of targets reads: sources, as numbers among those of its tile, and their weights for the group's
/// targets (0, 0), (1, 0), (0, 1), (1, 1). Lists are in whole fours, the last ones with weights of 0.
struct GatherLists {
  const std::int32_t* begins = nullptr;  // [place][groups + 1], in a place's entries
  const std::int64_t* places = nullptr;  // where a place's entries begin; null: slot * of_slot
  std::int64_t of_slot = 0;
  float4* weights = nullptr;
  std::uint16_t* sources = nullptr;
  std::int32_t* columns = nullptr;  // [place or slot][tile][most_columns], the sources of a tile in ascending order
  const std::int32_t* column_counts = nullptr;  // [place][tile]
  std::int32_t most_of_tile = 0, most_columns = 0;

  __device__ bool are_kept() const { return places; }
  __device__ std::int64_t first(int slot, int place) const { return places ? places[place] : slot * of_slot; }
  __device__ std::int32_t* columns_of(int slot, int place, int tiles, int tile) const {
    return columns + (std::int64_t{places ? place : slot} * tiles + tile) * most_columns;
  }
};

/// Weights of columns across z, which only lists are made of: [slot][column] of u[count_u], s[count_s].
struct WeightsAcross {
  float* weights = nullptr;
  ColumnStart* starts = nullptr;
  int stride = 0, columns = 0;
};

/// Columns to be added up, and where to: slots lie so many floats apart, or are the same for 0.
struct GatheredColumns {
  const float* from = nullptr;
  std::int64_t from_slot = 0;
  float* to = nullptr;
  std::int64_t to_slot = 0;
};

/// The first target of a group.
struct FirstTarget {
  int x = 0, y = 0;
  __device__ FirstTarget(const TargetGroups& groups, int group) {
    const int tile = group / TargetGroups::of_tile, within = group % TargetGroups::of_tile;
    x = 2 * (tile % groups.tiles_x * TargetGroups::tile_x + within % TargetGroups::tile_x);
    y = 2 * (tile / groups.tiles_x * TargetGroups::tile_y + within / TargetGroups::tile_x);
  }
};

/// What a block of threads has of columns: some of their fours of rows, of a tile's sources in shared memory, or where
/// these are too many in none.
struct GatherShape {
  int fours = 0, chunks = 0;
  std::size_t bytes = 0;  // of shared memory; 0: all is read from where it is

  static GatherShape of(int most_of_tile, int most_columns, int rows);
};

/// to[slot][target] (+)= the weighted sources of its list, of slots n, n + slots, ... `most_entries`: that a thread
/// adds up at most.
void queue_gather(const StageViews& views, const GatherLists& lists, const TargetGroups& groups,
                  const GatherShape& shape, int rows, const GatheredColumns& columns, int slots, bool adds,
                  int most_entries, Stream stream);

struct ListMaker;

/// One of the resamplings across z, of all views of a set.
class PlaneResampling {
 public:
  /// `rows`: floats of a column, whole fours. `all`: each place of the set. `has_margin`: the lattice's margin counts.
  /// Keeps the lists of all places where they are no more than `most_bytes`, which then are fewer.
  PlaneResampling(const Grid& grid, const std::vector<DeviceStages>& stages, const StageViews& all, RadialSteps steps,
                  const StageLattice& lattice, int rows, bool is_out, bool has_margin, std::size_t& most_bytes);

  /// Points of each slot = what voxels give to them.
  void queue_to_points(const StageViews& views, const GatheredColumns& columns, Stream stream);
  /// Its transpose: voxels of each slot = what points give to them.
  void queue_to_voxels(const StageViews& views, const GatheredColumns& columns, Stream stream);
  /// The same of all slots together, in so many sums: number n has slots n, n + sums, ...; they are added where `adds`.
  void queue_to_sums(const StageViews& views, const GatheredColumns& columns, int sums, bool adds, Stream stream);
  /// How many sums fill the GPU.
  int sums_of(int views) const;

 private:
  struct Lists {
    TargetGroups groups;
    int most_sources = 0;  // of a tile's box
    Buffer<std::int32_t> begins, columns, column_counts;
    Buffer<std::uint16_t> entries;
    Buffer<std::int64_t> places;
    Buffer<float4> weights;
    std::int64_t most = 0;           // entries of a place
    std::int32_t most_of_group = 0;  // that a thread reads
    std::int32_t most_of_tile = 0;   // and those of a block
    std::int32_t most_columns = 0;   // of a tile
    GatherShape shape;
    std::vector<std::int64_t> place_entries;  // where each begins, and all
  };

  int columns() const { return static_cast<int>(grid_.stride(2)); }
  static std::size_t column_numbers(const Lists& lists);
  GatherLists at(Lists& lists) const;
  WeightsAcross across();
  void make_room(int views, Stream stream);
  void queue_weights(const StageViews& views, Stream stream);
  ListMaker maker(const StageViews& views, const Lists& lists);
  void queue_lists(const StageViews& views, Lists& lists, Stream stream);
  /// Makes lists that are not kept.
  void prepare(const StageViews& views, Lists& lists, Stream stream);
  void count_entries(Lists& lists, bool to_points, const StageViews& all);
  void queue_gather(const StageViews& views, Lists& lists, const GatheredColumns& columns, int slots, bool adds,
                    Stream stream);
  template <class Work>
  void for_each_part(const StageViews& all, const Work& work);

  Grid grid_;
  DirectLattice voxels_;
  RadialSteps steps_;
  StageLattice lattice_;
  int rows_ = 0;
  bool is_out_, has_margin_, keeps_all_ = false;
  int across_stride_ = 0;
  Lists to_points_, to_voxels_;
  Buffer<float> across_weights_;
  Buffer<ColumnStart> across_starts_;
};

}  // namespace tofstream::two_stage
// SPDX-License-Identifier: Apache-2.0
