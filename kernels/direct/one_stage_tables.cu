// The tables of one_stage on CUDA: see one_stage_cuda.cuh.
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <tbb/parallel_for.h>

#include "kernels/direct/kernel_tables.hpp"
#include "kernels/direct/one_stage_cuda.cuh"

namespace tofstream::one_stage {

namespace {

constexpr int bundle_words = sizeof(DeviceBundle) / sizeof(int4);
int value_words(const BundleSegment& segment) {
  return bundle_columns * fours_of_taps(segment.taps);
}

/// Segments, of which some are cut in two, chunk by chunk.
std::vector<std::vector<BundleSegment>> chunks_of(const std::vector<BundleSegment>& segments) {
  std::vector<std::vector<BundleSegment>> chunks(1);
  int room = most_chunk_words;
  for (BundleSegment left : segments)
    while (left.first < left.end) {
      const int fit = (room - 1) / (bundle_words + value_words(left));
      if (fit < 1) {
        chunks.emplace_back();
        room = most_chunk_words;
        continue;
      }
      BundleSegment taken = left;
      taken.end = std::min(left.end, left.first + fit);
      const int count = taken.end - taken.first;
      room -= 1 + count * (bundle_words + value_words(left));
      left.first = taken.end;
      left.values += count * value_words(left);
      chunks.back().push_back(taken);
    }
  return chunks;
}

}  // namespace

/// On the host.
struct Tables::OfView {
  ViewBundles view;
  std::vector<float> values[2], weights[2];  // values: fours of a column, as segments have them
  std::vector<std::int16_t> map;
};

Tables::OfView Tables::of_view(const ViewFrame& look, const DirectKernel& kernel,
                               const RadialProfiles& profiles) const {
  const bool has_one_profile = profiles.count() == 1;
  const KernelTables tables(grid_, look, kernel, profiles);
  OfView made;
  made.view = bundle_runs(tables, look);
  const auto last = static_cast<int>(tables.points()) - 1;
  for (int side = 0; side < 2; ++side) {
    const auto mirrored = [&](int point) { return static_cast<std::size_t>(side == 0 ? point : last - point); };
    for (const ColumnBundle& bundle : made.view.bundles)
      for (int c = 0; c < bundle_columns; ++c)
        for (int t = 0; t < 4 * fours_of_taps(bundle.taps); ++t) {
          const int point = bundle.points[c][t];
          float value = 0;
          if (point >= 0)
            value = has_one_profile ? tables.values_of(0)[mirrored(point)]
                                    : static_cast<float>(tables.along()[mirrored(point)]);
          made.values[side].push_back(value);
        }
    if (has_one_profile) continue;
    const std::size_t last_run = tables.runs().size() - 1;
    for (int a = 0; a < profiles.count(); ++a)
      for (const int run : made.view.weights) {
        const auto r = static_cast<std::size_t>(std::max(run, 0));
        made.weights[side].push_back(run < 0 ? 0 : static_cast<float>(tables.radial(a, side == 0 ? r : last_run - r)));
      }
  }
  for (int y = 0; y < grid_.size[1]; ++y)
    for (int x = 0; x < grid_.size[0]; ++x) made.map.push_back(static_cast<std::int16_t>(tables.profile(x, y)));
  return made;
}

/// A view's words of one side, and where its chunks stand in them.
std::vector<int4> Tables::words_of(const OfView& of, int side, std::vector<Chunk>& chunks) const {
  std::vector<int4> words;
  constexpr std::size_t word = sizeof(int4);
  const auto add = [&](const auto& what) {
    static_assert(sizeof what % word == 0);
    const std::size_t at = words.size();
    words.resize(at + sizeof what / word);
    std::memcpy(words.data() + at, &what, sizeof what);
  };
  const std::vector<std::vector<BundleSegment>> all = chunks_of(of.view.segments);
  for (const std::vector<BundleSegment>& segments : all) {
    Chunk chunk{static_cast<int>(words.size()), 0, static_cast<int>(segments.size())};
    int bundles = 0, at = chunk.segments;
    for (const BundleSegment& segment : segments) bundles += segment.end - segment.first;
    int values = at + bundle_words * bundles;
    for (const BundleSegment& segment : segments) {
      const int count = segment.end - segment.first;
      add(DeviceSegment{segment.shift + rows_of_quad * (segment.taps - 1), at, count, values});
      at += bundle_words * count;
      values += count * value_words(segment);
    }
    for (const BundleSegment& segment : segments)
      for (int b = segment.first; b < segment.end; ++b)
        add(device_bundle(of.view.bundles[static_cast<std::size_t>(b)]));
    for (const BundleSegment& segment : segments)
      for (int w = 0; w < (segment.end - segment.first) * value_words(segment); ++w) {
        float four[4];
        std::copy_n(of.values[side].data() + 4 * (segment.values + w), 4, four);
        add(four);
      }
    chunk.words = static_cast<int>(words.size()) - chunk.first;
    chunks.push_back(chunk);
  }
  return words;
}

Tables::Tables(const Grid& grid, const std::vector<ViewFrame>& frames, const DirectKernel& kernel,
               const RadialProfiles& profiles)
    : grid_(grid) {
  std::vector<OfView> all(frames.size());
  tbb::parallel_for(std::size_t{0}, all.size(), [&](std::size_t p) { all[p] = of_view(frames[p], kernel, profiles); });
  set_columns(all);
  keep(all, profiles.count() == 1);
}

/// Copies them to the device.
void Tables::keep(const std::vector<OfView>& all, bool has_one_profile) {
  std::vector<int4> words;
  std::vector<Chunk> chunks;
  std::vector<float> weights;
  std::vector<std::int16_t> maps;
  struct Begin {
    std::size_t words[2], weights[2], chunks;
  };
  std::vector<Begin> begins;
  for (const OfView& here : all) {
    Begin& begin = begins.emplace_back();
    begin.chunks = chunks.size();
    for (int side = 0; side < 2; ++side) {
      begin.words[side] = words.size();
      begin.weights[side] = weights.size();
      std::vector<Chunk> same;  // of both sides
      const std::vector<int4> of_side = words_of(here, side, side == 0 ? chunks : same);
      words.insert(words.end(), of_side.begin(), of_side.end());
      weights.insert(weights.end(), here.weights[side].begin(), here.weights[side].end());
    }
    if (!has_one_profile) maps.insert(maps.end(), here.map.begin(), here.map.end());
  }
  words_ = Buffer<int4>::from(words).to(Memory::device);
  chunks_ = Buffer<Chunk>::from(chunks).to(Memory::device);
  weights_ = Buffer<float>::from(weights).to(Memory::device);
  maps_ = Buffer<std::int16_t>::from(maps).to(Memory::device);
  std::vector<DeviceTables> tables(all.size());
  for (std::size_t p = 0; p < all.size(); ++p) {
    DeviceTables& to = tables[p];
    to.chunks = chunks_.data() + begins[p].chunks;
    to.chunk_count = static_cast<int>((p + 1 < all.size() ? begins[p + 1].chunks : chunks.size()) - begins[p].chunks);
    to.weight_count = static_cast<int>(all[p].view.weights.size());
    to.is_along_y = all[p].view.is_along_y;
    for (int side = 0; side < 2; ++side) {
      to.words[side] = words_.data() + begins[p].words[side];
      to.weights[side] = weights_.data() + begins[p].weights[side];
    }
    if (!has_one_profile) to.map = maps_.data() + static_cast<std::int64_t>(p) * grid_.stride(2);
  }
  tables_ = Buffer<DeviceTables>::from(tables).to(Memory::device);
  synchronize(nullptr);  // the host's copies may go
}

DeviceBundle Tables::device_bundle(const ColumnBundle& bundle) const {
  DeviceBundle made{.dx = bundle.dx, .dy = bundle.dy, .mask = bundle.mask, .weight = bundle.weight};
  for (int k = 0; k < quads_a_thread; ++k) made.offsets[k] = columns_.order.of_quad(bundle.quad + k);
  return made;
}

/// How columns lie in memory, by how far bundles reach along z.
void Tables::set_columns(const std::vector<OfView>& all) {
  int reach = 0;
  for (const OfView& here : all) reach = std::max(reach, here.view.reach);
  const auto parts = [](int of, int size) { return (of + size - 1) / size; };
  RowOrder& order = columns_.order;
  order.shares = parts(grid_.size[2], rows);
  order.zeros = parts(reach + rows_of_quad, rows);
  columns_.margin = rows_of_quad * order.zeros;
  columns_.slot_size = columns_.margin + (grid_.stride(2) + 1) * order.stride();
  if (columns_.slot_size > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument(
        "an image this large needs larger voxels for one_stage on a GPU, or operator two_stage");
}

}  // namespace tofstream::one_stage
// SPDX-License-Identifier: Apache-2.0
