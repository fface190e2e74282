// Joseph as an operator: the CPU against the reference with every instruction set, adjointness, the
// EM step against forward, ratio and back, and images that repeat bit for bit.
#include "kernels/project/expectation.hpp"
#include "tests/kernels/ring/joseph_support.hpp"
#include "tests/support/approx.hpp"

namespace tofstream::testing {

namespace {

struct OperatorCase {
  const char* what;
  Grid grid;
  TofModel tof;
  JosephSettings settings;
};

const std::vector<OperatorCase>& operator_cases() {
  using enum JosephSettings::Edge;
  static const Grid shifted = {{21, 14, 9}, {2, 1.5f, 4}, {-20, -9, -15}};
  static const std::vector<OperatorCase> all = {
      {"non-ToF", box(), {}, {}},
      {"ToF, unbinned", box(), {6, 0}, {}},
      {"ToF, bins of 2 sigma", box(), {4, 8}, {}},
      {"cut at 2 sigma", shifted, {6, 2}, {full, 2}},
      {"off centre, non-ToF", shifted, {}, {}},
      {"off centre, ToF", shifted, {5, 3}, {}},
      {"clipped, non-ToF", shifted, {}, {clipped}},
      {"clipped, ToF", shifted, {5, 3}, {clipped}},
      {"W1's shape", Grid::centred(75, 75, 26, {4, 4, 4}), {40.5f, 0}, {}},
  };
  return all;
}

EventBatch events_of(const OperatorCase& c, std::int64_t count, std::uint64_t seed) {
  if (c.grid.size[0] > 50) return random_lors({"", c.grid, 443, 180, c.tof}, count, seed);
  return events_through(c.grid, count, c.tof, seed);
}

}  // namespace

TEST_CASE("Joseph on the CPU equals the reference with every instruction set") {
  for (const OperatorCase& c : operator_cases()) {
    INFO(c.what);
    EventBatch batch = events_of(c, 3000, 11);
    batch.additive = Buffer<float>::from(random_numbers(batch.count, 4, 0.1f, 1));
    const auto image = random_numbers(c.grid.voxels(), 1);
    const auto values = random_numbers(batch.count, 2);
    const Projections expected = project(*make_joseph_reference(c.grid, c.settings), batch, image, values);
    for_each_instruction_set([&](const std::string&) {
      const auto cpu = make_joseph_projector(c.grid, c.settings, Backend::cpu);
      const Projections actual = project(*cpu, batch, image, values);
      CHECK(error_of_range(actual.forward, expected.forward) < 1e-5);
      CHECK(error_of_range(actual.back, expected.back) < 1e-5);
      CHECK(error_of_range(actual.em, expected.em) < 1e-5);
      CHECK(actual.tally.used == expected.tally.used);
      CHECK(actual.tally.skipped == expected.tally.skipped);
      CHECK(actual.tally.log_sum == approx(expected.tally.log_sum).epsilon(1e-6));
    });
  }
}

TEST_CASE("Joseph's back projection is the adjoint of its forward projection") {
  for (const OperatorCase& c : operator_cases()) {
    INFO(c.what);
    const EventBatch batch = events_of(c, 500, 13);
    const auto x = random_numbers(c.grid.voxels(), 1), y = random_numbers(batch.count, 2);
    const auto reference = make_joseph_reference(c.grid, c.settings);
    const auto& oracle = dynamic_cast<const ReferenceProjector&>(*reference);
    const std::vector<double> xd(x.begin(), x.end()), yd(y.begin(), y.end());
    CHECK(inner(oracle.forward(batch.view(), xd), yd) ==
          approx(inner(xd, oracle.back(batch.view(), yd))).epsilon(1e-12));
    for_each_instruction_set([&](const std::string&) {
      const auto cpu = make_joseph_projector(c.grid, c.settings, Backend::cpu);
      const Projections p = project(*cpu, batch, x, y);
      CHECK(inner(p.forward, y) == approx(inner(x, p.back)).epsilon(1e-5));
    });
  }
}

TEST_CASE("Joseph's EM step is forward, ratio and back; it skips what cannot be divided by") {
  const OperatorCase c = operator_cases()[1];
  EventBatch batch = events_of(c, 2000, 17);
  auto additive = random_numbers(batch.count, 4, 0.1f, 1);
  batch.ends[0][5] = batch.ends[3][5] = 1e4f;  // misses: its expectation is the additive term
  batch.ends[0][6] = batch.ends[3][6] = 1e4f;  // misses, and has no additive term
  additive[6] = 0;
  additive[7] = -1e6f;
  additive[8] = std::numeric_limits<float>::quiet_NaN();
  additive[9] = std::numeric_limits<float>::infinity();
  batch.additive = Buffer<float>::from(additive);
  batch.multiplicative = Buffer<float>::from(random_numbers(batch.count, 9));  // cancels in EM
  const auto image = random_numbers(c.grid.voxels(), 1, 0.5f, 1.5f);

  const auto cpu = make_joseph_projector(c.grid, c.settings, Backend::cpu);
  std::vector<float> ratio = forward_of(*cpu, batch, image);
  double log_sum = 0;
  for (std::size_t i = 0; i < ratio.size(); ++i) {
    const float expectation = ratio[i] + additive[i];
    if (usable(expectation)) log_sum += std::log(static_cast<double>(expectation));
    ratio[i] = usable(expectation) ? 1 / expectation : 0.0f;
  }
  const Projections actual = project(*cpu, batch, image, ratio);
  CHECK(actual.tally.skipped == 4);
  CHECK(actual.tally.used == batch.count - 4);
  CHECK(actual.tally.log_sum == approx(log_sum).epsilon(1e-9));
  CHECK(error_of_range(actual.em, actual.back) < 1e-6);
}

TEST_CASE("Joseph adds into the image that it is given; null values are ones") {
  const OperatorCase c = operator_cases()[0];
  const EventBatch batch = events_of(c, 100, 19);
  const auto voxels = static_cast<std::size_t>(c.grid.voxels());
  for (const bool reference : {true, false}) {
    const auto projector =
        reference ? make_joseph_reference(c.grid, {}) : make_joseph_projector(c.grid, {}, Backend::cpu);
    std::vector<float> alone(voxels, 0.0f), onto(voxels, 2.0f);
    const std::vector<float> one(static_cast<std::size_t>(batch.count), 1.0f);
    projector->back(batch.view(), one.data(), alone.data());
    projector->back(batch.view(), nullptr, onto.data());
    for (std::size_t v = 0; v < voxels; ++v) CHECK(onto[v] == approx(2.0f + alone[v]).epsilon(1e-6));
  }
}

TEST_CASE("Joseph reads detector ids as it reads free ends, and one bin width an event") {
  const OperatorCase c = operator_cases()[1];
  EventBatch ends = events_of(c, 200, 23);
  ends.tof_width_mm = Buffer<float>::from(random_numbers(200, 3, 0.5f, 9));
  std::vector<Vec3> positions;
  EventBatch ids;
  ids.count = ends.count;
  ids.tof = ends.tof;
  ids.detector1 = Buffer<std::uint32_t>(Memory::host, ids.count);
  ids.detector2 = Buffer<std::uint32_t>(Memory::host, ids.count);
  for (std::int64_t i = 0; i < ids.count; ++i) {
    const Lor lor = ends.view().lor(i);
    ids.detector1[i] = static_cast<std::uint32_t>(positions.size());
    positions.push_back(lor.end1);
    ids.detector2[i] = static_cast<std::uint32_t>(positions.size());
    positions.push_back(lor.end2);
  }
  ids.detectors = std::make_shared<DetectorTable>(positions);
  ids.tof_mm = Buffer<float>::from(ends.tof_mm.span());
  ids.tof_width_mm = Buffer<float>::from(ends.tof_width_mm.span());
  const auto image = random_numbers(c.grid.voxels(), 1);
  const auto cpu = make_joseph_projector(c.grid, {}, Backend::cpu);
  const auto expected = forward_of(*make_joseph_reference(c.grid, {}), ends, image);
  CHECK(forward_of(*cpu, ids, image) == forward_of(*cpu, ends, image));
  CHECK(error_of_range(forward_of(*cpu, ids, image), expected) < 1e-5);
}

TEST_CASE("Joseph gives the same image twice, bit for bit") {
  const OperatorCase c = operator_cases()[1];
  const EventBatch batch = events_of(c, 50000, 29);
  const auto image = random_numbers(c.grid.voxels(), 1);
  const auto values = random_numbers(batch.count, 2);
  const auto cpu = make_joseph_projector(c.grid, {}, Backend::cpu);
  const Projections first = project(*cpu, batch, image, values);
  const Projections second = project(*cpu, batch, image, values);
  CHECK(first.forward == second.forward);
  CHECK(first.back == second.back);
  CHECK(first.em == second.em);
  CHECK(first.tally.log_sum == second.tally.log_sum);
}

TEST_CASE("Joseph takes no events") {
  const EventBatch none = batch_of({});
  const auto cpu = make_joseph_projector(box(), {}, Backend::cpu);
  std::vector<float> image = ones(box());
  const EmTally tally = cpu->em_step(none.view(), image.data(), image.data());
  CHECK(tally.used == 0);
  CHECK(tally.skipped == 0);
  CHECK(image == ones(box()));
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
