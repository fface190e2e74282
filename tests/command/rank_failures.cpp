// What becomes of all processes of a run where one throws, is killed, is halted or hangs, whatever the first one does at
// that time: they end within ten seconds, for one cause, and leave nothing behind.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/command/rank_processes.hpp"

using namespace tofstream;
using namespace std::chrono_literals;

namespace {

/// So slow that there is time to disturb it.
constexpr auto* slow = "--set 'projected.fault={delay_ms: 400}'";

bool comes_to_updates(const std::filesystem::path& out) {
  for (int i = 0; i < 500; ++i) {
    const CommandResult asked = run_command("control " + out.string() + " --json");
    if (asked.code == 0 && asked.json()["status"]["books"]["reconstructed"] > 0) return true;
    std::this_thread::sleep_for(20ms);
  }
  return false;
}

/// One process of a run is sent a signal once `is_time`.
struct Disturbance {
  std::string name;
  int ranks = 2;
  std::string arguments;  // of the reconstruction
  int rank = 1, signal = SIGKILL;
  std::function<bool(const std::filesystem::path& out)> is_time = comes_to_updates;
};

struct Ended {
  std::vector<int> codes;  // of a halted process: once it goes on
  std::vector<std::string> said;
  double longest_s = 0;  // of those that were not disturbed
  bool was_time = false;
  bool has_image = false;
  std::string report;
  std::vector<std::string> left;
};

void end(Processes& processes, int disturbed, Ended& ended) {
  const auto began = std::chrono::steady_clock::now();
  ended.codes.assign(processes.size(), -1);
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (static_cast<int>(i) != disturbed) ended.codes[i] = processes[i]->wait();
  ended.longest_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (disturbed >= 0) {
    const auto which = static_cast<std::size_t>(disturbed);
    processes[which]->signal(SIGCONT);
    ended.codes[which] = processes[which]->wait();
  }
  for (const auto& process : processes) ended.said.push_back(process->err());
}

void look_at(const std::filesystem::path& out, Ended& ended) {
  ended.has_image = std::filesystem::exists(out / "image.nii.gz");
  ended.report = text_of(out / "run.json");
  ended.left = left_behind(out);
}

Ended disturbed(const std::filesystem::path& out, const Disturbance& disturbance) {
  Ended ended;
  Processes processes = started(disturbance.ranks, reconstruction(out, disturbance.arguments));
  ended.was_time = disturbance.is_time(out);
  processes[static_cast<std::size_t>(disturbance.rank)]->signal(disturbance.signal);
  end(processes, disturbance.rank, ended);
  look_at(out, ended);
  return ended;
}

/// Side by side, since most of their time is waiting.
std::vector<Ended> all_disturbed(const std::filesystem::path& folder, const std::vector<Disturbance>& disturbances) {
  ranks_recording();  // is made once
  std::vector<std::future<Ended>> running;
  for (const Disturbance& each : disturbances)
    running.push_back(std::async(std::launch::async, [&] { return disturbed(folder / each.name, each); }));
  std::vector<Ended> all;
  for (auto& each : running) all.push_back(each.get());
  return all;
}

/// Lines that are not of the log, which begin with the time of day.
int causes_in(const std::string& said) {
  std::istringstream lines(said);
  int causes = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_log = line.size() > 12 && line[2] == ':' && line[5] == ':' && line[8] == '.';
    causes += is_log ? 0 : 1;
  }
  return causes;
}

void check_ended(const Disturbance& disturbance, const Ended& ended) {
  CAPTURE(disturbance.name);
  REQUIRE_MESSAGE(ended.was_time, ended.said[0]);
  CHECK(ended.longest_s < 10);
  for (std::size_t i = 0; i < ended.codes.size(); ++i) {
    CAPTURE(i);
    const bool was_killed = static_cast<int>(i) == disturbance.rank && disturbance.signal == SIGKILL;
    CHECK(ended.codes[i] == (was_killed ? 128 + SIGKILL : 1));
  }
  CHECK_FALSE(ended.has_image);
  if (disturbance.rank == 0) {
    CHECK(ended.said[1].find("nothing was heard of the first rank") != std::string::npos);
    return;
  }
  CHECK_MESSAGE(ended.left.empty(), fmt::format("left: {}", fmt::join(ended.left, ", ")));
  const std::string rank = fmt::format("rank {}, on ", disturbance.rank);
  CHECK_MESSAGE(ended.said[0].find(rank) != std::string::npos, ended.said[0]);
  CHECK_MESSAGE(causes_in(ended.said[0]) == 1, ended.said[0]);
  CHECK(ended.report.find(rank) != std::string::npos);
  CHECK(ended.report.find("nothing was heard of it") != std::string::npos);
}

/// So long after the run has begun it is in the middle of something that takes long.
std::function<bool(const std::filesystem::path& out)> after(std::chrono::milliseconds some) {
  return [some](const std::filesystem::path& out) {
    const bool is = is_open(out);
    std::this_thread::sleep_for(some);
    return is;
  };
}

}  // namespace

TEST_CASE("an error of a rank ends all with 1, and the first names the rank, its host and the gadget") {
  const TemporaryFolder folder;
  auto processes = started(3, reconstruction(folder / "out", "--set 'projected.fault={rank: 2, throw_at: 3}'"));
  for (const int code : codes(processes)) CHECK(code == 1);
  const std::string said = processes.front()->err();
  CHECK(said.find("'projected'") != std::string::npos);
  CHECK(said.find("rank 2, on ") != std::string::npos);
  CHECK(said.find("throw_at 3") != std::string::npos);
  CHECK(processes[1]->err().empty());
  CHECK(processes[2]->err().empty());
  CHECK_FALSE(std::filesystem::exists(folder / "out" / "image.nii.gz"));
}

TEST_CASE(
    "a process that is killed or halted ends the run everywhere within ten seconds, whatever the first one does") {
  const TemporaryFolder folder;
  // A rank that is in its first pass, which does not end.
  const std::string stuck = "--set 'projected.fault={rank: 1, delay_at: 0, delay_ms: 60000}'";
  // Wide tubes of small voxels: a sensitivity that takes minutes, or one of a second or two and one batch of minutes, of
  // which nothing is asked meanwhile.
  const auto wide = [](int pairs) {
    return fmt::format(
        "--set projected.use=tor_projector --set projected.tube_width_voxels=40 --set image.size=[160,160,160] --set "
        "image.voxel_mm=[2,2,2] --set subsets.subsets=1 --set projected.sensitivity.sampled_pairs={}",
        pairs);
  };
  const std::string endless_sensitivity = wide(200'000), endless_pass = wide(1000);
  const std::vector<Disturbance> disturbances = {
      {.name = "killed", .ranks = 3, .arguments = slow, .rank = 2},
      {.name = "halted", .ranks = 3, .arguments = slow, .rank = 1, .signal = SIGSTOP},
      {.name = "first_killed", .ranks = 3, .arguments = slow, .rank = 0},
      {.name = "first_halted", .arguments = slow, .rank = 0, .signal = SIGSTOP},
      {.name = "killed_in_sensitivity", .arguments = endless_sensitivity, .is_time = after(2s)},
      {.name = "halted_in_sensitivity", .arguments = endless_sensitivity, .signal = SIGSTOP, .is_time = after(2s)},
      {.name = "killed_in_its_pass", .arguments = stuck, .is_time = after(1s)},
      {.name = "halted_in_its_pass", .arguments = stuck, .signal = SIGSTOP, .is_time = after(1s)},
      {.name = "killed_in_the_firsts_pass", .arguments = endless_pass, .is_time = after(4s)},
  };
  const auto all = all_disturbed(folder.path(), disturbances);
  for (std::size_t i = 0; i < all.size(); ++i) check_ended(disturbances[i], all[i]);
}

TEST_CASE("a rank that is killed while the first waits for data ends the run, which says so in run.json") {
  const TemporaryFolder folder;
  const auto out = folder / "out";
  auto processes = started(2, fmt::format("run live_osem --quiet --backend cpu --out {} --set feed.endpoint=tcp://"
                                          "127.0.0.1:{}",
                                          out.string(), free_port()));
  REQUIRE(is_open(out));
  std::this_thread::sleep_for(300ms);
  processes[1]->signal(SIGKILL);
  Ended ended;
  end(processes, 1, ended);
  look_at(out, ended);
  CHECK(ended.codes == std::vector{1, 128 + SIGKILL});
  CHECK(ended.longest_s < 10);
  CHECK(ended.said[0].find("rank 1, on ") != std::string::npos);
  CHECK(ended.report.find("nothing was heard of it") != std::string::npos);
}

TEST_CASE("a rank that is there and gives no sum is said to hang, whether it is a process or a thread") {
  const TemporaryFolder folder;
  const std::string hangs = "--set 'projected.fault={rank: 1, delay_at: 2, delay_ms: 60000}' ";
  auto processes = started(2, reconstruction(folder / "processes", hangs));
  RankProcess threads("", reconstruction(folder / "threads", hangs + "--ranks 2"));
  for (const char* out : {"processes", "threads"}) REQUIRE(is_open(folder / out));
  const auto began = std::chrono::steady_clock::now();
  for (const int code : codes(processes)) CHECK(code == 1);
  CHECK(threads.wait() == 1);
  CHECK(std::chrono::steady_clock::now() - began < 10s);
  for (const std::string& said : {processes.front()->err(), threads.err()}) {
    CAPTURE(said);
    CHECK(said.find("'projected'") != std::string::npos);
    CHECK(said.find("rank 1") != std::string::npos);
    CHECK(said.find("it hangs") != std::string::npos);
  }
}

TEST_CASE("ranks that are threads meet faults by rank too") {
  const TemporaryFolder folder;
  const auto run =
      run_command(reconstruction(folder / "out", "--ranks 3 --set 'projected.fault={rank: 2, throw_at: 3}'"));
  CHECK(run.code == 1);
  CHECK(run.err.find("rank 2") != std::string::npos);
  CHECK(run.err.find("throw_at 3") != std::string::npos);
  const auto wrong = run_command(reconstruction(folder / "none", "--set 'estimate.fault={rank: 2, throw_at: 3}'"));
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("has no ranks that share its work") != std::string::npos);
}

TEST_CASE("processes that are halted all together, as by a scheduler, go on and end well") {
  const TemporaryFolder folder;
  auto processes = started(3, reconstruction(folder / "out", slow));
  REQUIRE(comes_to_updates(folder / "out"));
  for (const auto& process : processes) process->signal(SIGSTOP);
  std::this_thread::sleep_for(7s);
  for (const auto& process : processes) process->signal(SIGCONT);
  for (const int code : codes(processes)) CHECK(code == 0);
}

TEST_CASE("an interrupt of all processes lets the run drain, and a second one aborts it, once for all") {
  const TemporaryFolder folder;
  for (const int interrupts : {1, 2}) {
    CAPTURE(interrupts);
    const auto out = folder / std::to_string(interrupts);
    auto processes = started(3, reconstruction(out, slow));
    REQUIRE(comes_to_updates(out));
    for (int i = 0; i < interrupts; ++i) {
      for (const auto& process : processes) process->signal(SIGINT);
      std::this_thread::sleep_for(200ms);
    }
    for (const int code : codes(processes)) CHECK(code == (interrupts == 1 ? 0 : 130));
    CHECK(std::filesystem::exists(out / "image.nii.gz") == (interrupts == 1));
    CHECK(processes[1]->err().empty());
  }
}

TEST_CASE("a rank that is slower than the others is named in the log") {
  const TemporaryFolder folder;
  auto processes = started(3, reconstruction(folder / "out",
                                             "--set subsets.iterations=4 --set 'projected.fault={rank: 2, delay_ms: "
                                             "60}'"));
  for (const int code : codes(processes)) CHECK(code == 0);
  const std::string said = processes.front()->err();
  CHECK_MESSAGE(said.find("rank 2, on ") != std::string::npos, said);
  CHECK(said.find("times as long as the median rank") != std::string::npos);
  CHECK(said.find("rank 1, on ") == std::string::npos);
}

namespace {

/// A small run with ranks, processes or threads, of which one fails, perhaps, in one of all ways.
struct RandomRun {
  enum class Way { none, throws, is_killed, hangs, is_slow, signalled, interrupted };
  Way way = Way::none;
  bool is_live = false, has_threads = false;
  int ranks = 2, rank = 0, signal = 0, interrupts = 0;
  std::chrono::milliseconds after{0};
  std::string arguments;

  std::size_t signalled_process() const { return has_threads ? 0 : static_cast<std::size_t>(rank); }
  bool has_fault() const { return way == Way::throws || way == Way::is_killed || way == Way::hangs; }
};

RandomRun random_run(unsigned seed) {
  std::mt19937 rng(seed);
  const auto up_to = [&](int n) { return std::uniform_int_distribution<int>(0, n)(rng); };
  const auto yes = [&] { return up_to(1) == 1; };
  RandomRun run;
  run.ranks = 2 + up_to(1);
  run.rank = up_to(run.ranks - 1);
  run.is_live = up_to(2) == 0;
  run.has_threads = up_to(2) == 0;
  const int subsets = 1 + up_to(3), iterations = 1 + up_to(2), batch = yes() ? 2000 : 100'000;
  constexpr int least_live_updates = 6;
  const int pass = up_to((run.is_live ? least_live_updates : subsets * iterations) - 1);
  if (!run.is_live)
    run.arguments = fmt::format(
        "--set subsets.least_events=100 --set subsets.subsets={} --set subsets.iterations={} --set "
        "events.batch_events={} ",
        subsets, iterations, batch);
  run.arguments += fmt::format("--set projected.deterministic={} --set projected.use={}", yes(),
                               yes() ? "joseph_projector" : "tor_projector");
  if (run.has_threads) run.arguments += fmt::format(" --ranks {}", run.ranks);
  if (up_to(3) == 0) run.arguments += fmt::format(" --set rank_parts={}", run.ranks + up_to(5));
  const auto fault = [&](const std::string& what) {
    run.arguments += fmt::format(" --set 'projected.fault={{rank: {}, {}}}'", run.rank, what);
  };
  constexpr int hang_ms = 60'000;
  run.way = static_cast<RandomRun::Way>(up_to(6));
  switch (run.way) {
    case RandomRun::Way::none:
      break;
    case RandomRun::Way::throws:
      fault(fmt::format("throw_at: {}", pass));
      break;
    case RandomRun::Way::is_killed:
      fault(fmt::format("kill_at: {}", pass));
      break;
    case RandomRun::Way::hangs:
      run.rank = std::max(run.rank, 1);  // the first one's gadgets are not watched
      fault(fmt::format("delay_at: {}, delay_ms: {}", pass, hang_ms));
      break;
    case RandomRun::Way::is_slow:
      fault(fmt::format("delay_ms: {}", up_to(100)));
      break;
    case RandomRun::Way::signalled:
      run.signal = yes() ? SIGKILL : SIGSTOP;
      run.after = std::chrono::milliseconds(up_to(800));
      fault(fmt::format("delay_ms: {}", up_to(100)));
      break;
    case RandomRun::Way::interrupted:
      run.interrupts = 1 + up_to(1);
      run.after = std::chrono::milliseconds(up_to(800));
      break;
  }
  return run;
}

Processes begun(const RandomRun& run, const std::filesystem::path& out) {
  const std::string arguments =
      run.is_live ? live_reconstruction(out, run.arguments) : reconstruction(out, run.arguments);
  if (!run.has_threads) return started_on_host(run.ranks, arguments);
  Processes one;
  one.push_back(std::make_unique<RankProcess>("", arguments));
  return one;
}

Ended ended_by(const RandomRun& run, const std::filesystem::path& out) {
  Ended ended;
  Processes processes = begun(run, out);
  ended.was_time = is_open(out);
  std::this_thread::sleep_for(run.after);
  if (run.signal != 0) processes[run.signalled_process()]->signal(run.signal);
  for (int i = 0; i < run.interrupts; ++i)
    for (const auto& process : processes) process->signal(SIGINT);
  end(processes, run.signal != 0 ? static_cast<int>(run.signalled_process()) : -1, ended);
  look_at(out, ended);
  return ended;
}

// One process: what kills or halts a rank is the end of all, or halts all.
void check_threads(const RandomRun& run, const Ended& ended) {
  using Way = RandomRun::Way;
  CAPTURE(ended.said[0]);
  const int code = ended.codes[0];
  const bool was_killed = run.way == Way::is_killed || run.signal == SIGKILL;
  if (code == 0) {
    CHECK_FALSE(run.has_fault());
    if (run.way != Way::interrupted) CHECK(ended.has_image);  // the interrupt may come before the first event
    return;
  }
  CHECK_FALSE(ended.has_image);
  if (run.way == Way::interrupted) {
    CHECK(code == 130);
    return;
  }
  CHECK(run.signal != SIGSTOP);  // it goes on
  CHECK(code == (was_killed ? 128 + SIGKILL : 1));
  if (was_killed) return;
  CHECK(run.has_fault());
  CHECK(causes_in(ended.said[0]) == 1);
  CHECK_MESSAGE(ended.left.empty(), fmt::format("left: {}", fmt::join(ended.left, ", ")));
  if (run.rank > 0) CHECK(ended.said[0].find(fmt::format("rank {}", run.rank)) != std::string::npos);
}

void check_one_cause(const RandomRun& run, const Ended& ended) {
  using Way = RandomRun::Way;
  if (run.has_threads) return check_threads(run, ended);
  const auto disturbed = static_cast<std::size_t>(run.rank);
  bool came_too_late = !run.has_fault();
  for (std::size_t rank = 0; rank < ended.codes.size(); ++rank)
    came_too_late = came_too_late && (ended.codes[rank] == 0 || (run.signal != 0 && rank == disturbed));
  if (came_too_late) return;
  CHECK(run.way != Way::none);
  CHECK(run.way != Way::is_slow);
  const bool was_killed = run.way == Way::is_killed || run.signal == SIGKILL;
  for (std::size_t rank = 0; rank < ended.codes.size(); ++rank) {
    CAPTURE(rank);
    CAPTURE(ended.said[rank]);
    if (run.way == Way::interrupted)
      CHECK(ended.codes[rank] == ended.codes[0]);
    else if (was_killed && rank == disturbed)
      CHECK(ended.codes[rank] == 128 + SIGKILL);
    else if (run.signal == SIGSTOP && rank == 0 && disturbed == 0)
      CHECK(ended.codes[rank] <= 1);  // 0 where it needed nobody any more
    else
      CHECK(ended.codes[rank] == 1);
  }
  if (run.way == Way::interrupted) {
    CHECK_MESSAGE(ended.codes[0] == 130, ended.said[0]);
    return;
  }
  if (ended.codes[0] != 0) CHECK_FALSE(ended.has_image);
  if (ended.codes[0] == 1) CHECK_MESSAGE(ended.left.empty(), fmt::format("left: {}", fmt::join(ended.left, ", ")));
  const bool is_firsts = run.rank == 0 && run.way != Way::throws;
  for (std::size_t rank = 0; rank < ended.codes.size(); ++rank) {
    CAPTURE(rank);
    CAPTURE(ended.said[rank]);
    const int lines = causes_in(ended.said[rank]);
    if (rank == 0 && !is_firsts) CHECK(lines == 1);
    if (rank > 0 && is_firsts) CHECK(ended.said[rank].find("nothing was heard of the first rank") != std::string::npos);
    if (rank > 0 && !is_firsts && (rank != disturbed || run.signal == 0)) CHECK(lines == 0);
  }
  if (!is_firsts && run.rank > 0)
    CHECK_MESSAGE(ended.said[0].find(fmt::format("rank {}, on ", run.rank)) != std::string::npos, ended.said[0]);
}

}  // namespace

// TOFSTREAM_RANDOM_RANK_RUNS=200 takes more of them.
TEST_CASE(
    "random runs, offline and live, with ranks that throw, are killed, halted, interrupted or hang end within 20 s, "
    "for one cause") {
  const TemporaryFolder folder;
  ranks_recording();
  const char* wanted = std::getenv("TOFSTREAM_RANDOM_RANK_RUNS");
  const unsigned all = wanted ? static_cast<unsigned>(std::atoi(wanted)) : 24, side_by_side = 8;
  for (unsigned first = 0; first < all; first += side_by_side) {
    std::vector<RandomRun> runs;
    std::vector<std::future<Ended>> running;
    for (unsigned seed = first; seed < std::min(all, first + side_by_side); ++seed) {
      runs.push_back(random_run(seed));
      running.push_back(std::async(
          std::launch::async, [run = runs.back(), out = folder / std::to_string(seed)] { return ended_by(run, out); }));
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const unsigned seed = first + static_cast<unsigned>(i);
      CAPTURE(seed);
      CAPTURE(runs[i].arguments);
      CAPTURE(static_cast<int>(runs[i].way));
      const Ended ended = running[i].get();
      CHECK(ended.was_time);
      for (const int code : ended.codes) CHECK(code >= 0);  // within 20 s
      check_one_cause(runs[i], ended);
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
