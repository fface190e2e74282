// A single scatter estimate (single_scatter.hpp) as numbers that a CPU and a GPU compute the same samples of.
#pragma once

#include <functional>
#include <vector>

#include "kernels/ring/scatter/scatter_legs.hpp"

namespace tofstream::ring_scatter {

struct ScatterPoint {
  Vec3d at;
  double weight = 0;  // the integral of mu_C over its cell, mm^2
};

struct ScatterPlan {
  std::vector<ScatterPoint> points;
  std::vector<Vec3d> ends;
  std::vector<ScatterLine> lines;  // in the order of the estimate's samples of one ToF
  int lines_apart = 1;             // lines so far apart differ by one step along z of one end
  std::vector<float> inverse_own;  // of each line, over its pair's own efficiency
  LegLaw law;                      // whose images lie on the host
  std::vector<AngleEntry> angles;
  SpectrumLaw spectrum;
  std::vector<float> tof_response;  // [ToF sample][step of the spectrum]; empty without ToF
  int tof_samples = 1;

  AngleTable table() const { return {angles.data()}; }
};

/// Called now and then with the number of points that are done.
using ScatterProgress = std::function<void(std::int64_t)>;

/// The estimate's values: [ToF sample][line].
std::vector<float> scatter_on_cpu(const ScatterPlan& plan, const ScatterProgress& progress);
std::vector<float> scatter_on_cuda(const ScatterPlan& plan, const ScatterProgress& progress);

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
