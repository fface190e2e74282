// Planned projections and EM steps where some lines end inside the image, as if its corners lie beyond the ring: these
// lines take the direct path beside the tiles.
#include "tests/kernels/ring/planned_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// Lines along y that end inside the image, near its edge, as if the image's corners lie beyond the ring.
std::vector<Lor> lines_that_end_inside(const Grid& grid, int count) {
  const auto half = [&](int axis) { return 0.5f * static_cast<float>(grid.size[axis]) * grid.voxel_mm[axis]; };
  std::vector<Lor> lors;
  for (int k = 0; k < count; ++k) {
    const auto at = random_numbers(6, 100 + static_cast<std::uint64_t>(k));
    const float x = half(0) * (0.8f + 0.15f * at[0]), z = half(2) * (at[1] - 0.5f);
    lors.push_back({{x, -half(1) * (0.4f + 0.3f * at[2]), z},
                    {x + at[3], half(1) * (0.4f + 0.3f * at[4]), z + at[3]},
                    10 * (at[5] - 0.5f)});
  }
  return lors;
}

/// Lines, `cut` of which end inside the image, mixed with the others.
struct PartlyCut {
  std::vector<Lor> lors;
  std::vector<bool> is_cut;

  PartlyCut(const Grid& grid, int count, int cut)
      : lors(random_lines(grid, count, 42)), is_cut(static_cast<std::size_t>(count), false) {
    const auto inside = lines_that_end_inside(grid, cut);
    for (int k = 0; k < cut; ++k) {
      const auto i = static_cast<std::size_t>((2 * k + 1) * count / (2 * cut));
      lors[i] = inside[static_cast<std::size_t>(k)];
      is_cut[i] = true;
    }
  }
};

/// A ToF response that extends beyond a line which ends inside the image.
constexpr TofModel far_reaching[] = {TofModel{}, TofModel{40.5f, 0}, TofModel{30, 40}};

/// Operators whose weights end with the line.
std::vector<Operator> tubes() {
  std::vector<Operator> all = operators();
  std::erase_if(all, [](const Operator& of) { return of.what == "Joseph"; });
  return all;
}

/// The lines between detectors, with terms; every other cut line has no additive term.
EventBatch between_detectors(const PartlyCut& lines, const TofModel& tof) {
  EventBatch batch = batch_of(lines.lors, tof);
  std::vector<Vec3> positions;
  batch.detector1 = batch.detector2 = Buffer<std::uint32_t>(Memory::host, batch.count);
  batch.additive = batch.multiplicative = Buffer<float>(Memory::host, batch.count);
  int ended = 0;
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    batch.detector1[i] = static_cast<std::uint32_t>(2 * i);
    batch.detector2[i] = static_cast<std::uint32_t>(2 * i + 1);
    positions.push_back(lines.lors[at].end1);
    positions.push_back(lines.lors[at].end2);
    const bool dark = lines.is_cut[at] && ended++ % 2 == 0;
    batch.additive[i] = dark ? 0.0f : 0.5f + 0.01f * static_cast<float>(i % 7);
    batch.multiplicative[i] = 1 + 0.01f * static_cast<float>(i % 5);
  }
  for (auto& end : batch.ends) end = {};
  batch.detectors = std::make_shared<const DetectorTable>(positions);
  return batch;
}

/// An image that is dark where lines end.
Numbers dark_near_the_ends(Numbers image, const Grid& grid) {
  for (std::size_t v = 0; v < image.size(); ++v)
    if (static_cast<int>(v) % grid.size[0] >= grid.size[0] / 2) image[v] = 0;
  return image;
}

/// EM steps with a plan and without one.
void check_em(const Operator& of, const EventBatch& batch, const Numbers& image, std::int64_t skipped,
              Backend backend) {
  Numbers expected(image.size(), 0.0f);
  const EmTally tally = of.make_reference(of.grid)->em_step(batch.view(), image.data(), expected.data());
  CHECK(tally.skipped == skipped);
  Planned planned(of, batch, backend, CudaPath::tiled);
  for (int run = 0; run < 3; ++run) {
    const auto [sums, found] = planned.em_and_tally(image);
    CHECK(error_of_range(sums, expected) < 1.5e-4);
    CHECK(rms_of_range(sums, expected) < 3e-5);
    CHECK(found.used == tally.used);
    CHECK(found.skipped == tally.skipped);
    CHECK(std::abs(found.log_sum - tally.log_sum) < 3e-5 * static_cast<double>(batch.count));
    if (run == 1) planned.drop_plan();
  }
}

void check_ends_inside(Backend backend) {
  for (const Operator& of : tubes())
    for (const TofModel& tof : far_reaching)
      for (const int cut : {0, 1, 30, 50}) {
        CAPTURE(cut);
        check_operator(of, batch_of(PartlyCut(of.grid, 200, cut).lors, tof), backend, CudaPath::tiled);
      }
}

void check_em_of_ends_inside(Backend backend) {
  for (const Operator& of : tubes())
    for (const TofModel& tof : far_reaching)
      for (const int cut : {0, 1, 30, 90}) {
        CAPTURE(of.what);
        CAPTURE(tof.sigma_mm);
        CAPTURE(cut);
        const EventBatch batch = between_detectors(PartlyCut(of.grid, 200, cut), tof);
        const Numbers lit = random_numbers(of.grid.voxels(), 1, 0.5f, 1.5f);
        check_em(of, batch, lit, 0, backend);
        check_em(of, batch, dark_near_the_ends(lit, of.grid), (cut + 1) / 2, backend);
      }
}

}  // namespace

TEST_CASE("planned projections on the CPU where some lines end inside the image") {
  check_ends_inside(Backend::cpu);
}

TEST_CASE("planned projections on CUDA where some lines end inside the image") {
  if (!gpu_or_skip()) return;
  check_ends_inside(Backend::cuda);
}

TEST_CASE(
    "planned projections on CUDA go the direct path where more than a quarter of the lines end inside the image") {
  if (!gpu_or_skip()) return;
  for (const Operator& of : tubes())
    check_operator(of, batch_of(PartlyCut(of.grid, 200, 51).lors), Backend::cuda, CudaPath::tiled, false);
}

TEST_CASE("EM steps on the CPU where some lines end inside the image count them and skip the dark ones") {
  check_em_of_ends_inside(Backend::cpu);
}

TEST_CASE("EM steps on CUDA where some lines end inside the image count them and skip the dark ones") {
  if (!gpu_or_skip()) return;
  check_em_of_ends_inside(Backend::cuda);
}

TEST_CASE("deterministic projections on CUDA are the same bit for bit where few or many lines end inside the image") {
  if (!gpu_or_skip()) return;
  for (const Operator& of : tubes())
    for (const int cut : {0, 1, 30, 90}) {
      CAPTURE(of.what);
      CAPTURE(cut);
      const EventBatch batch = between_detectors(PartlyCut(of.grid, 200, cut), far_reaching[1]);
      const Numbers image = random_numbers(of.grid.voxels(), 1, 0.5f, 1.5f);
      const Numbers values = random_numbers(batch.count, 2, -1, 1);
      const auto planned = [&] { return Planned(of, batch, Backend::cuda, CudaPath::tiled, true); };
      const Planned first = planned();
      CHECK(first.has_plan() == (cut <= 50));
      const Numbers em = first.em(image), back = first.back(values);
      for (int run = 0; run < 3; ++run) {
        Planned again = planned();
        if (run == 1) again.drop_plan();
        CHECK(again.em(image) == em);
        CHECK(again.back(values) == back);
      }
      Numbers expected(image.size(), 0.0f);
      of.make_reference(of.grid)->em_step(batch.view(), image.data(), expected.data());
      CHECK(rms_of_range(em, expected) < 3e-5);
    }
}
// SPDX-License-Identifier: Apache-2.0
