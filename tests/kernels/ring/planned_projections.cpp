// Forward and back projection of planned events: against the double-precision reference, the projections without a
// plan, and each other.
#include "kernels/ring/simulate/workloads.hpp"
#include "tests/kernels/ring/planned_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// Without ToF, with ToF whose ends lie in the image and beyond it, with narrow and with wide bins.
void check_operators(Backend backend, CudaPath path) {
  for (const Operator& of : operators())
    for (const TofModel& tof : {TofModel{}, TofModel{40.5f, 0}, TofModel{7.1f, 0}, TofModel{15, 3}, TofModel{30, 40}}) {
      // By slice, tiles take ToF only where they walk windows, so not with so short a response.
      if (of.what == "TOR by slice" && tof.sigma_mm > 0 && tof.sigma_mm < 20 && backend == Backend::cuda) {
        const Planned planned(of, batch_of(random_lines(of.grid, 100, 8), tof), backend, path);
        if (!planned.has_plan()) continue;
      }
      std::vector<Lor> lors = random_lines(of.grid, 150, 42);
      lors.push_back({{500, -400, 0}, {500, 400, 0}, 0});    // misses
      lors.push_back({{-400, 0.5f, 1}, {400, 1, 2}, 5000});  // meets the image far from its ToF centre
      lors.push_back({{-400, NAN, 0}, {400, 0, 0}, 0});
      check_operator(of, batch_of(lors, tof), backend, path);
    }
}

void check_nothing(Backend backend) {
  const Operator of = joseph(Grid::centred(20, 20, 20, {4, 4, 4}));
  const Planned empty(of, batch_of({}, {8, 0}), backend, CudaPath::automatic);
  CHECK(empty.forward(Numbers(8000, 1.0f)).empty());
  CHECK(empty.back({}, 2) == Numbers(8000, 2.0f));
  const std::vector<Lor> outside(300, Lor{{500, -400, 0}, {500, 400, 0}, 0});
  const Planned beside(of, batch_of(outside, {8, 0}), backend, CudaPath::tiled);
  CHECK(beside.forward(Numbers(8000, 1.0f)) == Numbers(300, 0.0f));
  CHECK(beside.back({}, 2) == Numbers(8000, 2.0f));
}

}  // namespace

TEST_CASE("planned projections on the CPU are those of the reference and of direct calls") {
  check_operators(Backend::cpu, CudaPath::automatic);
}

TEST_CASE("planned projections on CUDA are those of the reference and of direct calls") {
  if (!gpu_or_skip()) return;
  check_operators(Backend::cuda, CudaPath::tiled);
}

TEST_CASE("planned projections of no events, and of events that miss the image, on the CPU") {
  check_nothing(Backend::cpu);
}

TEST_CASE("planned projections of no events, and of events that miss the image, on CUDA") {
  if (!gpu_or_skip()) return;
  check_nothing(Backend::cuda);
}

TEST_CASE("planned projections on CUDA agree with the CPU's where paths cross tiles, and take turns with EM steps") {
  if (!gpu_or_skip()) return;
  const Grid w1 = find_workload("W1").grid;
  for (const Operator& of : {joseph(w1), tor(w1, 6), blobs(blob_grid(40, 36, 20, 6))})
    for (const TofModel& tof : {TofModel{40.5f, 0}, TofModel{}}) {
      CAPTURE(of.what);
      CAPTURE(tof.sigma_mm);
      const EventBatch batch = batch_of(random_lines(of.grid, 30'000, 7), tof);
      const auto x = random_numbers(of.grid.voxels(), 1, 0.5f, 1.5f), y = random_numbers(batch.count, 2, -0.5f, 1.5f);
      const Planned cpu(of, batch, Backend::cpu, CudaPath::automatic);
      const Planned gpu(of, batch, Backend::cuda, CudaPath::automatic);
      CHECK(gpu.has_plan());
      const Numbers forward = cpu.forward(x), back = cpu.back(y), em = gpu.em(x);
      for (int turn = 0; turn < 3; ++turn) {
        CHECK(rms_of_range(gpu.forward(x), forward) < 2e-5);  // rounding decides some voxels at a tube's wall
        CHECK(rms_of_range(gpu.back(y), back) < 1e-5);
        CHECK(rms_of_range(gpu.em(x), em) < 1e-6);
      }
      CHECK(inner(gpu.forward(x), y) == approx(inner(x, gpu.back(y))).epsilon(1e-5));
    }
}

TEST_CASE("planned projections on CUDA go through all stretches of a plan") {
  if (!gpu_or_skip()) return;
  const Operator of = joseph(find_workload("W1").grid);
  const EventBatch batch = random_lors(find_workload("W1"), 3'200'000, 5);  // 3 times 2^20 at a time
  const auto x = random_numbers(of.grid.voxels(), 1, 0.5f, 1.5f), y = random_numbers(batch.count, 2, -0.5f, 1.5f);
  const Planned tiled(of, batch, Backend::cuda, CudaPath::automatic);
  const Planned direct(of, batch, Backend::cuda, CudaPath::direct);
  CHECK(tiled.has_plan());
  CHECK_FALSE(direct.has_plan());
  CHECK(rms_of_range(tiled.forward(x), direct.forward(x)) < 5e-6);
  CHECK(rms_of_range(tiled.back(y), direct.back(y)) < 1e-5);
}
// SPDX-License-Identifier: Apache-2.0
