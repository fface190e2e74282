// A CPU peer of `tofstream-bench listmode` with the interface of peer.h: voxels met by points 1 mm apart. The build
// sets its name and the interface's version, so that wrong ones can be tested.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "share/benchmarks/peers/peer.h"

namespace {

struct Line {
  float end[6], tof_mm;
};

tofstream_peer_grid grid;
std::vector<Line> lines;
float sigma, cut;

const char* prepare(const tofstream_peer_grid* image, const tofstream_peer_events* events) {
  if (events->cut_sigmas != 3 || !(events->sigma_mm > 0)) return "not the ToF that was agreed on";
  grid = *image;
  sigma = events->sigma_mm;
  cut = events->cut_sigmas;
  lines.clear();
  for (std::int64_t i = 0; i < events->count; ++i) {
    Line line{{}, events->tof_mm[i]};
    for (int c = 0; c < 6; ++c) line.end[c] = events->ends[c][i];
    lines.push_back(line);
  }
  return nullptr;
}

// Calls use(voxel, weight) for each point of the line that lies in a voxel.
template <class Use>
void walk(const Line& line, const Use& use) {
  float along[3], length = 0;
  for (int axis = 0; axis < 3; ++axis) along[axis] = line.end[3 + axis] - line.end[axis];
  length = std::hypot(along[0], along[1], along[2]);
  for (float u = -cut * sigma; u <= cut * sigma; u += 1) {
    const float t = 0.5f + (line.tof_mm + u) / length;
    std::int64_t voxel = 0, stride = 1;
    bool inside = t >= 0 && t <= 1;
    for (int axis = 0; axis < 3; ++axis) {
      const auto i = static_cast<std::int64_t>(
          std::lround((line.end[axis] + t * along[axis] - grid.origin_mm[axis]) / grid.voxel_mm[axis]));
      inside = inside && i >= 0 && i < grid.size[axis];
      voxel += stride * i;
      stride *= grid.size[axis];
    }
    if (!inside) continue;
    const float z = u / sigma;
    use(voxel, std::exp(-0.5f * z * z) / (sigma * std::sqrt(2 * std::numbers::pi_v<float>)));
  }
}

const char* forward(const float* image, float* expectation) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    expectation[i] = 0;
    walk(lines[i], [&](std::int64_t voxel, float weight) { expectation[i] += weight * image[voxel]; });
  }
  return nullptr;
}

const char* back(const float* values, float* image) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    walk(lines[i], [&](std::int64_t voxel, float weight) { image[voxel] += weight * values[i]; });
  return nullptr;
}

const char* em_step(const float* image, float* sum) {
  std::vector<float> values(lines.size());
  forward(image, values.data());
  for (float& value : values) value = value > 0 ? 1 / value : 0;
  return back(values.data(), sum);
}

}  // namespace

extern "C" const tofstream_peer* tofstream_peer_get() {
  static const tofstream_peer peer{PEER_INTERFACE, 0, PEER_NAME, "1.0", prepare, forward, back, em_step};
  return &peer;
}
// SPDX-License-Identifier: Apache-2.0
