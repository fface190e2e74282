// Planned back projections of values of every sign and size: each keeps its precision, deterministic ones their bits,
// and NaN and infinity do not spread.
#include <algorithm>
#include <cstring>

#include "kernels/ring/simulate/workloads.hpp"
#include "tests/kernels/ring/planned_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

Numbers times(Numbers numbers, float factor) {
  for (float& number : numbers) number *= factor;
  return numbers;
}

/// Values of either sign, from 1e-6 to 1e6, as many of each power of ten.
Numbers values_of_all_sizes(std::int64_t count) {
  Numbers values = random_numbers(count, 3, -6, 6);
  const Numbers signs = random_numbers(count, 4, -1, 1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::copysign(std::pow(10.0f, values[i]), signs[i]);
  return values;
}

/// The values whose size is in [low, 10 low), the others 0.
Numbers of_size(const Numbers& values, double low, bool magnitudes) {
  Numbers chosen(values.size(), 0.0f);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double size = std::abs(static_cast<double>(values[i]));
    if (size >= low && size < 10 * low) chosen[i] = magnitudes ? std::abs(values[i]) : values[i];
  }
  return chosen;
}

/// The difference between a back projection of all values and the sum of those of each power of ten: RMS over voxels,
/// each relative to the sum of magnitudes in it, where that is at least `least` times `unit`. Values are 1e-8 to 1e8
/// times the unit.
double error_beside_parts(const Planned& planned, const Numbers& values, double unit, double least) {
  const Numbers all = planned.back(values);
  std::vector<double> sum(all.size(), 0.0), passes(all.size(), 0.0);
  for (int power = -8; power < 8; ++power) {
    const double low = unit * std::pow(10.0, power);
    const Numbers part = planned.back(of_size(values, low, false)), passing = planned.back(of_size(values, low, true));
    for (std::size_t v = 0; v < all.size(); ++v) {
      sum[v] += static_cast<double>(part[v]);
      passes[v] += static_cast<double>(passing[v]);
    }
  }
  double squares = 0;
  int voxels = 0;
  for (std::size_t v = 0; v < all.size(); ++v) {
    if (passes[v] < least * unit) continue;
    ++voxels;
    squares += std::pow((static_cast<double>(all[v]) - sum[v]) / passes[v], 2);
  }
  CHECK(voxels > 1000);
  return std::sqrt(squares / voxels);
}

void check_sizes(Backend backend, bool deterministic) {
  CAPTURE(deterministic);
  const Operator of = joseph(Grid::centred(40, 40, 20, {4, 4, 4}));
  const EventBatch batch = batch_of(random_lines(of.grid, 20'000, 9), {8, 0});
  const Planned planned(of, batch, backend, CudaPath::tiled, deterministic);
  Numbers values = random_numbers(batch.count, 2, -1.5f, 1.5f);
  CHECK(error_beside_parts(planned, values, 1, 0.1) < 1e-5);
  // On a GPU, values far beyond the others take another path, whose coordinates differ by 4e-6 voxels. So do their
  // weights, which are no larger than that in voxels that the line hardly meets.
  const double far_beyond = backend == Backend::cuda ? 5e-4 : 1e-5;
  for (std::size_t i = 0; i < values.size(); i += 500) values[i] *= 1e7f;
  CHECK(error_beside_parts(planned, values, 1, 0.1) < far_beyond);
  values = values_of_all_sizes(batch.count);
  for (const float unit : {1.0f, 1e20f, 1e-20f})
    CHECK(error_beside_parts(planned, times(values, unit), static_cast<double>(unit), 100) < 0.2 * far_beyond);
}

}  // namespace

TEST_CASE("deterministic planned projections on CUDA are the same bit for bit, and scale with their values") {
  if (!gpu_or_skip()) return;
  const Grid w1 = find_workload("W1").grid;
  for (const Operator& of : {joseph(w1), tor(w1, 6)}) {
    CAPTURE(of.what);
    const EventBatch batch = random_lors(find_workload("W1"), 30'000, 7);  // between detectors: none ends inside
    const auto x = random_numbers(of.grid.voxels(), 1, -0.5f, 1.5f), mixed = random_numbers(batch.count, 2, -1, 1);
    const Numbers sizes = values_of_all_sizes(batch.count);
    const Planned first(of, batch, Backend::cuda, CudaPath::automatic, true);
    for (int run = 0; run < 4; ++run) {
      const Planned again(of, batch, Backend::cuda, CudaPath::automatic, true);
      CHECK(same_bits(again.forward(x), first.forward(x)));
      CHECK(same_bits(again.back({}), first.back({})));
      CHECK(same_bits(again.back(mixed), first.back(mixed)));
      CHECK(same_bits(again.back(sizes), first.back(sizes)));
    }
    // Powers of two change only the exponents; these are whole bands of exponents.
    for (const float factor : {0x1p64f, 0x1p-64f})
      CHECK(same_bits(first.back(times(sizes, factor)), times(first.back(sizes), factor)));
    CHECK(error_of_range(first.back(times(mixed, -1)), times(first.back(mixed), -1)) < 1e-6);
  }
}

TEST_CASE("values far beyond the others' leave them their precision, whatever their sign, on the CPU") {
  check_sizes(Backend::cpu, false);
}

TEST_CASE("values far beyond the others' leave them their precision, whatever their sign, on CUDA") {
  if (!gpu_or_skip()) return;
  for (const bool deterministic : {false, true}) check_sizes(Backend::cuda, deterministic);
}

TEST_CASE("what is no number stays in the voxels that its event meets") {
  if (!gpu_or_skip()) return;
  const Operator of = joseph(Grid::centred(40, 40, 20, {4, 4, 4}));
  std::vector<Lor> lors = random_lines(of.grid, 20'000, 9);
  lors[77] = {{-400, 1, 2}, {400, 3, 4}, 0};
  const EventBatch batch = batch_of(lors, {8, 0});
  Numbers values = random_numbers(batch.count, 2, -1.5f, 1.5f), alone(values.size(), 0.0f);
  values[77] = NAN;
  alone[77] = 1;
  const Numbers met = Planned(of, batch, Backend::cpu, CudaPath::automatic).back(alone);
  for (const bool deterministic : {false, true}) {
    CAPTURE(deterministic);
    const Numbers back = Planned(of, batch, Backend::cuda, CudaPath::tiled, deterministic).back(values);
    int inside = 0, outside = 0;
    for (std::size_t v = 0; v < back.size(); ++v) {
      if (met[v] > 1e-3f && std::isnan(back[v])) ++inside;
      if (met[v] == 0 && std::isnan(back[v])) ++outside;
    }
    CHECK(inside > 10);
    CHECK(outside <= 4);  // rounding decides where the ToF response ends
  }
}
// SPDX-License-Identifier: Apache-2.0
