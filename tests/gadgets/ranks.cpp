// Several projectors that share each subset: the same sums as one projector's, bit for bit where they are
// deterministic, and errors that name the rank.
#include "gadgets/step/ranks.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/additive.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/views.hpp"
#include "kernels/memory/devices.hpp"
#include "kernels/ring/simulate/random_pairs.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

const Grid grid = Grid::centred(30, 30, 10, {8, 8, 8});

std::shared_ptr<const Scanner> scanner() {
  static const auto made = make_scanner({.inner_radius_mm = 200,
                                         .modules_transaxial = 12,
                                         .modules_axial = 2,
                                         .crystals_transaxial = 8,
                                         .crystals_axial = 8,
                                         .module_pitch_axial_mm = 32,
                                         .tof_fwhm_ps = 300,
                                         .tof_bins = 41,
                                         .tof_bin_ps = 50,
                                         .min_sector_difference = 2});
  return made;
}

/// Events enough for tiles, a batch with additive terms, and one that is smaller than the number of parts.
std::shared_ptr<const EventSubset> event_subset(int iteration = 1) {
  static const std::vector<std::shared_ptr<const EventBatch>> batches = [] {
    std::vector<std::shared_ptr<const EventBatch>> made;
    for (const std::int64_t count : {60'000, 30'001, 3}) {
      EventBatch batch = random_pairs(scanner(), grid, count, static_cast<std::uint64_t>(count));
      if (count == 30'001) {
        batch.additive = Buffer<float>(Memory::host, count);
        for (std::int64_t i = 0; i < count; ++i) batch.additive[i] = 0.001f * static_cast<float>(i % 7);
      }
      made.push_back(std::make_shared<const EventBatch>(std::move(batch)));
    }
    return made;
  }();
  EventSubset subset{.step = {.iteration = iteration, .iterations = 2, .subsets = 1, .ends_iteration = true},
                     .batches = batches};
  return std::make_shared<const EventSubset>(std::move(subset));
}

Estimate estimate_on(Memory memory) {
  Image image = Image::filled(grid, 1);
  for (std::int64_t v = 0; v < image.voxels.size(); ++v) image.voxels[v] += 0.01f * static_cast<float>(v % 97);
  return {{.iteration = 0}, std::make_shared<const Image>(image.to(memory))};
}

struct Passed {
  std::vector<float> back;
  EmTally tally;
  BookEntries books;
  std::map<std::string, Figure> figures;
};

/// What the second of two iterations gives.
Passed project(const std::string& parameters, bool on_gpu = false) {
  RegisteredGadgetTest<Projected> projector(
      "joseph_projector",
      fmt::format("{{backend: {}, sensitivity: {{cache: false, sampled_pairs: 1000, exact_pairs: 0}}, {}}}",
                  on_gpu ? "cuda" : "cpu", parameters));
  const auto estimate = std::make_shared<const Estimate>(estimate_on(on_gpu ? Memory::device : Memory::host));
  for (const int iteration : {1, 2})
    projector.send(event_subset(iteration), estimate, std::shared_ptr<const Additive<EventBatch>>());
  const Projected& last = *projector.out.all().back();
  return {last.back_projection->voxels.to_vector(), last.tally, projector.context.recorded(),
          projector.context.figures()};
}

double nrms(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = double{a[i]} - double{b[i]};
    difference += d * d;
    size += double{b[i]} * double{b[i]};
  }
  return std::sqrt(difference / size);
}

void check_ranks_agree(bool on_gpu, int most) {
  const Passed one = project("ranks: 1", on_gpu);
  CHECK(one.tally.used > 80'000);
  for (int ranks = 2; ranks <= most; ++ranks) {
    CAPTURE(ranks);
    const Passed several = project(fmt::format("ranks: {}", ranks), on_gpu);
    CHECK(nrms(several.back, one.back) < 1e-6);
    CHECK(several.tally.used == one.tally.used);
    CHECK(several.tally.skipped == one.tally.skipped);
    CHECK(several.tally.log_sum == approx(one.tally.log_sum).epsilon(1e-9));
    CHECK(several.books.reconstructed == one.books.reconstructed);
    CHECK(several.books.rejected == one.books.rejected);
    const auto& data = std::get<std::vector<double>>(several.figures.at("rank_data"));
    REQUIRE(data.size() == static_cast<std::size_t>(ranks));
    CHECK(*std::ranges::min_element(data) > 0.8 * *std::ranges::max_element(data));
  }
}

void check_ranks_give_the_same_bits(bool on_gpu, const std::vector<int>& numbers) {
  const Passed one = project("deterministic: true, ranks: 1, rank_parts: 8", on_gpu);
  for (const int ranks : numbers) {
    CAPTURE(ranks);
    const Passed several = project(fmt::format("deterministic: true, ranks: {}", ranks), on_gpu);
    CHECK(several.back == one.back);
    CHECK(several.tally.used == one.tally.used);
  }
  CHECK(nrms(one.back, project("deterministic: true", on_gpu).back) < 1e-6);
}

/// Six sides of a camera in two batches, their counts as floats or in 16 bits.
std::shared_ptr<const ViewSubset> view_subset(bool has_whole_counts) {
  ViewSet set;
  set.size[0] = 16;
  set.size[1] = 8;
  set.pixel_mm = {8, 8, 8};
  for (int v = 0; v < 6; ++v)
    set.places.push_back({.angle_deg = 60.0f * static_cast<float>(v), .radius_mm = 150, .duration_s = 1.0 + v});
  const auto shared = std::make_shared<const ViewSet>(std::move(set));
  ViewSubset subset{.step = {.iteration = 1, .iterations = 2, .subsets = 1}, .batches = {}};
  for (const std::vector<int>& views : {std::vector{0, 1, 2, 3}, std::vector{4, 5}}) {
    ViewBatch batch{.set = shared};
    for (const int v : views) batch.records.push_back({.view = v, .counts = 100});
    batch.count = shared->pixels() * static_cast<std::int64_t>(views.size());
    batch.weigh(6);
    batch.counts = Buffer<float>(Memory::host, batch.count);
    for (std::int64_t i = 0; i < batch.count; ++i) batch.counts[i] = static_cast<float>(i % 5);
    if (has_whole_counts) {
      batch.whole_counts = Buffer<std::uint16_t>(Memory::host, batch.count);
      for (std::int64_t i = 0; i < batch.count; ++i) batch.whole_counts[i] = static_cast<std::uint16_t>(i % 5);
      batch.counts = {};
    }
    subset.batches.push_back(std::make_shared<const ViewBatch>(std::move(batch)));
  }
  return std::make_shared<const ViewSubset>(std::move(subset));
}

Passed project_views(const std::string& parameters, bool on_gpu = false, bool has_whole_counts = false) {
  RegisteredGadgetTest<Projected> projector("rotation_projector",
                                            fmt::format("{{backend: {}, {}}}", on_gpu ? "cuda" : "cpu", parameters));
  const Memory memory = on_gpu ? Memory::device : Memory::host;
  const auto estimate = std::make_shared<const Estimate>(Estimate{
      {.iteration = 0}, std::make_shared<const Image>(Image::filled(Grid::centred(16, 16, 8, {8, 8, 8}), 1, memory))});
  projector.send(view_subset(has_whole_counts), estimate, std::shared_ptr<const Additive<ViewBatch>>());
  const Projected& last = *projector.out.all().back();
  return {last.back_projection->voxels.to_vector(), last.tally, projector.context.recorded(), {}};
}

void check_ranks_of_views_agree(bool on_gpu, int most) {
  const Passed one = project_views("ranks: 1", on_gpu);
  CHECK(one.tally.used > 0);
  for (int ranks = 2; ranks <= most; ++ranks) {
    CAPTURE(ranks);
    for (const int parts : {ranks, 8}) {
      const Passed several = project_views(fmt::format("ranks: {}, rank_parts: {}", ranks, parts), on_gpu);
      CHECK(nrms(several.back, one.back) < 1e-6);
      CHECK(several.tally.used == one.tally.used);
      const Passed of_whole = project_views(fmt::format("ranks: {}, rank_parts: {}", ranks, parts), on_gpu, true);
      CHECK(nrms(of_whole.back, one.back) < 1e-6);
      CHECK(of_whole.tally.used == one.tally.used);
    }
  }
}

bool two_gpus_or_skip() {
  if (!gpu_or_skip()) return false;
  if (cuda_devices() > 1) return true;
  MESSAGE("one GPU");
  skip_test("second GPU", "TOFSTREAM_REQUIRE_GPUS");
  return false;
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("ranks on a CPU give the sums and the books of one projector") {
  check_ranks_agree(false, 4);
}

TEST_CASE("deterministic sums do not depend on the number of ranks") {
  check_ranks_give_the_same_bits(false, {2, 3, 4, 8});
}

TEST_CASE("the sensitivity that ranks share, all pairs or drawn ones, has the bits of one projector's") {
  const auto sensitivity = [](int ranks, const std::string& pairs) {
    RegisteredGadgetTest<Projected> projector(
        "joseph_projector", fmt::format("{{backend: cpu, deterministic: true, rank_parts: 8, ranks: {}, sensitivity: "
                                        "{{cache: false, {}}}}}",
                                        ranks, pairs));
    projector.send(event_subset(), std::make_shared<const Estimate>(estimate_on(Memory::host)),
                   std::shared_ptr<const Additive<EventBatch>>());
    return projector.out.all().back()->sensitivity->voxels.to_vector();
  };
  for (const std::string pairs : {"exact_pairs: 100000000", "exact_pairs: 0, sampled_pairs: 20000"}) {
    const std::vector<float> one = sensitivity(1, pairs);
    CHECK(*std::ranges::max_element(one) > 0);
    for (const int ranks : {2, 3}) CHECK(sensitivity(ranks, pairs) == one);
  }
}

TEST_CASE("ranks share the views of a camera") {
  check_ranks_of_views_agree(false, 3);
}

TEST_CASE("ranks on two GPUs give the sums and the books of one") {
  if (!two_gpus_or_skip()) return;
  check_ranks_of_views_agree(true, 2);
  check_ranks_agree(true, 2);
  check_ranks_give_the_same_bits(true, {2});
}

TEST_CASE("ranks that cannot be are refused before data flow") {
  CHECK(error_of([] { project("ranks: 3, rank_parts: 2"); }) ==
        "rank_parts: 2 leaves nothing for 1 of 3 ranks: write rank_parts: 3 or more");
  if (!gpu_or_skip()) return;
  const int gpus = cuda_devices();
  CHECK(error_of([&] { project(fmt::format("ranks: {}", gpus + 1), true); }) ==
        fmt::format("ranks: {} needs as many GPUs, and this host has {}: write ranks: {}, or 0 for all there are",
                    gpus + 1, gpus, gpus));
}

namespace {

/// Numbers to be added up: each lies in a voxel of its own, and the projector of a rank can be told to fail.
struct Numbers {
  std::int64_t count = 0;
  std::vector<float> values = {};
  struct View {
    std::int64_t count = 0, first = 0;
    const float* values = nullptr;
    const float* additive = nullptr;
  };
  Memory memory() const { return Memory::host; }
  Numbers to(Memory, Stream = nullptr) const { return *this; }
  View view() const { return {count, 0, values.data()}; }
  std::uint64_t event_count() const { return static_cast<std::uint64_t>(count); }
  std::size_t bytes() const { return values.size() * sizeof(float); }
};
std::int64_t range_size(const Numbers& numbers) {
  return numbers.count;
}
Numbers::View range_of(Numbers::View view, Range range) {
  view.first = range.first;
  view.values += view.first;
  if (view.additive) view.additive += view.first;
  view.count = range.size;
  return view;
}
Numbers range_of(const Numbers& numbers, Range range, Memory, Stream) {
  const auto first = numbers.values.begin() + range.first;
  return {range.size, {first, first + range.size}};
}

struct Adder final : Projector<Numbers::View> {
  explicit Adder(const std::function<void()>& before) : before(before) {}
  const std::function<void()>& before;
  Grid at = Grid::centred(8, 1, 1, {1, 1, 1});

  const Grid& grid() const override { return at; }
  Backend backend() const override { return Backend::cpu; }
  void forward(const Numbers::View&, const float*, float*, Stream) override {}
  void back(const Numbers::View&, const float*, float*, Stream) override {}
  EmTally em_step(const Numbers::View& view, const float* image, float* sum, Stream) override {
    before();
    for (std::int64_t i = 0; i < view.count; ++i)
      sum[view.first + i] += view.values[i] * image[0] + (view.additive ? view.additive[i] : 0);
    return {.used = view.count};
  }
};

struct Terms final : AdditiveTerms<Numbers> {
  void write(const Numbers& numbers, float* to) const override { std::fill_n(to, numbers.count, 100.0f); }
};

struct NumbersModel final : SystemModel<Numbers> {
  std::function<void()> own = [] {}, others = [] {};
  Adder adder{own};
  void prepare(const Subset<Numbers>&, const Estimate&, Context&) override {}
  Projector<Numbers::View>& projector() override { return adder; }
  std::unique_ptr<Projector<Numbers::View>> another_projector(Context& context) const override {
    context.log().warning("nobody reads this");
    return std::make_unique<Adder>(others);
  }
  SubsetSensitivity sensitivity(const Subset<Numbers>&) override { return {}; }
  std::shared_ptr<const Quantity> quantity(const Subset<Numbers>&, const NamedCorrection*, Context&) override {
    return nullptr;
  }
  Modality modality() const override { return Modality::unknown; }
  DataWords words() const override { return {"numbers", ""}; }
  Missed missed() const override { return {}; }
};

Subset<Numbers> numbers() {
  return {.step = {.iteration = 1, .iterations = 2},
          .batches = {std::make_shared<const Numbers>(Numbers{8, {1, 2, 3, 4, 5, 6, 7, 8}})}};
}

}  // namespace

TEST_CASE("each rank adds its part, with the terms that the data meet") {
  NumbersModel model;
  TestContext context;
  Ranks<Numbers> ranks({.ranks = 3, .parts = 5}, 0, model, context);
  Image back = Image::zeros(model.adder.grid());
  const Image estimate = Image::filled(model.adder.grid(), 2);
  const Additive<Numbers> terms{.of = {}, .terms = std::make_shared<const Terms>(), .corrects = {}};
  const Subset<Numbers> subset = numbers();
  const SubsetTally tally = ranks.project({subset, estimate, &terms}, back, context);
  CHECK(tally.all.used == 8);
  CHECK(tally.of_new.used == 8);
  CHECK(back.voxels.to_vector() == std::vector<float>{102, 104, 106, 108, 110, 112, 114, 116});
  const std::vector<RankFigures> figures = ranks.figures();
  REQUIRE(figures.size() == 3);
  CHECK(figures[0].of_shares.data + figures[1].of_shares.data + figures[2].of_shares.data == 8);
}

TEST_CASE("an error of a rank ends the pass with the rank's number, once all others have stopped") {
  NumbersModel model;
  TestContext context;
  std::atomic<int> ended = 0;
  Ranks<Numbers> ranks({.ranks = 4, .parts = 4}, 0, model, context);
  Image back = Image::zeros(model.adder.grid());
  const Image estimate = Image::filled(model.adder.grid(), 1);
  const Subset<Numbers> subset = numbers();
  std::atomic<int> next = 0;
  model.others = [&] {
    if (next++ == 0) throw std::runtime_error("the GPU has fallen off the bus");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ++ended;
  };
  const std::string error = error_of([&] { ranks.project({subset, estimate, nullptr}, back, context); });
  CHECK(error.starts_with("rank "));
  CHECK(error.ends_with(": the GPU has fallen off the bus"));
  CHECK(ended == 2);
  // One of the first rank has its own words.
  model.others = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ++ended;
  };
  model.own = [] { throw std::runtime_error("no room"); };
  CHECK(error_of([&] { ranks.project({subset, estimate, nullptr}, back, context); }) == "no room");
  CHECK(ended == 5);
}

TEST_CASE("ranks break off between batches where one has failed or the run ends, and the failure is the cause") {
  Subset<Numbers> subset = numbers();
  while (subset.batches.size() < 60) subset.batches.push_back(subset.batches.front());
  for (const bool own_fails : {true, false}) {
    CAPTURE(own_fails);
    NumbersModel model;
    TestContext context;
    std::atomic<int> batches = 0;
    const std::function<void()> fails = [] { throw std::runtime_error("no room"); }, works = [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ++batches;
    };
    model.own = own_fails ? fails : works;
    model.others = own_fails ? works : fails;
    Ranks<Numbers> ranks({.ranks = 2, .parts = 2}, 0, model, context);
    Image back = Image::zeros(model.adder.grid());
    const Image estimate = Image::filled(model.adder.grid(), 1);
    CHECK(error_of([&] {
            ranks.project({subset, estimate, nullptr}, back, context);
          }) == (own_fails ? "no room" : "rank 1: no room"));
    CHECK(batches < 10);
    // What has failed may be tried again, until the run ends.
    model.own = model.others = works;
    batches = 0;
    ranks.project({subset, estimate, nullptr}, back, context);
    CHECK(batches == 60);
    context.cancel();
    batches = 0;
    CHECK_THROWS_AS(ranks.project({subset, estimate, nullptr}, back, context), BrokenOff);
    CHECK(batches <= 2);
  }
}

TEST_CASE("a rank that takes longer than the others is told") {
  NumbersModel model;
  TestContext context;
  model.others = [] { std::this_thread::sleep_for(std::chrono::milliseconds(15)); };
  Ranks<Numbers> ranks({.ranks = 2, .parts = 2}, 0, model, context);
  Image back = Image::zeros(model.adder.grid());
  const Image estimate = Image::filled(model.adder.grid(), 1);
  const Subset<Numbers> subset = numbers();
  for (int i = 1; i <= 11; ++i) {
    ranks.project({subset, estimate, nullptr}, back, context);
    CHECK(ranks.slow_ranks().size() == (i == 10 ? 1 : 0));
    if (i == 10) CHECK(ranks.slow_ranks()[0].starts_with("rank 1: over 10 subsets it took "));
  }
}

TEST_CASE("data that nothing cuts into parts have one rank") {
  struct Whole {
    std::int64_t count = 0;
    Numbers::View view() const { return {}; }
    Memory memory() const { return Memory::host; }
    Whole to(Memory, Stream = nullptr) const { return *this; }
    std::size_t bytes() const { return 0; }
    std::uint64_t event_count() const { return 0; }
  };
  CHECK_FALSE(Divisible<Whole>);
  CHECK(Divisible<Numbers>);
  CHECK(Divisible<EventBatch>);
  CHECK(Divisible<ViewBatch>);
}
// SPDX-License-Identifier: Apache-2.0
