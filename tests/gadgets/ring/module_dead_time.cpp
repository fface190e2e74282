// Dead times of modules from a decaying source's singles, and live fractions from them: the gadgets, from histograms to
// a file to corrected events.
#include <cmath>
#include <fstream>
#include <random>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/io/dead_time_yaml.hpp"
#include "kernels/correct/decay.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "kernels/types/live_pattern.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

std::shared_ptr<const Scanner> busy_scanner() {
  static const auto made = [] {
    RingScanner ring;
    ring.inner_radius_mm = 100;
    ring.modules_transaxial = 8;
    ring.crystals_transaxial = ring.crystals_axial = 2;
    ring.tof_fwhm_ps = 300;
    ring.tof_bins = 11;
    ring.tof_bin_ps = 100;
    ring.min_sector_difference = 2;
    return make_scanner(ring);
  }();
  return made;
}

constexpr double busy_us(std::uint32_t module) {
  return 2 + 0.5 * module;
}

/// The share of singles that a module with n true ones a second does not lose.
double true_live(std::uint32_t module, double n, DeadTimeModel model) {
  const double busy = 1e-6 * n * busy_us(module);
  return model == DeadTimeModel::paralysable ? std::exp(-busy) : 1 / (1 + busy);
}

/// A histogram of modules that have `true_cps` photons each, of which they lose what their dead times take.
EventBatch busy_singles(double start_s, double duration_s, double true_cps, DeadTimeModel model,
                        std::mt19937_64& random) {
  auto singles = std::make_shared<SinglesCounts>(
      SinglesCounts{.start_s = start_s, .duration_s = duration_s, .counts = {}, .window_s = 8e-9});
  for (std::uint32_t m = 0; m < 8; ++m)
    for (int crystal = 0; crystal < 4; ++crystal)
      singles->counts.push_back(std::poisson_distribution<std::uint64_t>(0.25 * duration_s * true_cps *
                                                                         true_live(m, true_cps, model))(random));
  EventBatch batch;
  batch.scanner = busy_scanner();
  batch.detectors = batch.scanner->detectors;
  batch.singles = std::move(singles);
  return batch;
}

EventBatch busy_events(double start_s, double duration_s) {
  EventBatch batch;
  batch.count = 2;
  batch.scanner = busy_scanner();
  batch.detectors = batch.scanner->detectors;
  batch.tof = batch.scanner->tof.front();
  batch.start_s = start_s;
  batch.duration_s = duration_s;
  batch.detector1 = Buffer<std::uint32_t>::from(std::vector<std::uint32_t>{17, 31});
  batch.detector2 = Buffer<std::uint32_t>::from(std::vector<std::uint32_t>{1, 12});
  batch.tof_mm = Buffer<float>::zeros(Memory::host, 2);
  return batch;
}

}  // namespace

TEST_CASE("dead times come back from the singles of a decaying source, with the model that was the true one") {
  const double half_life = half_life_s("F-18", Emission::positrons);
  for (const DeadTimeModel model : {DeadTimeModel::non_paralysable, DeadTimeModel::paralysable}) {
    std::mt19937_64 random(5);
    const TemporaryFolder folder;
    RegisteredGadgetTest<void> gadget("dead_time_writer", "{decay: {isotope: F-18}}", folder.path());
    for (double at_s = 0; at_s < 4 * half_life; at_s += 600)
      gadget.send(busy_singles(at_s, 600, 1e5 * mean_decay(at_s, 600, half_life), model, random));
    gadget.finish();
    const auto& figures = gadget.context.figures();
    CHECK(std::get<std::string>(figures.at("model")) ==
          (model == DeadTimeModel::paralysable ? "paralysable" : "non_paralysable"));
    CHECK(std::get<double>(figures.at("chi2_a_point")) < 1.5);
    const auto times = formats::read_dead_times(std::get<std::string>(figures.at("file")));
    CHECK(times.model == model);
    REQUIRE(times.dead_time_us.size() == 8);
    for (std::uint32_t m = 0; m < 8; ++m) CHECK(times.dead_time_us[m] == approx(busy_us(m)).epsilon(0.02));
  }
}

TEST_CASE("events get the live fractions of their modules' singles, once the histograms of their time have come") {
  for (const DeadTimeModel model : {DeadTimeModel::non_paralysable, DeadTimeModel::paralysable}) {
    const TemporaryFolder folder;
    formats::ModuleDeadTimes times{model, {}};
    for (std::uint32_t m = 0; m < 8; ++m) times.dead_time_us.push_back(busy_us(m));
    formats::write_dead_times(folder / "t.yaml", times, std::vector<double>(8, 0.01), {"made up"});
    RegisteredGadgetTest<EventBatch> gadget(
        "event_corrections", fmt::format("{{backend: cpu, dead_time: {{file: {}}}}}", (folder / "t.yaml").string()));
    std::mt19937_64 random(6);
    gadget.send(busy_events(0, 10));
    CHECK(gadget.out.all().empty());
    gadget.send(busy_singles(0, 10, 8e4, model, random));
    REQUIRE(gadget.out.all().size() == 1);
    gadget.send(busy_events(10, 20));
    gadget.send(busy_singles(10, 10, 4e4, model, random));
    CHECK(gadget.out.all().size() == 1);
    gadget.send(busy_singles(20, 10, 1e4, model, random));
    gadget.send(busy_events(30, 10));
    gadget.finish();
    REQUIRE(gadget.out.all().size() == 3);
    const auto check = [&](const EventBatch& batch, auto mean_of) {
      for (std::int64_t i = 0; i < 2; ++i) {
        const std::uint32_t a = batch.detector1[i] / 4, b = batch.detector2[i] / 4;
        const double live = mean_of([&](double n) { return true_live(a, n, model) * true_live(b, n, model); });
        CHECK(batch.exposure * static_cast<double>(batch.live->of(a, b)) == approx(live).epsilon(0.005));
        CHECK(static_cast<double>(batch.multiplicative[i]) ==
              approx(live * static_cast<double>(busy_scanner()->efficiency(batch.detector1[i], batch.detector2[i])))
                  .epsilon(0.005));
      }
    };
    check(*gadget.out.pointer(0), [](auto live) { return live(8e4); });
    check(*gadget.out.pointer(1), [](auto live) { return 0.5 * (live(4e4) + live(1e4)); });
    check(*gadget.out.pointer(2), [](auto live) { return live(1e4); });  // the last histogram holds on
    CHECK(std::get<double>(gadget.context.figures().at("live_fraction")) < 0.9);
    CHECK(std::get<double>(gadget.context.figures().at("behind_singles_s")) == approx(10));
  }
}

TEST_CASE("dead times and singles that do not go together are refused in one line") {
  const TemporaryFolder folder;
  const auto with = [&](std::vector<double> dead_time_us) {
    formats::write_dead_times(folder / "t.yaml", {DeadTimeModel::paralysable, dead_time_us}, {}, {});
    return fmt::format("{{backend: cpu, dead_time: {{file: {}}}}}", (folder / "t.yaml").string());
  };
  std::mt19937_64 random(6);
  const EventBatch singles = busy_singles(0, 10, 8e4, DeadTimeModel::paralysable, random);
  RegisteredGadgetTest<EventBatch> other("event_corrections", with({1, 2}));
  CHECK_THROWS_WITH(other.send(singles.without_arrays()), doctest::Contains("2 dead times for the 8 modules"));
  RegisteredGadgetTest<EventBatch> slow("event_corrections", with(std::vector<double>(8, 100)));
  CHECK_THROWS_WITH(slow.send(singles.without_arrays()), doctest::Contains("module 0 at 0 s: "));
  RegisteredGadgetTest<EventBatch> none("event_corrections", with(std::vector<double>(8, 1)));
  none.send(busy_events(0, 10));
  CHECK_THROWS_WITH(none.finish(), doctest::Contains("no singles histogram has come"));
  RegisteredGadgetTest<EventBatch> twice("event_corrections", with(std::vector<double>(8, 1)));
  EventBatch stated = busy_events(0, 10);
  stated.exposure = 0.9;
  CHECK_THROWS_WITH(twice.send(std::move(stated)), doctest::Contains("already state live fractions"));
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventBatch>(
                        "event_corrections",
                        fmt::format("{{dead_time: {{live_fraction: 0.9, file: {}}}}}", (folder / "t.yaml").string())),
                    doctest::Contains("not both"));
  CHECK_THROWS_WITH(RegisteredGadgetTest<void>("dead_time_writer", "{}"), doctest::Contains("decay.isotope"));
  RegisteredGadgetTest<void> empty("dead_time_writer", "{decay: {isotope: F-18}}", folder.path());
  empty.send(busy_events(0, 10));
  CHECK_THROWS_WITH(empty.finish(), doctest::Contains("no singles histogram came"));
  RegisteredGadgetTest<void> brief("dead_time_writer", "{decay: {isotope: F-18}}", folder.path());
  brief.send(singles.without_arrays());
  CHECK_THROWS_WITH(brief.finish(), doctest::Contains("module 0: 1 stretches"));
}
// SPDX-License-Identifier: Apache-2.0
