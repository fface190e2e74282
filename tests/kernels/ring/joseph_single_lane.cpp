// The math that CUDA shares with the CPU, with one lane on the host: lines walked as the CUDA
// kernels walk them, against the reference.
#include "kernels/ring/joseph/joseph_line-inl.hpp"
#include "tests/kernels/ring/joseph_support.hpp"

namespace tofstream::testing {

namespace {

float line_sum(const single_lane::JosephLines& lines, std::int64_t i, const std::vector<float>& image) {
  using namespace single_lane;
  const Grid& grid = lines.setup.grid;
  const JosephLine line = prepare_line<float>(lines, i, 1);
  float sum = 0;
  for (int begin = line.first; begin <= line.last; begin += JosephBlock::planes) {
    const JosephBlock block = JosephBlock::make(grid, line, begin);
    for (int plane = begin; plane < begin + JosephBlock::planes && plane <= line.last; ++plane) {
      const Crossing<float> c = cross(line, block, static_cast<float>(plane - begin));
      for (int corner = 0; corner < 4; ++corner) {
        if (c.weight[corner] == 0) continue;
        int voxel[3];
        voxel[line.axis] = plane;
        voxel[line.u_axis] = static_cast<int>(c.u) + corner % 2;
        voxel[line.v_axis] = static_cast<int>(c.v) + corner / 2;
        sum += c.weight[corner] * image.at(static_cast<std::size_t>(grid.index(voxel[0], voxel[1], voxel[2])));
      }
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("Joseph with one lane, as CUDA runs it, equals the reference") {
  const Grid grid = {{21, 14, 9}, {2, 1.5f, 4}, {-20, -9, -15}};
  const auto image = random_numbers(grid.voxels(), 1);
  for (const auto edge : {JosephSettings::Edge::full, JosephSettings::Edge::clipped}) {
    for (const TofModel tof : {TofModel{}, TofModel{5, 0}, TofModel{4, 8}}) {
      const EventBatch batch = events_through(grid, 2000, tof, 31);
      const auto lines = single_lane::JosephLines::make(single_lane::JosephSetup::make(grid, {edge}), batch.view());
      std::vector<float> sums;
      for (std::int64_t i = 0; i < batch.count; ++i) sums.push_back(line_sum(lines, i, image));
      CHECK(error_of_range(sums, forward_of(*make_joseph_reference(grid, {edge}), batch, image)) < 1e-5);
    }
  }
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
