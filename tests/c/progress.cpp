// How far a run is, told to its program.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tools/c/tofstream.h"

using namespace tofstream;

namespace {

using Clock = std::chrono::steady_clock;

// A simulated scan, which ends by itself.
constexpr const char* three_iterations = R"(
scanner: demo_ring
image: {size: [20, 20, 8], voxel_mm: 16}
backend: cpu
gadgets:
  photons:   {use: simulator, phantom: uniform_cylinder, events: 3000}
  subsets:   {use: subset_builder, from: photons, subsets: 2, iterations: 3}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate}, sensitivity: {cache: false, exact_pairs: 0, sampled_pairs: 50000}}
  estimate:  {use: osem_update, from: projected}
  file:      {use: nifti_writer, from: estimate}
)";

// A scan that never comes.
constexpr const char* waits_for_data = R"(
gadgets:
  feed: {use: zmq_source, endpoint: "tcp://127.0.0.1:5999"}
  end:  {use: null_sink, from: feed.events}
)";

struct Told {
  tof_progress at{};
  std::string text;
  Clock::time_point when;
};

// Notes what it is told, and does `then`.
struct Listener {
  std::mutex mutex;
  std::vector<Told> told;
  std::set<std::thread::id> threads;
  std::atomic<int> at_once = 0, most_at_once = 0, calls = 0;
  std::function<void(const tof_progress&)> then = [](const tof_progress&) {};

  static void call(void* user, const tof_progress* progress) {
    auto& self = *static_cast<Listener*>(user);
    const int now = ++self.at_once;
    self.most_at_once = std::max(self.most_at_once.load(), now);
    ++self.calls;
    {
      const std::lock_guard lock(self.mutex);
      self.told.push_back({*progress, progress->text, Clock::now()});
      self.threads.insert(std::this_thread::get_id());
    }
    const struct Leaving {
      std::atomic<int>& at_once;
      ~Leaving() { --at_once; }
    } leaving{self.at_once};
    self.then(*progress);
  }
};

struct ToldRun {
  TemporaryFolder folder;
  Listener listener;
  tof_pipeline_setup setup{.size = sizeof(tof_pipeline_setup)};
  tof_pipeline* run = nullptr;

  explicit ToldRun(const char* text) : pipeline_((folder / "pipeline.yaml").string()), out_((folder / "out").string()) {
    std::ofstream(pipeline_) << text;
    setup.pipeline = pipeline_.c_str();
    setup.folder = out_.c_str();
    setup.progress = &Listener::call;
    setup.progress_user = &listener;
    setup.progress_every_s = 0.01;
  }
  ~ToldRun() { tof_pipeline_drop(run); }
  tof_status start() { return tof_pipeline_start(&setup, &run); }
  tof_status wait() {
    std::int32_t is_over = 0;
    const tof_status status = tof_pipeline_wait(run, 60, &is_over);
    CHECK(is_over == 1);
    return status;
  }
  const std::string& out() const { return out_; }

 private:
  std::string pipeline_, out_;
};

// False where it does not come true within a minute.
template <class Condition>
bool becomes(Condition&& condition) {
  for (int k = 0; k < 6000; ++k) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE("a run tells its program how far it is: one call at a time, on one thread, the last when it is over") {
  ToldRun run(three_iterations);
  REQUIRE_MESSAGE(run.start() == TOF_OK, std::string(tof_error()));
  REQUIRE_MESSAGE(run.wait() == TOF_OK, std::string(tof_error()));
  Listener& listener = run.listener;
  REQUIRE(becomes([&] {
    const std::lock_guard lock(listener.mutex);
    return !listener.told.empty() && listener.told.back().at.phase == TOF_OVER;
  }));
  tof_pipeline_drop(run.run);
  const auto& told = listener.told;
  const Told& last = told.back();
  CHECK(listener.threads.size() == 1);
  CHECK(*listener.threads.begin() != std::this_thread::get_id());
  CHECK(listener.most_at_once == 1);
  CHECK(last.at.size == sizeof(tof_progress));
  CHECK(last.at.events == 3000);
  CHECK(last.at.messages > 0);
  CHECK(last.at.update == 6);
  CHECK(last.at.updates == 6);
  CHECK(last.at.fraction == 1);
  CHECK(last.at.scan_seconds > 0);  // what the simulator says
  CHECK(last.at.seconds > 0);
  CHECK_MESSAGE(last.text.find("projected: 6 of 6 updates") != std::string::npos, last.text);
  for (std::size_t k = 0; k + 1 < told.size(); ++k) {
    CHECK(told[k].at.phase != TOF_OVER);
    CHECK(told[k].at.events <= told[k + 1].at.events);
    CHECK(told[k].at.messages <= told[k + 1].at.messages);
    CHECK(told[k].at.update <= told[k + 1].at.update);
    if (k > 0) CHECK(told[k].when - told[k - 1].when >= std::chrono::milliseconds(9));
  }
}

TEST_CASE("a run that waits for its program says so, and how much has come") {
  ToldRun run(waits_for_data);
  run.setup.feed = "feed";
  REQUIRE_MESSAGE(run.start() == TOF_OK, std::string(tof_error()));
  const auto is_told = [&](auto&& fits) {
    return becomes([&] {
      const std::lock_guard lock(run.listener.mutex);
      return std::ranges::any_of(run.listener.told, fits);
    });
  };
  CHECK(is_told([](const Told& told) {
    return told.at.phase == TOF_WAITING && told.at.fraction == -1 &&
           told.text.starts_with("feed: waiting for the program that is to send");
  }));
  const std::vector<float> here(100, -100), there(100, 100), zero(100, 0);
  const tof_events events{.size = sizeof(tof_events),
                          .count = 100,
                          .x1 = here.data(),
                          .y1 = zero.data(),
                          .z1 = zero.data(),
                          .x2 = there.data(),
                          .y2 = zero.data(),
                          .z2 = zero.data()};
  REQUIRE(tof_pipeline_send_events(run.run, &events, 0, 2) == TOF_OK);
  REQUIRE(tof_pipeline_send_events(run.run, &events, 2, 1.5) == TOF_OK);
  CHECK(is_told([](const Told& told) {
    return told.at.phase == TOF_RUNNING && told.at.events == 200 && told.at.scan_seconds == approx(3.5);
  }));
  (void)tof_pipeline_stop(run.run);
  (void)run.wait();
}

TEST_CASE("a run does not wait for a long call; a drop does, and no call comes after it") {
  ToldRun run(three_iterations);
  std::atomic<bool> may_return = false;
  run.listener.then = [&](const tof_progress&) {
    while (!may_return) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  REQUIRE_MESSAGE(run.start() == TOF_OK, std::string(tof_error()));
  CHECK_MESSAGE(run.wait() == TOF_OK, std::string(tof_error()));
  REQUIRE(becomes([&] { return run.listener.at_once == 1; }));
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    may_return = true;
  });
  tof_pipeline_drop(run.run);
  CHECK(may_return);
  CHECK(run.listener.at_once == 0);
  const int calls = run.listener.calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(run.listener.calls == calls);
  release.join();
}

TEST_CASE("an exception of a call is logged and ends the calls, not the run") {
  static std::mutex mutex;
  std::string heard;
  const auto hear = [](void* user, std::int32_t, const char* line) {
    const std::lock_guard lock(mutex);
    *static_cast<std::string*>(user) += line;
  };
  REQUIRE(tof_log(hear, &heard, "error") == TOF_OK);
  {
    ToldRun run(three_iterations);
    run.listener.then = [](const tof_progress&) { throw std::runtime_error("mine"); };
    REQUIRE_MESSAGE(run.start() == TOF_OK, std::string(tof_error()));
    CHECK_MESSAGE(run.wait() == TOF_OK, std::string(tof_error()));
    CHECK(becomes([&] {
      const std::lock_guard lock(mutex);
      return heard.find("an exception left the call that is told the run's progress") != std::string::npos;
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(run.listener.calls == 1);
  }
  REQUIRE(tof_log(nullptr, nullptr, "warning") == TOF_OK);
}

TEST_CASE("a call may ask its run, stop it, and drop it") {
  ToldRun asking(waits_for_data);
  asking.setup.feed = "feed";
  std::atomic<int> answered = -1;
  std::atomic<tof_pipeline*> handle = nullptr;
  asking.listener.then = [&](const tof_progress& at) {
    if (!handle || at.phase != TOF_WAITING) return;
    char* report = nullptr;
    answered = tof_pipeline_report(handle, &report);
    tof_free(report);
    (void)tof_pipeline_stop(handle);
  };
  REQUIRE_MESSAGE(asking.start() == TOF_OK, std::string(tof_error()));
  handle = asking.run;
  CHECK_MESSAGE(asking.wait() == TOF_OK, std::string(tof_error()));
  CHECK(answered == TOF_OK);

  ToldRun dropping(waits_for_data);
  dropping.setup.feed = "feed";
  std::atomic<tof_pipeline*> dropped = nullptr;
  dropping.listener.then = [&](const tof_progress&) { tof_pipeline_drop(dropped); };
  REQUIRE_MESSAGE(dropping.start() == TOF_OK, std::string(tof_error()));
  dropped = dropping.run;
  std::int32_t is_over = 0;
  CHECK(becomes([&] { return tof_pipeline_wait(dropping.run, 0, &is_over) == TOF_INVALID; }));
  CHECK(std::string(tof_error()) == "run is no handle of this library, or was dropped before");
  CHECK(becomes([&] { return text_of(dropping.out() + "/run.json").find("\"aborted\": true") != std::string::npos; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const int calls = dropping.listener.calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(dropping.listener.calls == calls);
}

TEST_CASE("a set-up of the header before progress is taken, and a time that cannot be is refused") {
  ToldRun before(three_iterations);
  before.setup.size = offsetof(tof_pipeline_setup, progress);
  REQUIRE_MESSAGE(before.start() == TOF_OK, std::string(tof_error()));
  CHECK_MESSAGE(before.wait() == TOF_OK, std::string(tof_error()));
  CHECK(before.listener.calls == 0);
  ToldRun wrong(three_iterations);
  for (const double every_s : {-1.0, 0.009, std::numeric_limits<double>::quiet_NaN()}) {
    wrong.setup.progress_every_s = every_s;
    CHECK(wrong.start() == TOF_INVALID);
    CHECK(std::string(tof_error()).starts_with("setup.progress_every_s is "));
    CHECK(std::string(tof_error()).ends_with(": it must be at least 0.01, or 0"));
  }
  CHECK(wrong.run == nullptr);
}
// SPDX-License-Identifier: Apache-2.0
