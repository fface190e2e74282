// Joseph with time of flight: one weight by hand, bins that sum to non-ToF, the sign of ToF, the
// cut, and the rescaled bins of Edge::clipped.
#include "tests/kernels/ring/joseph_support.hpp"
#include "tests/support/approx.hpp"

namespace tofstream::testing {

namespace {

double normal(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

/// The sum over all bins (centres at multiples of the width) of the projections of each event.
std::vector<double> sum_over_bins(ListModeProjector& projector, EventBatch batch, int bins,
                                  const std::vector<float>& image) {
  std::vector<double> sum(static_cast<std::size_t>(batch.count), 0.0);
  for (int bin = -bins; bin <= bins; ++bin) {
    for (float& tof : batch.tof_mm.span()) tof = static_cast<float>(bin) * batch.tof.bin_width_mm;
    const std::vector<float> part = forward_of(projector, batch, image);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(part[i]);
  }
  return sum;
}

}  // namespace

TEST_CASE("One ToF weight is the step times the Gaussian's integral over the bin") {
  // A line along x, its midpoint at x = 5: voxel x = 1 lies 4 mm from it, towards end 1.
  std::vector<float> image(static_cast<std::size_t>(box().voxels()), 0.0f);
  image[static_cast<std::size_t>(box().index(4, 5, 3))] = 1;
  for (const float width : {0.0f, 2.0f, 3.0f, 20.0f}) {
    const double sigma = 3, half = width > 0 ? 0.5 * static_cast<double>(width) : 0.5;
    const EventBatch batch = batch_of({{{-40, 0.5f, 2}, {50, 0.5f, 2}, -3}}, {static_cast<float>(sigma), width});
    // The voxel lies 1 mm from the bin's centre, towards end 1; the Gaussian is cut at 9 mm.
    const double upper = std::min(-1 + half, 9.0), lower = std::max(-1 - half, -9.0);
    const double expected = 2 * (normal(upper / sigma) - normal(lower / sigma)) / (normal(3) - normal(-3));
    for_each_instruction_set([&](const std::string&) {
      const auto cpu = make_joseph_projector(box(), {}, Backend::cpu);
      CHECK(static_cast<double>(forward_of(*cpu, batch, image)[0]) == approx(expected).epsilon(2e-6));
    });
    CHECK(static_cast<double>(forward_of(*make_joseph_reference(box(), {}), batch, image)[0]) ==
          approx(expected).epsilon(1e-7));
  }
}

TEST_CASE("Joseph's ToF bins sum to the non-ToF projection") {
  const auto image = random_numbers(box().voxels(), 5);
  for (const TofModel tof : {TofModel{8, 1}, TofModel{8, 4}, TofModel{8, 15}, TofModel{1, 2}}) {
    CAPTURE(tof.bin_width_mm);
    EventBatch batch = events_through(box(), 100, tof, 7);
    EventBatch without = batch.to(Memory::host);
    without.tof_mm = {};
    const int bins = static_cast<int>(60 / tof.bin_width_mm) + 2;
    for (const bool reference : {true, false}) {
      const auto projector =
          reference ? make_joseph_reference(box(), {}) : make_joseph_projector(box(), {}, Backend::cpu);
      const auto expected = forward_of(*projector, without, image);
      const auto sum = sum_over_bins(*projector, batch.to(Memory::host), bins, image);
      for (std::size_t i = 0; i < sum.size(); ++i)
        CHECK(sum[i] == approx(static_cast<double>(expected[i])).epsilon(1e-5));
    }
  }
}

TEST_CASE("Positive ToF lies towards end 2") {
  std::vector<float> image(static_cast<std::size_t>(box().voxels()), 0.0f);
  image[static_cast<std::size_t>(box().index(7, 5, 3))] = 1;  // at x = 7
  const Vec3 left{-50, 0.5f, 2}, right{50, 0.5f, 2};
  const EventBatch batch = batch_of({{left, right, 7}, {left, right, -7}, {right, left, -7}, {right, left, 7}}, {3, 2});
  for (const auto edge : {JosephSettings::Edge::full, JosephSettings::Edge::clipped}) {
    const auto sums = forward_of(*make_joseph_projector(box(), {edge}, Backend::cpu), batch, image);
    CHECK(sums[0] > 0.2f);
    CHECK(sums[1] == 0.0f);  // 14 mm away: beyond 3 sigma
    CHECK(sums[2] == approx(sums[0]).epsilon(1e-6));
    CHECK(sums[3] == 0.0f);
  }
}

TEST_CASE("A bin of Edge::clipped inside the image sums to the bin's width") {
  // libparallelproj rescales each bin: over an image of ones, its weights add up to the width.
  const Grid grid = Grid::centred(60, 20, 20, {2, 2, 2});
  for (const float width : {0.0f, 2.0f, 10.0f}) {
    const EventBatch batch = batch_of({{{-200, 0, 0}, {200, 10, 3}, 5}, {{200, 0, 0}, {-200, 10, 3}, 5}}, {6, width});
    const double expected = width > 0 ? static_cast<double>(width) : 1.0;
    const auto reference = make_joseph_reference(grid, {JosephSettings::Edge::clipped});
    for (const float sum : forward_of(*reference, batch, ones(grid)))
      CHECK(static_cast<double>(sum) == approx(expected).epsilon(1e-7));
    for_each_instruction_set([&](const std::string&) {
      const auto cpu = make_joseph_projector(grid, {JosephSettings::Edge::clipped}, Backend::cpu);
      for (const float sum : forward_of(*cpu, batch, ones(grid)))
        CHECK(static_cast<double>(sum) == approx(expected).epsilon(2e-6));
    });
  }
}

TEST_CASE("A bin of Edge::clipped that reaches out of the image keeps its outer planes' share") {
  // Along x with the bin's centre at x = 6.5, sigma 2 mm, a bin of 2 mm: the cut reaches from 0.5 to
  // 12.5, so planes from x = -1 to x = 13 hold weight; those up to 7 lie in the image.
  double inside = 0, all = 0;
  for (int x = -1; x <= 13; x += 2) {
    const double weight = normal((x - 6.5 + 1) / 2.0) - normal((x - 6.5 - 1) / 2.0);
    all += weight;
    if (x <= 7) inside += weight;
  }
  const EventBatch batch = batch_of({{{-50, 0, 0}, {50, 0, 0}, 6.5f}}, {2, 2});
  const auto clipped = JosephSettings{JosephSettings::Edge::clipped};
  const double expected = 2 * inside / all;
  CHECK(static_cast<double>(forward_of(*make_joseph_reference(box(), clipped), batch, ones(box()))[0]) ==
        approx(expected).epsilon(1e-7));
  CHECK(static_cast<double>(forward_of(*make_joseph_projector(box(), clipped, Backend::cpu), batch, ones(box()))[0]) ==
        approx(expected).epsilon(1e-6));
}

TEST_CASE("ToF that is not finite, or far outside, touches nothing") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Vec3 left{-50, 0.5f, 2}, right{50, 0.5f, 2};
  const EventBatch batch = batch_of(
      {{left, right, nan}, {left, right, inf}, {left, right, -inf}, {left, right, 1e30f}, {left, right, 1e9f}}, {3, 2});
  for (const auto edge : {JosephSettings::Edge::full, JosephSettings::Edge::clipped}) {
    for (const float sum : forward_of(*make_joseph_reference(box(), {edge}), batch, ones(box()))) CHECK(sum == 0.0f);
    for (const float sum : forward_of(*make_joseph_projector(box(), {edge}, Backend::cpu), batch, ones(box())))
      CHECK(sum == 0.0f);
  }
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
