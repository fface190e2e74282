// The published two stages on CUDA, some views at a time: see paper_two_stage.hpp, and paper_turn.cuh for the rotations.
// Voxels lie as columns along z, and the points between with j fastest, then i, then k, in which order either is the
// other rotation's source.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/chain.cuh"
#include "kernels/cuda/check.hpp"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/paper_turn.cuh"
#include "kernels/direct/two_stage_cuda.cuh"
#include "kernels/direct/two_stage_lines.cuh"

namespace tofstream {

namespace {

using namespace paper;
using two_stage::StageColumns, two_stage::tap_block, two_stage::outputs_a_thread, two_stage::to_four, two_stage::parts;

/// Points between that may have values, or may give to voxels: those in a box about the image. Others are not written.
struct PaperBox {
  Vec3 first_mm, step_mm[3], half_mm;  // of the lattice, from the box's middle
  int size[3];

  /// Those of the line (j, k), from begin to end.
  struct Range {
    int begin = 0, end = 0;
    __device__ bool contains(int i) const { return i >= begin && i < end; }
  };
  __device__ Range of_line(int j, int k) const {
    const Vec3 at = first_mm + static_cast<float>(j) * step_mm[1] + static_cast<float>(k) * step_mm[2];
    float low = 0, high = static_cast<float>(size[0] - 1);
#pragma unroll
    for (int a = 0; a < 3; ++a) {
      const float inverse = 1 / step_mm[0][a];  // infinite: fminf and fmaxf leave out what is no number
      const float ends[2] = {(-half_mm[a] - at[a]) * inverse, (half_mm[a] - at[a]) * inverse};
      low = fmaxf(low, fminf(ends[0], ends[1]));
      high = fminf(high, fmaxf(ends[0], ends[1]));
    }
    if (!(low <= high)) return {};
    return {static_cast<int>(ceilf(low)), static_cast<int>(floorf(high)) + 1};
  }
};

/// What the passes between the rotations read of a view.
struct PaperPasses {
  PaperBlur axial;
  PaperAcross across;
  const float* along = nullptr;  // in whole blocks, the last weights 0
  int along_reach = 0, along_blocks = 0;
  PaperBox box;
  LatticeUnit unit_of_voxel, unit_of_point;
};

/// How views lie in memory, alike for all.
struct PaperShape {
  int pad = 0;     // zeros before a column, and behind it
  int column = 0;  // floats from one column of voxels to the next
  int voxels_z = 0, columns = 0;
  int line = 0;   // floats from one i to the next
  int lines = 0;  // i
  int most_j = 0, most_k = 0;

  TOFSTREAM_HOST_DEVICE std::int64_t plane() const { return std::int64_t{line} * lines; }
  TOFSTREAM_HOST_DEVICE std::int64_t column_floats() const { return std::int64_t{column} * columns + 2 * pad; }
  TOFSTREAM_HOST_DEVICE std::int64_t between_floats() const { return plane() * most_k + 2 * pad; }
  TurnStrides strides(int columns_of_row) const {
    return {{column, std::int64_t{column} * columns_of_row, 1}, {line, 1, plane()}};
  }
};

struct PaperViews {
  const PaperPasses* passes = nullptr;  // of places
  const std::int32_t* index = nullptr;
  int count = 0;
  __device__ const PaperPasses& operator[](int slot) const { return passes[index[slot]]; }
};

constexpr int paper_threads = 256;

/// Columns over their voxels' units. A thread has four voxels.
__global__ void __launch_bounds__(paper_threads)
    paper_load(PaperViews views, PaperShape shape, int columns_of_row, const float* columns, float* to) {
  const int fours = to_four(shape.voxels_z) / 4, n = static_cast<int>(blockIdx.x * paper_threads + threadIdx.x);
  const int column = n / fours, z = 4 * (n % fours), slot = static_cast<int>(blockIdx.y);
  const LatticeUnit& unit = views[slot].unit_of_voxel;
  chain::wait_for_those_before();
  if (column >= shape.columns) return;
  const int x = column % columns_of_row, y = column / columns_of_row;
  const float4 given = two_stage::four_of(columns + column * std::int64_t{shape.column} + z);
  const auto over_unit = [&](float value, int at) { return __fdividef(value, unit.at(x, y, at)); };
  auto* const out =
      reinterpret_cast<float4*>(to + slot * shape.column_floats() + column * std::int64_t{shape.column} + z);
  *out = {over_unit(given.x, z), over_unit(given.y, z + 1), over_unit(given.z, z + 2), over_unit(given.w, z + 3)};
}

enum class PaperPass { across, across_transposed, axial };

/// One of C's passes but for that along t. A thread has a point.
__global__ void __launch_bounds__(paper_threads)
    paper_blur(PaperViews views, PaperShape shape, PaperPass pass, const float* in, float* out) {
  const int j = static_cast<int>(blockIdx.x * paper_threads + threadIdx.x) % shape.most_j;
  const int i = static_cast<int>(blockIdx.x * paper_threads + threadIdx.x) / shape.most_j;
  const int k = static_cast<int>(blockIdx.y), slot = static_cast<int>(blockIdx.z);
  const PaperPasses& passes = views[slot];
  const PaperBox& box = passes.box;
  chain::wait_for_those_before();
  if (j >= box.size[1] || k >= box.size[2] || !box.of_line(j, k).contains(i)) return;
  const std::int64_t at = slot * shape.between_floats() + k * shape.plane() + std::int64_t{i} * shape.line;
  const bool is_axial = pass == PaperPass::axial;
  const int reach = is_axial ? passes.axial.reach : passes.across.reach;
  float sum = 0;
  for (int d = -reach; d <= reach; ++d) {
    const int other_j = is_axial ? j : j + d, other_k = is_axial ? k + d : k;
    if (other_j < 0 || other_j >= box.size[1] || other_k < 0 || other_k >= box.size[2]) continue;
    if (!box.of_line(other_j, other_k).contains(i)) continue;
    const float weight = is_axial                    ? passes.axial.weights[d + reach]
                         : pass == PaperPass::across ? passes.across.weight(j, other_j)
                                                     : passes.across.weight(other_j, j);
    sum += weight * in[at + (other_k - k) * shape.plane() + other_j];
  }
  out[at + j] = sum;
}

// Lines of one k are of unlike length in the box, so a block has few of them.
constexpr int along_j = 8, along_k = 4, along_lanes = along_j * along_k, along_warps = 5;

/// C's pass along t, in place, over units of points where `by_unit`. A block has neighbouring lines, one a lane.
__global__ void __launch_bounds__(along_lanes* along_warps)
    paper_along(PaperViews views, PaperShape shape, bool by_unit, float* values) {
  extern __shared__ __align__(16) float lines[];  // [weights], [point][lane]
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int j = static_cast<int>(blockIdx.x) * along_j + lane % along_j;
  const int k = static_cast<int>(blockIdx.y) * along_k + lane / along_j, slot = static_cast<int>(blockIdx.z);
  const PaperPasses& passes = views[slot];
  const PaperBox& box = passes.box;
  const int taps = passes.along_blocks * tap_block;
  for (int n = warp * along_lanes + lane; n < taps; n += along_lanes * along_warps) lines[n] = passes.along[n];
  const PaperBox::Range own = j < box.size[1] && k < box.size[2] ? box.of_line(j, k) : PaperBox::Range{};
  const bool has_any = own.begin < own.end;
  const int begin = __reduce_min_sync(~0u, has_any ? own.begin : shape.lines);
  const int end = __reduce_max_sync(~0u, own.end);
  chain::wait_for_those_before();
  float* const given = lines + taps + lane;
  float* const line = values + slot * shape.between_floats() + k * shape.plane() + j;
  // As far as whole shares and blocks of weights read.
  const int width = (end - begin + outputs_a_thread - 1) / outputs_a_thread * outputs_a_thread + taps - 1;
#pragma unroll 4
  for (int n = warp; n < width; n += along_warps) {
    const int i = begin + n - passes.along_reach;
    given[n * along_lanes] = own.contains(i) ? line[std::int64_t{i} * shape.line] : 0.0f;
  }
  __syncthreads();
  for (int first = begin + warp * outputs_a_thread; first < end; first += along_warps * outputs_a_thread) {
    float sums[outputs_a_thread] = {};
    for (int b = 0; b < passes.along_blocks; ++b) {
      const float4 low = two_stage::four_of(lines + b * tap_block),
                   high = two_stage::four_of(lines + b * tap_block + 4);
      const float weight[tap_block] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      const float* const here = given + (first - begin + b * tap_block) * along_lanes;
      two_stage::add_taps(
          weight, [&](int n) { return here[n * along_lanes]; }, sums);
    }
#pragma unroll
    for (int e = 0; e < outputs_a_thread; ++e) {
      const int i = first + e;
      if (!own.contains(i)) continue;
      line[std::int64_t{i} * shape.line] = by_unit ? __fdividef(sums[e], passes.unit_of_point.at(i, j, k)) : sums[e];
    }
  }
}

/// Three weights that change nothing, as where the rotations have all of a factor.
bool is_identity(const float* weights, int count) {
  for (int n = 0; n < count; ++n)
    if (std::abs(weights[n] - (2 * n == count - 1 ? 1.0f : 0.0f)) > 1e-6f) return false;
  return true;
}

class CudaPaperTwoStage final : public DirectProjector {
 public:
  CudaPaperTwoStage(const Grid& grid, const ViewSet& set, const DirectSettings& settings)
      : DirectProjector(grid, set, settings, Backend::cuda) {
    std::vector<PaperSplit> splits;
    for (const ViewFrame& frame : frames()) splits.emplace_back(grid, frame, settings.kernel, profiles());
    find_passes(splits);
    find_shape(splits);
    make_turns(splits);
    make_passes(splits);
    two_stage::take_shared(paper_along);
    image_columns_ = Buffer<float>::zeros(Memory::device, shape_.column_floats());
    synchronize(nullptr);  // what is here may next be used on any stream
  }

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views(views);
    queue_to_columns(image, grid(), 1, columns_of(image_columns_), stream);
    for_each_group(
        views,
        [&](const PaperViews& group, int first) {
          load(group, stream);
          rotate(*forth_, group, columns_, columns_size(), in_, between_size(), false, stream);
          if (blurs_across_) blur(group, PaperPass::across, stream);
          if (blurs_axially_) blur(group, PaperPass::axial, stream);
          blur_along(group, true, stream);
          rotate(*back_, group, in_, between_size(), columns_, columns_size(), false, stream);
          queue_from_columns(columns_of(columns_), grid(), group.count, expectation + first * points(), stream);
        },
        stream);
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views(views);
    for_each_group(
        views,
        [&](const PaperViews& group, int first) {
          queue_to_columns(values ? values + first * points() : nullptr, grid(), group.count, columns_of(columns_),
                           stream);
          rotate(*forth_, group, columns_, columns_size(), in_, between_size(), true, stream);
          if (blurs_axially_) blur(group, PaperPass::axial, stream);
          if (blurs_across_) blur(group, PaperPass::across_transposed, stream);
          blur_along(group, false, stream);
          rotate(*back_, group, in_, between_size(), columns_, columns_size(), true, stream);
          queue_add_columns(columns_of(columns_), grid(), group.count, image, stream);
        },
        stream);
  }

 private:
  std::int64_t columns_size() const { return shape_.column_floats(); }
  std::int64_t between_size() const { return shape_.between_floats(); }
  StageColumns columns_of(Buffer<float>& buffer) const {
    return {buffer.data() + shape_.pad, shape_.column, columns_size()};
  }

  void find_passes(const std::vector<PaperSplit>& splits) {
    for (const PaperSplit& split : splits) {
      const PaperAcross across = split.stages().across;
      blurs_axially_ = blurs_axially_ || !is_identity(split.axial().data(), static_cast<int>(split.axial().size()));
      for (std::size_t row = 0; row < split.first().size(); ++row)
        blurs_across_ =
            blurs_across_ || !is_identity(across.weights + row * static_cast<std::size_t>(across.count), across.count);
    }
  }
  /// How far beyond what S reaches from the image the passes before the one along t may bring values.
  double margin_mm(const PaperStages& stages) const {
    return (blurs_across_ ? stages.across.reach * stages.between.spacing_mm[1] : 0) +
           (blurs_axially_ ? stages.axial.reach * stages.between.spacing_mm[2] : 0);
  }

  void find_shape(const std::vector<PaperSplit>& splits) {
    const TurnStrides any{};
    std::vector<Turn> turns;
    int most_line = 0;
    for (const PaperSplit& split : splits) {
      const PaperStages stages = split.stages();
      turns.push_back(turn_forth(stages, any, 0));
      turns.push_back(turn_back(stages, any));
      most_line = std::max(most_line, stages.between.size[1]);
      shape_.lines = std::max(shape_.lines, stages.between.size[0]);
      shape_.most_k = std::max(shape_.most_k, stages.between.size[2]);
    }
    shape_.pad = Turning::pad(turns);
    shape_.most_j = most_line;
    shape_.line = to_four(most_line) + shape_.pad;
    shape_.voxels_z = grid().size[2];
    shape_.column = to_four(grid().size[2]) + shape_.pad;
    shape_.columns = static_cast<int>(grid().stride(2));
  }

  void make_turns(const std::vector<PaperSplit>& splits) {
    const TurnStrides strides = shape_.strides(grid().size[0]);
    std::vector<Turn> forth, back;
    for (const PaperSplit& split : splits) {
      const PaperStages stages = split.stages();
      // A spacing more than is read, whatever is rounded.
      forth.push_back(turn_forth(stages, strides, margin_mm(stages) + stages.between.spacing_mm[2]));
      back.push_back(turn_back(stages, strides));
    }
    forth_ = std::make_unique<Turning>(forth);
    back_ = std::make_unique<Turning>(back);
  }

  void make_passes(const std::vector<PaperSplit>& splits) {
    std::vector<float> weights;
    std::vector<int> first;
    std::vector<PaperPasses> passes;
    std::vector<std::size_t> begins, first_begins;
    const auto add = [&](const std::vector<float>& some) {
      begins.push_back(weights.size());
      weights.insert(weights.end(), some.begin(), some.end());
    };
    for (const PaperSplit& split : splits) {
      add(split.axial());
      add(split.across());
      add(split.along());
      const auto blocks = parts(static_cast<std::int64_t>(split.along().size()), tap_block);
      weights.resize(begins.back() + blocks * tap_block, 0.0f);
      first_begins.push_back(first.size());
      first.insert(first.end(), split.first().begin(), split.first().end());
      most_along_ = std::max(most_along_, static_cast<int>(blocks) * tap_block);
    }
    weights_ = Buffer<float>::from(weights).to(Memory::device);
    first_ = Buffer<int>::from(first).to(Memory::device);
    for (std::size_t place = 0; place < splits.size(); ++place) {
      const auto at = [&](std::size_t n) { return weights_.data() + begins[3 * place + n]; };
      PaperPasses& to = passes.emplace_back();
      const PaperStages stages = splits[place].stages(at(2), at(0), at(1), first_.data() + first_begins[place]);
      to.axial = stages.axial;
      to.across = stages.across;
      to.along = at(2);
      to.along_reach = stages.along.reach;
      to.along_blocks = static_cast<int>(parts(2 * to.along_reach + 1, tap_block));
      to.box = box_of(stages);
      to.unit_of_voxel = unit_about(stages.between, stages.voxels, stages.rotation.sigma_mm);
      to.unit_of_point = unit_about(stages.voxels, stages.between, stages.rotation.sigma_mm);
    }
    passes_ = Buffer<PaperPasses>::from(passes).to(Memory::device);
  }

  /// About all points that a rotation reads: S is cut to a square across z, and threads share columns of four rows.
  PaperBox box_of(const PaperStages& stages) const {
    const TurnedLattice &voxels = stages.voxels, &between = stages.between;
    const double reach = stages.rotation.reach_mm(), margin = margin_mm(stages);
    const double wide = std::max(voxels.spacing_mm[0], voxels.spacing_mm[1]);
    PaperBox box;
    Vec3d middle = voxels.first_mm;
    for (int a = 0; a < 3; ++a) {
      const double half = 0.5 * (voxels.size[a] - 1) * voxels.spacing_mm[a];
      const double beyond = a < 2 ? std::sqrt(2.0) * reach + 1.5 * wide : reach + 0.5 * voxels.spacing_mm[2];
      middle = middle + half * voxels.axis[a];
      box.half_mm.set(a, static_cast<float>(half + beyond + margin));
      box.step_mm[a] = (between.spacing_mm[a] * between.axis[a]).as<float>();
      box.size[a] = between.size[a];
    }
    box.first_mm = (between.first_mm - middle).as<float>();
    return box;
  }

  /// Calls work(group, first view) for some views at a time.
  template <class Work>
  void for_each_group(const Views& views, const Work& work, Stream stream) {
    const std::int64_t a_view = columns_size() + between_size() * (blurs_across_ || blurs_axially_ ? 2 : 1);
    const auto held = static_cast<std::int64_t>(most_bytes_of_direct_stages / sizeof(float)) / a_view;
    const auto group = static_cast<int>(std::clamp<std::int64_t>(held, 1, std::max(views.views, 1)));
    for (auto& [buffer, floats] : {std::pair{&columns_, columns_size()}, std::pair{&in_, between_size()},
                                   std::pair{&out_, blurs_across_ || blurs_axially_ ? between_size() : 0}})
      if (buffer->size() < group * floats) *buffer = Buffer<float>::zeros(Memory::device, group * floats, stream);
    for (int first = 0; first < views.views; first += group)
      work(PaperViews{passes_.data(), views.index + first, std::min(group, views.views - first)}, first);
  }

  void load(const PaperViews& group, Stream stream) {
    const std::int64_t shares = std::int64_t{shape_.columns} * (to_four(shape_.voxels_z) / 4);
    chain::launch("load images to be rotated", paper_load,
                  dim3(parts(shares, paper_threads), static_cast<unsigned>(group.count)), paper_threads, 0, stream,
                  group, shape_, grid().size[0], image_columns_.data() + shape_.pad, columns_.data() + shape_.pad);
  }
  void rotate(const Turning& turning, const PaperViews& group, const Buffer<float>& from, std::int64_t from_slot,
              Buffer<float>& to, std::int64_t to_slot, bool by_unit, Stream stream) const {
    turning.queue(group.index, group.count, from.data() + shape_.pad, from_slot, to.data() + shape_.pad, to_slot,
                  by_unit, stream);
  }
  void blur(const PaperViews& group, PaperPass pass, Stream stream) {
    const dim3 blocks(parts(std::int64_t{shape_.lines} * shape_.most_j, paper_threads),
                      static_cast<unsigned>(shape_.most_k), static_cast<unsigned>(group.count));
    chain::launch("blur rotated images", paper_blur, blocks, paper_threads, 0, stream, group, shape_, pass,
                  in_.data() + shape_.pad, out_.data() + shape_.pad);
    std::swap(in_, out_);
  }
  void blur_along(const PaperViews& group, bool by_unit, Stream stream) {
    const dim3 blocks(parts(shape_.most_j, along_j), parts(shape_.most_k, along_k), static_cast<unsigned>(group.count));
    const int most_points = shape_.lines + outputs_a_thread + most_along_;
    const auto bytes = sizeof(float) * static_cast<std::size_t>(most_along_ + most_points * along_lanes);
    chain::launch("blur rotated images along the view", paper_along, blocks, dim3(along_lanes, along_warps), bytes,
                  stream, group, shape_, by_unit, in_.data() + shape_.pad);
  }

  bool blurs_across_ = false, blurs_axially_ = false;
  PaperShape shape_;
  std::unique_ptr<Turning> forth_, back_;
  Buffer<PaperPasses> passes_;  // of all places
  Buffer<float> weights_;       // that they point to
  Buffer<int> first_;
  int most_along_ = 0;
  Buffer<float> image_columns_, columns_, in_, out_;  // the latter of views at a time, 0 where nothing writes
};

}  // namespace

std::unique_ptr<ViewProjector> make_paper_two_stage_cuda(const Grid& grid, const ViewSet& set,
                                                         const DirectSettings& settings) {
  return std::make_unique<CudaPaperTwoStage>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
