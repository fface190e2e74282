// Pipelines beside their program: fed by it, seen by it, stopped by it.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tools/c/tofstream.h"

using namespace tofstream;

namespace {

struct DroppedRun {
  void operator()(tof_pipeline* run) const { tof_pipeline_drop(run); }
};
using RunHandle = std::unique_ptr<tof_pipeline, DroppedRun>;

struct DroppedImage {
  void operator()(tof_image* image) const { tof_image_drop(image); }
};
using ImageHandle = std::unique_ptr<tof_image, DroppedImage>;

struct DroppedOperator {
  void operator()(tof_operator* op) const { tof_operator_drop(op); }
};

constexpr tof_grid fed_grid{
    .size = sizeof(tof_grid), .voxels = {20, 20, 8}, .voxel_mm = {16, 16, 16}, .origin_mm = {-152, -152, -56}};
constexpr std::size_t fed_voxels = 20 * 20 * 8;

// One update of all events, whatever their order.
constexpr const char* one_update = R"(
image: {size: [20, 20, 8], voxel_mm: 16}
backend: cpu
gadgets:
  feed:      {use: zmq_source, endpoint: "tcp://127.0.0.1:5999"}
  subsets:   {use: subset_builder, from: feed.events, subsets: 1, iterations: 1}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate}, deterministic: true, sensitivity: {cache: false}}
  estimate:  {use: osem_update, from: projected, start_value: 1, sensitivity_floor: 0}
  file:      {use: nifti_writer, from: estimate}
)";

std::string written(const TemporaryFolder& folder, const char* text) {
  const auto path = folder / "pipeline.yaml";
  std::ofstream(path) << text;
  return path.string();
}

struct Start {
  std::string pipeline, folder;
  tof_pipeline_setup setup{.size = sizeof(tof_pipeline_setup)};
  Start(const TemporaryFolder& in, const char* text) : pipeline(written(in, text)), folder((in / "out").string()) {
    setup.pipeline = pipeline.c_str();
    setup.folder = folder.c_str();
    setup.feed = "feed";
  }
  RunHandle run() const {
    tof_pipeline* made = nullptr;
    REQUIRE_MESSAGE(tof_pipeline_start(&setup, &made) == TOF_OK, std::string(tof_error()));
    return RunHandle(made);
  }
  std::string refused() const {
    tof_pipeline* made = nullptr;
    CHECK(tof_pipeline_start(&setup, &made) == TOF_INVALID);
    CHECK(made == nullptr);
    const std::string said = tof_error();
    CHECK(said.find('\n') == std::string::npos);
    return said;
  }
};

// Pairs of crystals on opposite sides of demo_ring (256 a ring of detectors, 24 rings), without time of flight.
struct Pairs {
  std::vector<std::uint32_t> detector1, detector2;
  tof_events events{.size = sizeof(tof_events), .count = 20'000, .scanner = "demo_ring"};
  Pairs() {
    std::mt19937 random(5);
    std::uniform_int_distribution<std::uint32_t> detector(0, 6143);
    while (detector1.size() < 20'000) {
      const std::uint32_t a = detector(random), b = detector(random);
      if (a == b) continue;
      detector1.push_back(a);
      detector2.push_back(b);
    }
    events.detector1 = detector1.data();
    events.detector2 = detector2.data();
  }
};

void finish(tof_pipeline* run) {
  REQUIRE_MESSAGE(tof_pipeline_close_feed(run) == TOF_OK, std::string(tof_error()));
  std::int32_t is_over = 0;
  REQUIRE_MESSAGE(tof_pipeline_wait(run, 60, &is_over) == TOF_OK, std::string(tof_error()));
  REQUIRE(is_over == 1);
}

nlohmann::json report_of(tof_pipeline* run) {
  char* text = nullptr;
  REQUIRE(tof_pipeline_report(run, &text) == TOF_OK);
  auto report = nlohmann::json::parse(text);
  tof_free(text);
  return report;
}

}  // namespace

TEST_CASE("a program feeds a pipeline and gets its image: that of the operator, and none of its events is lost") {
  const TemporaryFolder folder;
  const Pairs pairs;
  const RunHandle run = Start(folder, one_update).run();
  for (std::int64_t first = 0; first < pairs.events.count; first += 5000) {
    tof_events part = pairs.events;
    part.count = 5000;
    part.detector1 += first;
    part.detector2 += first;
    std::int32_t has_room = 0;
    REQUIRE(tof_pipeline_room(run.get(), 10, &has_room) == TOF_OK);
    CHECK(has_room == 1);
    REQUIRE_MESSAGE(tof_pipeline_send_events(run.get(), &part, static_cast<double>(first) / 5000, 1) == TOF_OK,
                    std::string(tof_error()));
  }
  finish(run.get());
  const auto report = report_of(run.get());
  CHECK(report["books"]["received"] == 20'000);
  CHECK(report["outcome"] == "done");
  tof_image* taken = nullptr;
  REQUIRE_MESSAGE(tof_pipeline_image(run.get(), 0, &taken) == TOF_OK, std::string(tof_error()));
  REQUIRE(taken);
  const ImageHandle image(taken);
  tof_image_info info{.size = sizeof(tof_image_info)};
  REQUIRE(tof_image_get(taken, &info) == TOF_OK);
  CHECK(info.update == 1);
  CHECK(info.is_last == 1);
  CHECK(info.events == 20'000);
  CHECK(info.grid.voxels[2] == 8);
  CHECK(std::string(info.label).find("Bq") != std::string::npos);

  tof_operator* made = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_events("joseph_projector", "{deterministic: true, sensitivity: {cache: false}}",
                                         &fed_grid, &pairs.events, nullptr, 0, TOF_CPU, &made) == TOF_OK,
                  std::string(tof_error()));
  const std::unique_ptr<tof_operator, DroppedOperator> op(made);
  const std::vector<float> ones(fed_voxels, 1);
  std::vector<float> step(fed_voxels), sensitivity(fed_voxels);
  REQUIRE(tof_em_step(made, ones.data(), nullptr, nullptr, nullptr, step.data(), nullptr, nullptr) == TOF_OK);
  REQUIRE_MESSAGE(tof_sensitivity(made, nullptr, sensitivity.data(), nullptr) == TOF_OK, std::string(tof_error()));
  float most = 0;
  for (std::size_t k = 0; k < fed_voxels; ++k) most = std::max(most, info.voxels[k]);
  CHECK(most > 0);
  for (std::size_t k = 0; k < fed_voxels; ++k)  // of a scan of 4 s
    if (sensitivity[k] > 0)
      CHECK(info.voxels[k] == approx(step[k] / (4 * sensitivity[k])).epsilon(1e-5).scale(1e-3F * most));
}

TEST_CASE("a camera's views are fed likewise, and each image is newer than the one before") {
  const TemporaryFolder folder;
  Start start(folder, R"(
image: {size: [16, 16, 16], voxel_mm: 10}
backend: cpu
gadgets:
  feed:      {use: zmq_source, endpoint: "tcp://127.0.0.1:5999"}
  subsets:   {use: live_views, from: feed.views, subsets: 4, least_views: 4, iterations: 1, final: none}
  projected: {use: rotation_projector, from: {views: subsets, image: estimate}}
  estimate:  {use: osem_update, from: projected}
  smoothed:  {use: smooth, from: estimate}
  file:      {use: nifti_writer, from: smoothed}
)");
  start.setup.output = "estimate";
  const RunHandle run = start.run();
  std::vector<double> angle, radius;
  for (int v = 0; v < 16; ++v) angle.push_back(22.5 * v), radius.push_back(200);
  const tof_views plan{.size = sizeof(tof_views),
                       .views = 16,
                       .pixels = {16, 16},
                       .pixel_mm = {10, 10},
                       .angle_deg = angle.data(),
                       .radius_mm = radius.data()};
  const std::vector<float> counts(4 * 256, 3);
  std::int64_t newest = 0;
  for (std::int32_t first = 0; first < 16; first += 4) {
    const std::int32_t numbers[] = {first, first + 1, first + 2, first + 3};
    const tof_view_counts views{
        .size = sizeof(tof_view_counts), .plan = &plan, .count = 4, .numbers = numbers, .counts = counts.data()};
    REQUIRE_MESSAGE(tof_pipeline_send_views(run.get(), &views) == TOF_OK, std::string(tof_error()));
    tof_image* taken = nullptr;
    REQUIRE(tof_pipeline_image(run.get(), 30, &taken) == TOF_OK);
    REQUIRE(taken);
    const ImageHandle image(taken);
    tof_image_info info{.size = sizeof(tof_image_info)};
    REQUIRE(tof_image_get(taken, &info) == TOF_OK);
    CHECK(info.update > newest);
    newest = info.update;
  }
  tof_views other = plan;
  other.views = 15;
  const std::int32_t number = 1;
  tof_view_counts wrong{
      .size = sizeof(tof_view_counts), .plan = &other, .count = 1, .numbers = &number, .counts = counts.data()};
  CHECK(tof_pipeline_send_views(run.get(), &wrong) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "plan is another than at the first call: a run takes the views of one scan");
  wrong.plan = &plan;
  const std::int32_t beyond = 16;
  wrong.numbers = &beyond;
  CHECK(tof_pipeline_send_views(run.get(), &wrong) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "views.numbers[0] is 16, and the plan has 16 views (from 0)");
  finish(run.get());
  CHECK(report_of(run.get())["books"]["received"] == 16 * 256 * 3);
}

TEST_CASE("what a run cannot take is told before it begins, and a failure when it is waited for") {
  const TemporaryFolder folder;
  Start start(folder, one_update);
  start.setup.feed = "subsets";
  CHECK(start.refused().find("feed is 'subsets', which is no gadget of ") == 0);
  CHECK(start.refused().find("these do: feed") != std::string::npos);
  start.setup.feed = "feed";
  start.setup.output = "projected";
  CHECK(start.refused().find("output is 'projected', which is no output of ") == 0);
  CHECK(start.refused().find("these are: estimate") != std::string::npos);
  start.setup.output = nullptr;
  const char* setting = "estimate.start=2";
  start.setup.settings = &setting;
  start.setup.setting_count = 1;
  CHECK(start.refused().find("did you mean") != std::string::npos);
  start.setup.setting_count = 0;
  start.setup.size = 8;
  CHECK(start.refused().find("setup.size is 8") == 0);
  start.setup.size = sizeof(tof_pipeline_setup);

  const RunHandle run = start.run();
  const Pairs pairs;
  CHECK(tof_pipeline_send_events(run.get(), &pairs.events, 0, 0) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "duration_s is 0: it must be positive");
  const std::vector<float> negative(20'000, -1);
  tof_events wrong = pairs.events;
  wrong.additive = negative.data();
  CHECK(tof_pipeline_send_events(run.get(), &wrong, 0, 1) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "events.additive[0] is -1: it must be at least 0");
  tof_events strange = pairs.events;
  strange.scanner = nullptr;
  CHECK(tof_pipeline_send_events(run.get(), &strange, 0, 1) == TOF_INVALID);
  CHECK(tof_pipeline_set(run.get(), "estimate") == TOF_INVALID);
  CHECK(std::string(tof_error()) == "setting is 'estimate': write gadget.parameter=value");
  // Lines between points of no scanner: there is no sensitivity.
  const std::vector<float> here(10, -100), there(10, 100), zero(10, 0);
  const tof_events free{.size = sizeof(tof_events),
                        .count = 10,
                        .x1 = here.data(),
                        .y1 = zero.data(),
                        .z1 = zero.data(),
                        .x2 = there.data(),
                        .y2 = zero.data(),
                        .z2 = zero.data()};
  REQUIRE(tof_pipeline_send_events(run.get(), &free, 0, 1) == TOF_OK);
  std::int32_t is_over = 0;
  (void)tof_pipeline_close_feed(run.get());
  CHECK(tof_pipeline_wait(run.get(), 60, &is_over) == TOF_FAILED);
  CHECK(is_over == 1);
  CHECK(std::string(tof_error()).find("do not say which scanner") != std::string::npos);
  CHECK(report_of(run.get())["outcome"] == "failed");
  tof_image* none = nullptr;
  CHECK(tof_pipeline_image(run.get(), 60, &none) == TOF_OK);
  CHECK(none == nullptr);
}

TEST_CASE("a run that nobody feeds is stopped, or dropped, at once") {
  const TemporaryFolder folder, other;
  const RunHandle stopped = Start(folder, one_update).run();
  std::int32_t is_over = 1;
  CHECK(tof_pipeline_wait(stopped.get(), 0.05, &is_over) == TOF_OK);
  CHECK(is_over == 0);
  REQUIRE(tof_pipeline_stop(stopped.get()) == TOF_OK);
  CHECK_MESSAGE(tof_pipeline_wait(stopped.get(), 10, &is_over) == TOF_OK, std::string(tof_error()));
  CHECK(is_over == 1);
  const Pairs pairs;
  CHECK(tof_pipeline_send_events(stopped.get(), &pairs.events, 0, 1) == TOF_FAILED);
  const auto before = std::chrono::steady_clock::now();
  { const RunHandle dropped = Start(other, one_update).run(); }
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(10));
}

TEST_CASE("a run without a feed reads its own input, and says what it is not") {
  const TemporaryFolder folder;
  Start start(folder, R"(
scanner: demo_ring
gadgets:
  photons: {use: simulator, phantom: uniform_cylinder, events: 1000}
  end:     {use: null_sink, from: photons}
)");
  start.setup.feed = nullptr;
  const RunHandle run = start.run();
  std::int32_t is_over = 0;
  REQUIRE_MESSAGE(tof_pipeline_wait(run.get(), 60, &is_over) == TOF_OK, std::string(tof_error()));
  CHECK(report_of(run.get())["books"]["received"] == 1000);
  std::int32_t has_room = 0;
  CHECK(tof_pipeline_room(run.get(), 0, &has_room) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "the run has no feed: name a gadget that takes a live stream in setup.feed");
  CHECK(tof_pipeline_set(run.get(), "photons.events=5") == TOF_INVALID);
}
// SPDX-License-Identifier: Apache-2.0
