// Line integrals on CUDA with each voxel kept beside its three neighbours in the plane that a line crosses, so that a
// crossing is one load of 16 bytes in place of four of 4: lines in random order meet as many cache lines as they load.
// Planes that a line crosses outside the box of what is not zero, the air about a patient, are passed over. The sums are
// those of the direct path, bit for bit.
#include <algorithm>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/ring/joseph/joseph_backends.hpp"
#include "kernels/ring/joseph/joseph_limits.hpp"
#include "kernels/ring/joseph/joseph_walk.cuh"

namespace tofstream {

namespace {

using single_lane::JosephBlock;
using single_lane::JosephLine;
using single_lane::JosephLines;
using single_lane::JosephSetup;

/// The four voxels of the plane across `axis` from each voxel on, in the order of Crossing's weights; at the image's
/// end, where none follows, the voxel itself, whose weight is 0.
__global__ void fill_quads(Grid grid, int u_axis, int v_axis, const float* image, float4* quads) {
  const std::int64_t i = elementwise::element();
  if (i >= grid.voxels()) return;
  const auto step = [&](int axis) {
    const std::int64_t stride = grid.stride(axis);
    return (i / stride) % grid.size[axis] + 1 < grid.size[axis] ? stride : 0;
  };
  const std::int64_t u = step(u_axis), v = step(v_axis);
  quads[i] = make_float4(image[i], image[i + u], image[i + v], image[i + u + v]);
}

/// The voxels [first, last] along each axis outside which an image is zero; first > last where all of it is.
struct FilledBox {
  int first[3], last[3];

  static FilledBox of(const Image& image) {
    const Grid& grid = image.grid;
    FilledBox box{{grid.size[0], grid.size[1], grid.size[2]}, {-1, -1, -1}};
    std::int64_t v = 0;
    for (int z = 0; z < grid.size[2]; ++z)
      for (int y = 0; y < grid.size[1]; ++y)
        for (int x = 0; x < grid.size[0]; ++x, ++v)
          if (image.voxels[v] != 0) box.take_in({x, y, z});
    return box;
  }

  /// The planes of a line whose crossings have such a voxel as a neighbour. The margin is more than what crossings
  /// are off that are walked in float.
  __device__ single_lane::PlaneInterval planes_of(const JosephLine& line) const {
    constexpr double reach = 1.01;
    single_lane::PlaneInterval planes{static_cast<double>(max(line.first, first[line.axis])),
                                      static_cast<double>(min(line.last, last[line.axis]))};
    planes.keep_where(line.u, first[line.u_axis] - reach, last[line.u_axis] + reach);
    planes.keep_where(line.v, first[line.v_axis] - reach, last[line.v_axis] + reach);
    return planes;
  }

 private:
  void take_in(const int (&voxel)[3]) {
    for (int axis = 0; axis < 3; ++axis) {
      first[axis] = std::min(first[axis], voxel[axis]);
      last[axis] = std::max(last[axis], voxel[axis]);
    }
  }
};

/// Blocks of planes begin where they do for the whole line, so that crossings are rounded alike.
__device__ float quad_sum(const Grid& grid, const FilledBox& filled, const JosephLine& line, const float4* quads) {
  const single_lane::PlaneInterval planes = filled.planes_of(line);
  if (planes.empty()) return 0;
  const int first = whole_above(planes.low), last = whole_below(planes.high);
  const std::int64_t plane_stride = grid.stride(line.axis);
  const std::int64_t u_stride = grid.stride(line.u_axis);
  const std::int64_t v_stride = grid.stride(line.v_axis);
  float sum = 0;
  const int left_out = (first - line.first) / JosephBlock::planes * JosephBlock::planes;
  for (int begin = line.first + left_out; begin <= last; begin += JosephBlock::planes) {
    const JosephBlock block = JosephBlock::make(grid, line, begin);
    const int count = min(JosephBlock::planes, last - begin + 1);
#pragma unroll 4
    for (int plane = max(first - begin, 0); plane < count; ++plane) {
      const single_lane::Crossing<float> c = single_lane::cross(line, block, static_cast<float>(plane));
      const float4 quad = __ldg(quads + ((begin + plane) * plane_stride + static_cast<std::int64_t>(c.u) * u_stride +
                                         static_cast<std::int64_t>(c.v) * v_stride));
      sum += c.weight[0] * quad.x;
      sum += c.weight[1] * quad.y;
      sum += c.weight[2] * quad.z;
      sum += c.weight[3] * quad.w;
    }
  }
  return sum;
}

__global__ void integrate(JosephLines lines, FilledBox filled, const float4* across_x, const float4* across_y,
                          const float* image, float* integrals) {
  const std::int64_t i = elementwise::element();
  if (i >= lines.events.count) return;
  const JosephLine line = single_lane::prepare_line<float>(lines, i, 1);
  const Grid& grid = lines.setup.grid;
  integrals[i] = line.axis == 2 ? joseph::line_sum(grid, line, image)
                                : quad_sum(grid, filled, line, line.axis == 0 ? across_x : across_y);
}

class QuadIntegrals final : public LineIntegrals {
 public:
  explicit QuadIntegrals(const Image& image)
      : setup_(JosephSetup::make(image.grid, {})),
        filled_(FilledBox::of(image)),
        image_(image.voxels.to(Memory::device)),
        across_x_(Memory::device, image.grid.voxels()),
        across_y_(Memory::device, image.grid.voxels()) {
    fill(1, 2, across_x_);
    fill(0, 2, across_y_);
    synchronize(nullptr);  // what is filled here is read on other streams
  }

  Backend backend() const override { return Backend::cuda; }

  void along(EventView events, float* integrals, Stream stream) const override {
    if (events.count == 0) return;
    events.tof_mm = events.tof_width_mm = nullptr;
    integrate<<<elementwise::blocks(events.count), elementwise::threads, 0, stream>>>(
        JosephLines::make(setup_, events), filled_, across_x_.data(), across_y_.data(), image_.data(), integrals);
    check_launch("launch line integrals");
  }

 private:
  void fill(int u_axis, int v_axis, Buffer<float4>& quads) {
    fill_quads<<<elementwise::blocks(quads.size()), elementwise::threads>>>(setup_.grid, u_axis, v_axis, image_.data(),
                                                                            quads.data());
    check_launch("launch an image's quads");
  }

  JosephSetup setup_;
  FilledBox filled_;
  Buffer<float> image_;
  Buffer<float4> across_x_, across_y_;
};

}  // namespace

std::unique_ptr<const LineIntegrals> make_quad_integrals(const Image& image) {
  return std::make_unique<const QuadIntegrals>(image);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
