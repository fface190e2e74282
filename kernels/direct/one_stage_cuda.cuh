// What the files of one_stage on CUDA share: how images lie in memory, and the tables of the views.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/direct/direct_kernel.hpp"
#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/one_stage_bundles.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::one_stage {

constexpr int columns_a_thread = bundle_columns, rows = 16;
constexpr int quads_a_thread = rows / rows_of_quad;

/// How rows lie in memory: a thread's whole fours of rows are far apart, and each lies beside its neighbours', so that
/// threads that read their own next ones read neighbouring memory.
struct RowOrder {
  int shares = 1;  // threads of a column
  int zeros = 0;   // fours behind each part
  TOFSTREAM_HOST_DEVICE int part() const { return shares + zeros; }
  TOFSTREAM_HOST_DEVICE int stride() const { return rows_of_quad * (quads_a_thread * part() + 1); }
  /// In floats.
  TOFSTREAM_HOST_DEVICE int of_quad(int quad) const {
    const int phase = ((quad % quads_a_thread) + quads_a_thread) % quads_a_thread;
    return rows_of_quad * (phase * part() + (quad - phase) / quads_a_thread);
  }
  /// The row at a place of a column, or -1.
  TOFSTREAM_HOST_DEVICE int row_at(int place) const {
    const int four = place / rows_of_quad, phase = four / part(), share = four % part();
    if (phase >= quads_a_thread || share >= shares) return -1;
    return rows_of_quad * (share * quads_a_thread + phase) + place % rows_of_quad;
  }
};

/// The device reads it as two int4.
struct alignas(32) DeviceBundle {
  std::int32_t offsets[quads_a_thread] = {};  // of whole fours, by their number modulo a thread's
  std::int32_t dx = 0, dy = 0;
  std::int32_t mask = 0, weight = 0;
};

/// Bundles of one shift and number of taps, as they stand in a chunk.
struct alignas(16) DeviceSegment {
  std::int32_t code = 0;  // shift + 4 (taps - 1)
  std::int32_t first = 0, count = 0;
  std::int32_t values = 0;  // the first bundle's
};

/// What a block has of its tables at a time: segments, their bundles and values, in words of 16 bytes.
constexpr int most_chunk_words = 2560;
struct Chunk {
  std::int32_t first = 0, words = 0;  // of the view's words
  std::int32_t segments = 0;
};

/// A view's tables. Forward values are those of a kernel seen from its points: at the mirrored ones.
struct DeviceTables {
  const int4* words[2] = {};  // back, forward
  const Chunk* chunks = nullptr;
  const float* weights[2] = {};  // of many profiles: [profile][run]
  const std::int16_t* map = nullptr;
  int chunk_count = 0, weight_count = 0;
  bool is_along_y = false;
};

/// Images whose voxels lie column by column, with a column of zeros at the end of each.
struct OneColumns {
  float* values = nullptr;
  RowOrder order;
  int margin = 0;
  std::int64_t slot_size = 0;
};

struct OneViews {
  const DeviceTables* tables = nullptr;  // of places
  const std::int32_t* index = nullptr;
  int count = 0;
};

/// The tables of all views of a set, on the device.
class Tables {
 public:
  /// Throws std::invalid_argument for an image whose columns 32 bits do not number.
  Tables(const Grid& grid, const std::vector<ViewFrame>& frames, const DirectKernel& kernel,
         const RadialProfiles& profiles);

  OneViews views(const std::int32_t* index, int count) const { return {tables_.data(), index, count}; }
  /// How columns lie in memory; without any.
  const OneColumns& columns() const { return columns_; }

 private:
  struct OfView;

  OfView of_view(const ViewFrame& frame, const DirectKernel& kernel, const RadialProfiles& profiles) const;
  std::vector<int4> words_of(const OfView& view, int side, std::vector<Chunk>& chunks) const;
  DeviceBundle device_bundle(const ColumnBundle& bundle) const;
  void set_columns(const std::vector<OfView>& all);
  void keep(const std::vector<OfView>& all, bool has_one_profile);

  Grid grid_;
  OneColumns columns_;
  Buffer<int4> words_;
  Buffer<Chunk> chunks_;
  Buffer<float> weights_;
  Buffer<std::int16_t> maps_;
  Buffer<DeviceTables> tables_;
};

}  // namespace tofstream::one_stage
// SPDX-License-Identifier: Apache-2.0
