// one_stage in CUDA as published (Ha et al. 2013, figures 2 and 3), corrected: the mirrored value of point i is number
// n - 1 - i of its own kernel, where n - i is printed, the first of the next one; and figure 3 stores each of a thread's
// 16 voxels. Where textures were read, the compiler now reads through the same cache. A launch a view.
#include <cstdint>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/kernel_attributes.cuh"
#include "kernels/direct/direct_cuda_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/kernel_tables.hpp"

namespace tofstream {

namespace {

constexpr int tlp_threads = 512, ilp_threads = 256;
constexpr int ilp_rows = 16;

/// The paper's tables of a view: its mSR, mSRval and LORmap.
struct PublishedTables {
  const short4* offsets = nullptr;  // w is not used
  const float* values = nullptr;    // [profile][point]
  const std::int16_t* map = nullptr;
  int points = 0;
};

struct PublishedGrid {
  int size_x = 1, size_y = 1, size_z = 1;
  __device__ std::int64_t columns() const { return std::int64_t{size_x} * size_y; }
};

/// to (+)= the sums of `rows` voxels along z from a thread's first on. Forward: kernels of the voxels around, at the
/// mirrored point; back: the own kernel. Null stands for ones.
template <bool is_forward, int rows>
__device__ void sum_points(PublishedGrid grid, PublishedTables tables, const float* __restrict__ from,
                           float* __restrict__ to, std::int64_t thread) {
  const std::int64_t columns = grid.columns(), column = thread % columns;
  const std::int64_t block = thread / columns;
  if (block >= (grid.size_z + rows - 1) / rows) return;
  const int x = static_cast<int>(column % grid.size_x), y = static_cast<int>(column / grid.size_x);
  const int z = static_cast<int>(block) * rows;
  const float* const own = tables.values + std::int64_t{tables.map[column]} * tables.points;
  float sum[rows] = {};
  for (int i = 0; i < tables.points; ++i) {
    const short4 offset = tables.offsets[i];
    const int from_x = x + offset.x, from_y = y + offset.y, from_z = z + offset.z;
    if (from_x < 0 || from_x >= grid.size_x || from_y < 0 || from_y >= grid.size_y) continue;
    const std::int64_t source = std::int64_t{from_y} * grid.size_x + from_x;
    const float value =
        is_forward ? tables.values[std::int64_t{tables.map[source]} * tables.points + (tables.points - 1 - i)] : own[i];
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (from_z + r >= 0 && from_z + r < grid.size_z)
        sum[r] += value * (from ? from[(from_z + r) * columns + source] : 1.0f);
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    if (z + r >= grid.size_z) continue;
    float& out = to[(z + r) * columns + column];
    out = is_forward ? sum[r] : out + sum[r];
  }
}

template <bool is_forward>
__global__ void __launch_bounds__(tlp_threads)
    sum_points_tlp(PublishedGrid grid, PublishedTables tables, const float* from, float* to) {
  sum_points<is_forward, 1>(grid, tables, from, to, std::int64_t{blockIdx.x} * tlp_threads + threadIdx.x);
}

template <bool is_forward>
__global__ void __launch_bounds__(ilp_threads)
    sum_points_ilp(PublishedGrid grid, PublishedTables tables, const float* from, float* to) {
  sum_points<is_forward, ilp_rows>(grid, tables, from, to, std::int64_t{blockIdx.x} * ilp_threads + threadIdx.x);
}

class PublishedOneStageCuda final : public DirectProjector {
 public:
  PublishedOneStageCuda(const Grid& grid, const ViewSet& set, const DirectSettings& settings, OneStageForm form)
      : DirectProjector(grid, set, settings, Backend::cuda), form_(form) {
    make_tables();
  }

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views(views);
    for (int v = 0; v < views.views; ++v) queue<true>(views, v, image, expectation + v * points(), stream);
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views(views);
    for (int v = 0; v < views.views; ++v)
      queue<false>(views, v, values ? values + v * points() : nullptr, image, stream);
  }

 private:
  template <bool is_forward>
  void queue(const Views& views, int view, const float* from, float* to, Stream stream) const {
    const PublishedTables& tables = tables_[static_cast<std::size_t>(views.records[view].view)];
    const PublishedGrid size{grid().size[0], grid().size[1], grid().size[2]};
    const auto blocks = [](std::int64_t threads, int a_block) {
      return static_cast<unsigned>((threads + a_block - 1) / a_block);
    };
    if (form_ == OneStageForm::tlp) {
      sum_points_tlp<is_forward>
          <<<blocks(grid().voxels(), tlp_threads), tlp_threads, 0, stream>>>(size, tables, from, to);
    } else {
      const std::int64_t threads = grid().stride(2) * ((size.size_z + ilp_rows - 1) / ilp_rows);
      sum_points_ilp<is_forward><<<blocks(threads, ilp_threads), ilp_threads, 0, stream>>>(size, tables, from, to);
    }
    check_launch("project histo-images as published");
  }

  /// Tables of a view on the host.
  struct HostTables {
    std::vector<short4> offsets;
    std::vector<float> values;
    std::vector<std::int16_t> map;
  };

  HostTables tables_of(const ViewFrame& look) const {
    const KernelTables tables(grid(), look, settings().kernel, profiles());
    HostTables made;
    for (const KernelRun& run : tables.runs())
      for (int m = 0; m < run.count; ++m)
        made.offsets.push_back(
            {static_cast<short>(run.dx), static_cast<short>(run.dy), static_cast<short>(run.dz + m), 0});
    made.values.assign(tables.values_of(0),
                       tables.values_of(0) + static_cast<std::size_t>(profiles().count()) * tables.points());
    for (int y = 0; y < grid().size[1]; ++y)
      for (int x = 0; x < grid().size[0]; ++x) made.map.push_back(static_cast<std::int16_t>(tables.profile(x, y)));
    return made;
  }

  void make_tables() {
    const std::size_t places = frames().size();
    std::vector<HostTables> all(places);
    tbb::parallel_for(std::size_t{0}, places, [&](std::size_t p) { all[p] = tables_of(frames()[p]); });
    std::vector<short4> offsets;
    std::vector<float> values;
    std::vector<std::int16_t> maps;
    for (const HostTables& here : all) {
      offsets.insert(offsets.end(), here.offsets.begin(), here.offsets.end());
      values.insert(values.end(), here.values.begin(), here.values.end());
      maps.insert(maps.end(), here.map.begin(), here.map.end());
    }
    offsets_ = Buffer<short4>::from(offsets).to(Memory::device);
    values_ = Buffer<float>::from(values).to(Memory::device);
    maps_ = Buffer<std::int16_t>::from(maps).to(Memory::device);
    synchronize(nullptr);  // the host's copies may go, and what is here may next be used on any stream
    PublishedTables next{offsets_.data(), values_.data(), maps_.data(), 0};
    for (const HostTables& here : all) {
      next.points = static_cast<int>(here.offsets.size());
      tables_.push_back(next);
      next.offsets += here.offsets.size();
      next.values += here.values.size();
      next.map += here.map.size();
    }
  }

  OneStageForm form_;
  Buffer<short4> offsets_;
  Buffer<float> values_;
  Buffer<std::int16_t> maps_;
  std::vector<PublishedTables> tables_;  // of places
};

}  // namespace

std::unique_ptr<ViewProjector> make_published_one_stage_cuda(const Grid& grid, const ViewSet& set,
                                                             const DirectSettings& settings, OneStageForm form) {
  return std::make_unique<PublishedOneStageCuda>(grid, set, settings, form);
}

KernelAttributes published_one_stage_attributes(OneStageForm form, bool is_forward) {
  if (form == OneStageForm::tlp)
    return attributes_of(is_forward ? sum_points_tlp<true> : sum_points_tlp<false>, tlp_threads);
  return attributes_of(is_forward ? sum_points_ilp<true> : sum_points_ilp<false>, ilp_threads);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
