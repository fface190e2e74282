// Bins whose lines are projected one by one: each result against the reference's for the single lines, adjointness, the
// image that expects just what was counted, and the GPU.
#include "kernels/project/spread/spread_projector.hpp"

#include "kernels/types/recorded_lines.hpp"
#include "tests/kernels/ring/joseph_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

namespace tofstream::testing {

namespace {

constexpr std::int64_t joined_bins = 500;
constexpr TofModel spread_tof{6, 5};

// Bins of one to seven pairs of a ring's detectors, and one that joins none.
class JoinedBins final : public RecordedLines {
 public:
  explicit JoinedBins(std::uint32_t detectors) {
    std::mt19937_64 engine(7);
    for (std::int64_t bin = 0; bin < joined_bins; ++bin) {
      all_.first.push_back(std::ssize(all_.detector1));
      for (std::int64_t n = bin == 3 ? 0 : 1 + bin % 7; n > 0; --n) {
        const auto one = static_cast<std::uint32_t>(engine() % detectors);
        all_.detector1.push_back(one);
        all_.detector2.push_back((one + detectors / 4 + static_cast<std::uint32_t>(engine() % (detectors / 2))) %
                                 detectors);
      }
    }
    all_.first.push_back(std::ssize(all_.detector1));
  }
  const BinPairs& all() const { return all_; }

  std::int64_t size() const override { return joined_bins; }
  EventBatch lines(std::int64_t, std::int64_t) const override { throw std::logic_error("nobody asks for them"); }
  std::string key() const override { return ""; }
  bool are_spread() const override { return true; }
  BinPairs pairs(std::span<const std::uint32_t> bins) const override {
    BinPairs some{.detector1 = {}, .detector2 = {}, .first = {0}};
    for (const std::uint32_t bin : bins) {
      for (auto l = static_cast<std::size_t>(all_.first[bin]); l < static_cast<std::size_t>(all_.first[bin + 1]); ++l) {
        some.detector1.push_back(all_.detector1[l]);
        some.detector2.push_back(all_.detector2[l]);
      }
      some.first.push_back(std::ssize(some.detector1));
    }
    return some;
  }

 private:
  BinPairs all_;
};

struct JoinedScan {
  std::shared_ptr<Scanner> scanner = std::make_shared<Scanner>();
  std::shared_ptr<const JoinedBins> bins;
  EventBatch events, lines;  // bins in another order; and each of their lines
  std::vector<std::int64_t> first;

  explicit JoinedScan(bool has_tof) {
    constexpr int detectors = 120;
    std::vector<Vec3> positions;
    for (int d = 0; d < detectors; ++d) {
      const float angle = 0.1f * static_cast<float>(d);
      positions.push_back({30 * std::cos(angle), 30 * std::sin(angle), 0.15f * static_cast<float>(d % 40) - 3});
    }
    scanner->detectors = std::make_shared<const DetectorTable>(positions);
    bins = std::make_shared<const JoinedBins>(detectors);
    scanner->lines = bins;
    std::vector<std::uint32_t> order;
    for (std::int64_t i = 0; i < joined_bins; ++i) order.push_back(static_cast<std::uint32_t>(i * 17 % joined_bins));
    const BinPairs pairs = bins->pairs(order);
    first = pairs.first;
    events.count = joined_bins;
    events.bin = Buffer<std::uint32_t>::from(order);
    for (auto& end : events.ends) end = Buffer<float>::zeros(Memory::host, joined_bins);
    lines.count = pairs.first.back();
    lines.detectors = scanner->detectors;
    lines.detector1 = Buffer<std::uint32_t>::from(pairs.detector1);
    lines.detector2 = Buffer<std::uint32_t>::from(pairs.detector2);
    if (!has_tof) return;
    events.tof = lines.tof = spread_tof;
    const std::vector<float> tof = random_numbers(joined_bins, 5, -8, 8);
    events.tof_mm = Buffer<float>::from(tof);
    lines.tof_mm = Buffer<float>(Memory::host, lines.count);
    for (std::int64_t b = 0; b < joined_bins; ++b)
      std::fill(lines.tof_mm.data() + first[static_cast<std::size_t>(b)],
                lines.tof_mm.data() + first[static_cast<std::size_t>(b) + 1], tof[static_cast<std::size_t>(b)]);
  }

  // What `projector` of single lines makes of them, in double where sums are concerned.
  Projections expected(ListModeProjector& projector, const std::vector<float>& image,
                       const std::vector<float>& values) const {
    const std::vector<float> of_lines = forward_of(projector, lines, image);
    std::vector<float> shared(of_lines.size()), ratios(of_lines.size());
    Projections result;
    for (std::size_t b = 0; b + 1 < first.size(); ++b) {
      const auto begin = static_cast<std::size_t>(first[b]), end = static_cast<std::size_t>(first[b + 1]);
      const double n = static_cast<double>(end - begin);
      double sum = 0;
      for (std::size_t l = begin; l < end; ++l) sum += static_cast<double>(of_lines[l]);
      const double mean = n > 0 ? sum / n : 0;
      const auto i = static_cast<std::int64_t>(b);
      const double y = events.counts.empty() ? 1 : static_cast<double>(events.counts[i]);
      const double e = mean + (events.additive.empty() ? 0 : static_cast<double>(events.additive[i]));
      result.forward.push_back(static_cast<float>(mean));
      (e > 0 ? result.tally.used : result.tally.skipped) += static_cast<std::int64_t>(y);
      if (e > 0) result.tally.log_sum += y * std::log(e);
      for (std::size_t l = begin; l < end; ++l) {
        shared[l] = static_cast<float>(static_cast<double>(values[b]) / n);
        ratios[l] = e > 0 ? static_cast<float>(y / e / n) : 0;
      }
    }
    result.back.resize(image.size());
    result.em.resize(image.size());
    projector.back(lines.view(), shared.data(), result.back.data());
    projector.back(lines.view(), ratios.data(), result.em.data());
    return result;
  }
};

void check_spread(Backend backend) {
  for (const bool has_tof : {false, true})
    for (const bool has_terms : {false, true}) {
      CAPTURE(has_tof);
      CAPTURE(has_terms);
      JoinedScan scan(has_tof);
      if (has_terms) {
        scan.events.additive = Buffer<float>::from(random_numbers(joined_bins, 4, 0.1f, 1));
        std::vector<float> counts = random_numbers(joined_bins, 6, 0, 5);
        for (float& count : counts) count = std::floor(count);
        scan.events.counts = Buffer<float>::from(counts);
      }
      const auto image = random_numbers(box().voxels(), 1);
      const auto values = random_numbers(joined_bins, 2);
      const Projections expected = scan.expected(*make_joseph_reference(box(), {}), image, values);
      const auto spread = spread_where_asked(make_joseph_projector(box(), {}, backend), scan.scanner);
      const Projections actual = project(*spread, scan.events, image, values);
      CHECK(error_of_range(actual.forward, expected.forward) < 1e-5);
      CHECK(error_of_range(actual.back, expected.back) < 1e-5);
      CHECK(error_of_range(actual.em, expected.em) < 1e-5);
      CHECK(actual.tally.used == expected.tally.used);
      CHECK(actual.tally.skipped == expected.tally.skipped);
      CHECK(std::abs(actual.tally.log_sum - expected.tally.log_sum) < 1e-5 * static_cast<double>(joined_bins));
      CHECK(inner(actual.forward, values) == approx(inner(image, actual.back)).epsilon(1e-5));
    }
}

}  // namespace

TEST_CASE("spread bins are the means of their lines, forward, back and in the EM step") {
  check_spread(Backend::cpu);
}

TEST_CASE("spread bins in CUDA are the means of their lines, and a plan changes no more than rounding") {
  if (!gpu_or_skip()) return;
  check_spread(Backend::cuda);
  const JoinedScan scan(true);
  const auto spread =
      spread_where_asked(make_joseph_projector(box(), {.deterministic = true}, Backend::cuda), scan.scanner);
  const EventBatch events = scan.events.to(Memory::device);
  const auto image = Buffer<float>::from(random_numbers(box().voxels(), 1)).to(Memory::device);
  const auto plan = spread->plan(events.view());
  REQUIRE(plan);
  CHECK(plan->bytes() >= static_cast<std::size_t>(scan.lines.count) * 12);
  std::vector<std::vector<float>> made;
  for (const ProjectionPlan* with :
       {static_cast<const ProjectionPlan*>(nullptr), static_cast<const ProjectionPlan*>(plan.get())}) {
    auto back = Buffer<float>::zeros(Memory::device, box().voxels());
    CHECK(spread->planned_em_step(with, events.view(), image.data(), back.data()).used > 0);
    made.push_back(back.to_vector());
  }
  CHECK(error_of_range(made[1], made[0]) < 1e-5);
}

TEST_CASE("an image whose spread bins expect just what was counted stays as it is under EM") {
  JoinedScan scan(false);
  const auto truth = random_numbers(box().voxels(), 9, 0.5f, 1);
  const auto spread = spread_where_asked(make_joseph_projector(box(), {}, Backend::cpu), scan.scanner);
  scan.events.counts = Buffer<float>::from(forward_of(*spread, scan.events, truth));
  std::vector<float> seen(joined_bins);  // by a ratio of 1
  for (std::size_t b = 0; b < seen.size(); ++b) seen[b] = scan.events.counts[static_cast<std::int64_t>(b)] > 0 ? 1 : 0;
  const Projections made = project(*spread, scan.events, truth, seen);
  CHECK(error_of_range(made.em, made.back) < 1e-5);
}

TEST_CASE("single lines are not spread, and spread bins that lost their numbers are refused") {
  JoinedScan scan(false);
  const auto plain = std::make_shared<Scanner>(*scan.scanner);
  plain->lines = nullptr;
  auto joseph = make_joseph_projector(box(), {}, Backend::cpu);
  const ListModeProjector* const same = joseph.get();
  CHECK(spread_where_asked(std::move(joseph), plain).get() == same);
  const auto spread = spread_where_asked(make_joseph_projector(box(), {}, Backend::cpu), scan.scanner);
  scan.events.bin = {};
  std::vector<float> image(static_cast<std::size_t>(box().voxels()), 1), expectation(joined_bins);
  CHECK_THROWS_WITH(spread->forward(scan.events.view(), image.data(), expectation.data()),
                    doctest::Contains("lost their numbers"));
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
