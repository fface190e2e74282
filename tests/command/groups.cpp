// Frames and gates that groups of processes share, as a user runs them.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "kernels/memory/devices.hpp"
#include "tests/command/background_run.hpp"
#include "tests/command/command.hpp"
#include "tests/command/rank_processes.hpp"
#include "tests/command/recording.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

constexpr int scan_events = 60000;

std::filesystem::path scan_of_groups() {
  return cylinder_recording(scan_events);
}

double scan_s() {
  static const double seconds = [] {
    const auto inspected = run_command("inspect --json " + scan_of_groups().string());
    REQUIRE(inspected.code == 0);
    return 1e-3 * inspected.json()["duration_ms"].get<double>();
  }();
  return seconds;
}

std::string arguments_of_scan(const std::string& pipeline, int batch_events) {
  return fmt::format(
      "{} --backend cpu --set image.size=[20,20,10] --set image.voxel_mm=[12,12,12] --set events.batch_events={} "
      "--set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 --set "
      "projected.sensitivity.sampled_pairs=100000 --set subsets.subsets=2 --set subsets.least_events=100 --set "
      "subsets.iterations=2 --set projected.deterministic=true --input {}",
      pipeline, batch_events, scan_of_groups().string());
}

std::string arguments_of_frames() {
  const double s = scan_s();
  return arguments_of_scan("dynamic_osem", 1000) +
         fmt::format(" --set 'subsets.frames=[2x{:g}, {:g}, {:g}]'", s / 8, s / 4, s / 2);
}

CommandResult run_frames(const std::filesystem::path& folder, const std::string& more) {
  return run_command("run " + arguments_of_frames() + " --quiet --out " + folder.string() + " " + more);
}

nlohmann::json report_in(const std::filesystem::path& folder) {
  return nlohmann::json::parse(text_of(folder / "run.json"));
}

std::vector<float> voxels_of(const std::filesystem::path& folder) {
  std::vector<float> all;
  for (const Image& image : read_nifti_volumes(folder / "image.nii.gz")) {
    const auto voxels = image.voxels.to_vector();
    all.insert(all.end(), voxels.begin(), voxels.end());
  }
  return all;
}

void check_same(const std::filesystem::path& folder, const std::filesystem::path& one) {
  CHECK(voxels_of(folder) == voxels_of(one));
  CHECK(report_in(folder)["books"] == report_in(one)["books"]);
  CHECK(text_of(folder / "image.json") == text_of(one / "image.json"));
}

/// What is left of groups: their folder, and processes that work in it.
void check_nothing_left(const std::filesystem::path& folder) {
  CHECK_FALSE(std::filesystem::exists(folder / ".groups"));
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    CHECK(text_of(entry.path() / "cmdline").find(folder.string()) == std::string::npos);
}

double sum_of_groups(const std::filesystem::path& folder, std::size_t groups) {
  const auto made = report_in(folder)["gadgets"]["subsets"]["figures"]["images_of_groups"];
  CHECK(made.size() == groups);
  double sum = 0;
  for (const double of_group : made) sum += of_group;
  return sum;
}

}  // namespace

TEST_CASE("frames that groups share have the files, the images and the books of one process, bit for bit") {
  const TemporaryFolder folder;
  const auto one = run_frames(folder / "one", "");
  REQUIRE_MESSAGE(one.code == 0, one.err);
  CHECK(report_in(folder / "one")["books"]["received"] == scan_events);
  for (const std::size_t groups : {2u, 3u}) {
    CAPTURE(groups);
    const auto out = folder / fmt::format("{}", groups);
    const auto run = run_frames(out, fmt::format("--groups {}", groups));
    REQUIRE_MESSAGE(run.code == 0, run.err);
    check_same(out, folder / "one");
    CHECK(sum_of_groups(out, groups) == 4);
    for (int frame = 1; frame <= 4; ++frame)
      CHECK(text_of(frame_checkpoint(out, frame)) == text_of(frame_checkpoint(folder / "one", frame)));
    CHECK(run.err.find("projected: sensitivity from") != std::string::npos);  // a group has said it
    check_nothing_left(out);
  }
}

TEST_CASE("groups with a GPU each have the images and books of one process on a GPU, whoever started them") {
  if (!gpu_or_skip()) return;
  if (cuda_devices() < 2) return skip_test("second GPU", "TOFSTREAM_REQUIRE_GPUS");
  const TemporaryFolder folder;
  const auto on_gpus = [&](const char* name, const std::string& more) {
    std::string arguments = arguments_of_frames() + " --quiet --out " + (folder / name).string() + more;
    const std::string cpu = "--backend cpu";
    return arguments.replace(arguments.find(cpu), cpu.size(), "--backend cuda");
  };
  const auto one = run_command("run " + on_gpus("one", ""));
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const auto own = run_command("run " + on_gpus("own", " --groups 2"));
  REQUIRE_MESSAGE(own.code == 0, own.err);
  auto launched = started(3, "run " + on_gpus("launched", " --groups 2"));
  for (auto& process : launched) CHECK_MESSAGE(process->wait() == 0, process->err());
  for (const char* name : {"own", "launched"}) {
    CAPTURE(name);
    check_same(folder / name, folder / "one");
    CHECK(sum_of_groups(folder / name, 2) == 4);
    check_nothing_left(folder / name);
  }
  const auto refused = run_command("run " + on_gpus("many", fmt::format(" --groups {}", cuda_devices() + 1)));
  CHECK(refused.code == 2);
}

TEST_CASE("frames by events and gates are shared too, with the images and books of one process") {
  const TemporaryFolder folder;
  std::ofstream belt(folder / "belt.csv");
  belt << "time_s,value\n";
  for (int i = 0; i <= 200; ++i)
    belt << fmt::format("{:.7f},{:.6f}\n", scan_s() * i / 200, std::sin(2 * std::numbers::pi * i / 20));
  belt.close();
  const std::string gates =
      arguments_of_scan("gated_osem", 200) +
      " --set subsets.gates=3 --set subsets.signal=table --set subsets.file=" + (folder / "belt.csv").string();
  const std::string frames =
      arguments_of_scan("dynamic_osem", 1000) + " --set 'subsets.frames=[]' --set subsets.frames_of_events=25000";
  for (const std::string& arguments : {gates, frames}) {
    CAPTURE(arguments);
    for (const char* groups : {"1", "2"}) {
      const auto run = run_command(fmt::format("run {} --quiet --overwrite --groups {} --out {}", arguments, groups,
                                               (folder / groups).string()));
      REQUIRE_MESSAGE(run.code == 0, run.err);
    }
    check_same(folder / "2", folder / "1");
    CHECK(sum_of_groups(folder / "2", 2) == 3);
  }
}

TEST_CASE("a group that throws or is killed ends the run with one cause, and nothing is left of it") {
  const TemporaryFolder folder;
  for (const auto& [fault, cause] : {std::pair("throw_at: 1", "gadget 'projected' at message 1: fault: throw_at 1"),
                                     std::pair("kill_at: 1", "it was killed by signal 9")}) {
    CAPTURE(fault);
    const auto out = folder / "out";
    const auto began = std::chrono::steady_clock::now();
    const auto run =
        run_frames(out, fmt::format("--overwrite --groups 2 --set 'projected.fault={{rank: 2, {}}}'", fault));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
    CHECK(run.code == 1);
    CHECK(run.err.find("group 2, on ") != std::string::npos);
    CHECK_MESSAGE(run.err.find(cause) != std::string::npos, run.err);
    CHECK(report_in(out)["errors"].size() == 1);
    CHECK_FALSE(std::filesystem::exists(out / "image.nii.gz"));
    check_nothing_left(out);
  }
}

TEST_CASE("an interrupt ends a run of groups as that of one process, and a second one aborts it") {
  for (const int interrupts : {1, 2}) {
    CAPTURE(interrupts);
    BackgroundRun run(arguments_of_frames() +
                      " --groups 2 --set 'projected.fault={rank: 1, delay_at: 1, delay_ms: 60000}'" +
                      (interrupts == 2 ? " --set 'estimate.fault={delay_ms: 60000}'" : ""));
    run.wait_for_events();
    run.signal(SIGINT);
    REQUIRE(run.says("stopping", std::chrono::seconds(5)));
    if (interrupts == 2) run.signal(SIGINT);
    CHECK(run.wait() == (interrupts == 1 ? 0 : 130));
    if (interrupts == 1) {
      CHECK(run.json()["books"]["balanced"] == true);
      CHECK(std::filesystem::exists(run.out / "image.nii.gz"));
    }
    check_nothing_left(run.out);
  }
}

TEST_CASE("a run of groups that was killed goes on with another number of them, to the images of one process") {
  const TemporaryFolder folder;
  const auto one = run_frames(folder / "one", "");
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const auto out = folder / "killed";
  const auto killed = run_frames(out, "--groups 2 --set 'checkpoint.fault={kill_at: 2}'");
  CHECK(killed.code == 128 + SIGKILL);
  const auto resumed = run_frames(out, "--groups 3 --set resume_from=" + out.string());
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  check_same(out, folder / "one");
  CHECK(report_in(out)["gadgets"]["subsets"]["figures"]["frames_recalled"] >= 1);
  check_nothing_left(out);
  // As an interrupt leaves it, which lets frames be complete before one that is not.
  std::filesystem::remove(frame_checkpoint(out, 2));
  std::filesystem::remove(out / "run.json");
  const auto with_a_gap = run_frames(out, "--groups 2 --set resume_from=" + out.string());
  REQUIRE_MESSAGE(with_a_gap.code == 0, with_a_gap.err);
  check_same(out, folder / "one");
}

TEST_CASE("what groups cannot share is refused before data flow, in one line with a remedy") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& command, const std::string& why) {
    CAPTURE(command);
    const auto run = run_command(command);
    CHECK(run.code == 2);
    CHECK_MESSAGE(run.err.find(why) != std::string::npos, run.err);
    CHECK(std::ranges::count(run.err, '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  };
  const std::string run = "run " + arguments_of_frames() + " --quiet --groups 2 --out " + (folder / "out").string();
  refused(run + " --set subsets.start=previous", "take start: start_image, or leave groups out");
  refused(run + " --set file.every=iteration", "take every: final");
  refused("check dynamic_osem --input - --groups 2", "write it to a file");
  refused("check " + arguments_of_frames() + " --groups 5", "5 groups are more than the 4 frames: write groups: 4");
  refused("check live_dynamic --groups 2", "zmq_source gives only once: reconstruct a recording");
  refused("check direct_patlak --groups 2", "are one image: leave groups out");
  refused("check motion_compensated --groups 2", "leave groups out (ranks share it)");
  refused("check listmode_osem --groups 2", "this pipeline makes one image");
  refused("check dynamic_osem --groups 3 --groups 2", "--groups");
  refused("check dynamic_osem --ranks 3 --ranks 2", "--ranks");
  CHECK(run_command("check dynamic_osem --groups 3").code == 0);
}

namespace {

const std::filesystem::path& frames_of_one() {
  static const TemporaryFolder folder;
  static const std::filesystem::path out = folder / "one";
  if (!std::filesystem::exists(out)) {
    const auto run = run_frames(out, "");
    REQUIRE_MESSAGE(run.code == 0, run.err);
  }
  return out;
}

std::string run_of_groups(const std::filesystem::path& out, int groups, const std::string& more = "") {
  return fmt::format("run {} --quiet --groups {} --out {} {}", arguments_of_frames(), groups, out.string(), more);
}

/// Group 1 is so slow that there is time to disturb it.
constexpr auto* slow_group = "--set 'projected.fault={rank: 1, delay_at: 1, delay_ms: 60000}'";

bool has_claims(const std::filesystem::path& out) {
  for (int i = 0; i < 500; ++i) {
    std::error_code none;
    for (const auto& folder : std::filesystem::directory_iterator(out / ".groups", none))
      if (std::filesystem::is_symlink(folder.path() / "claim_0002")) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

/// The process of a group of a run in `out` that another process has started.
pid_t process_of_group(const std::filesystem::path& out, int group) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (text_of(entry.path() / "cmdline").find(out.string()) != std::string::npos &&
        text_of(entry.path() / "environ").find(fmt::format("TOFSTREAM_GROUP={}/", group)) != std::string::npos)
      return std::stoi(entry.path().filename());
  return -1;
}

}  // namespace

TEST_CASE("groups that a launcher or a user has started have the images and books of one process, bit for bit") {
  const TemporaryFolder folder;
  auto by_hand = started(4, run_of_groups(folder / "hand", 3));
  for (auto& process : by_hand) CHECK_MESSAGE(process->wait() == 0, process->err());
  for (std::size_t group = 1; group < by_hand.size(); ++group) CHECK(by_hand[group]->err().empty());
  CHECK(by_hand[0]->err().find("projected: sensitivity from") != std::string::npos);  // a group has said it
  check_same(folder / "hand", frames_of_one());
  CHECK(sum_of_groups(folder / "hand", 3) == 4);
  for (int frame = 1; frame <= 4; ++frame)
    CHECK(text_of(frame_checkpoint(folder / "hand", frame)) == text_of(frame_checkpoint(frames_of_one(), frame)));
  check_nothing_left(folder / "hand");
  if (run_line("mpirun --version").code != 0) return skip_test("mpirun");
  const auto run = run_line("timeout 60 mpirun --allow-run-as-root --oversubscribe -n 3 " + program().string() + " " +
                            run_of_groups(folder / "mpirun", 2));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  check_same(folder / "mpirun", frames_of_one());
  CHECK(sum_of_groups(folder / "mpirun", 2) == 4);
  check_nothing_left(folder / "mpirun");
}

TEST_CASE(
    "processes that cannot be the groups of a run begin none: the first says why in a line, and all exit with 2") {
  const TemporaryFolder folder;
  const auto refused = [&](Processes processes, const std::string& why) {
    for (const int code : codes(processes)) CHECK(code == 2);
    for (std::size_t rank = 1; rank < processes.size(); ++rank) CHECK(processes[rank]->err().empty());
    const std::string said = processes.front()->err();
    CHECK_MESSAGE(said.find(why) != std::string::npos, said);
    CHECK(said.find("group 1, on ") == std::string::npos);
    CHECK(std::ranges::count(said, '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  };
  const auto out = folder / "out";
  refused(started(3, run_of_groups(out, 3)), "and 3 were started: start 4 (mpirun -n 4, srun -n 4, --rank 0/4)");
  refused(started(3, run_of_groups(out, 2), "--set subsets.iterations=3"), "was started with another pipeline");
  refused(started(3, run_of_groups(out, 2, "--set subsets.start=previous")), "or leave groups out");
  refused(started(3, run_of_groups(out, 2, "--rank-images messages")), "groups have images of their own");
  std::string missing = run_of_groups(out, 2);
  const std::string scan = scan_of_groups().string();
  missing.replace(missing.find(scan), scan.size(), (folder / "none.petsird").string());
  refused(started(3, missing), "gadget 'feed': ");
  const auto twice = run_of_groups(folder / "there", 2);
  REQUIRE(run_command(twice).code == 0);
  auto again = started(3, twice);
  for (const int code : codes(again)) CHECK(code == 2);
  CHECK(again.front()->err().find("--overwrite") != std::string::npos);
}

TEST_CASE("a group that does not see the folder of the results ends the run before data flow, and says what to do") {
  if (run_line("unshare -rm true").code != 0) return skip_test("namespaces");
  const TemporaryFolder folder;
  const std::string run = run_of_groups(folder / "out", 2) + fmt::format("--join 127.0.0.1:{} --rank ", free_port());
  const std::string elsewhere =
      fmt::format("unshare -rm sh -c 'mount -t tmpfs none {} && exec \"$@\"' sh", folder.path().string());
  RankProcess first("", run + "0/3"), second("", run + "1/3"), third(elsewhere, run + "2/3");
  CHECK(first.wait() == 2);
  CHECK(second.wait() == 2);
  CHECK(third.wait() == 2);
  const std::string said = first.err();
  CHECK_MESSAGE(said.find("group 2, on ") != std::string::npos, said);
  CHECK(said.find("does not see the folder " + (folder / "out").string()) != std::string::npos);
  CHECK(said.find("name one by --out that is on a disk of all hosts") != std::string::npos);
  CHECK(second.err().empty());
  CHECK(third.err().empty());
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_CASE(
    "a group that is halted or killed is noticed, whoever has started it, and so is a first process that is gone") {
  const TemporaryFolder folder;
  const auto here = folder / "here", killed = folder / "killed", left = folder / "left";
  RankProcess own("", run_of_groups(here, 2, slow_group));
  auto launched = started(3, run_of_groups(killed, 2, slow_group)),
       alone = started_on_host(3, run_of_groups(left, 2, slow_group));
  for (const auto& out : {here, killed, left}) REQUIRE(has_claims(out));
  const pid_t halted = process_of_group(here, 1);
  REQUIRE(halted > 0);
  const auto cores_of = [&](int group) {
    const std::string status = text_of(fmt::format("/proc/{}/status", process_of_group(here, group)));
    const auto begin = status.find("Cpus_allowed_list:");
    return status.substr(begin, status.find('\n', begin) - begin);
  };
  if (std::thread::hardware_concurrency() > 1) CHECK(cores_of(1) != cores_of(2));
  ::kill(halted, SIGSTOP);
  launched[2]->signal(SIGKILL);
  alone[0]->signal(SIGKILL);
  const auto began = std::chrono::steady_clock::now();
  CHECK(own.wait() == 1);
  CHECK(codes(launched) == std::vector{1, 1, 128 + SIGKILL});
  CHECK(codes(alone) == std::vector{128 + SIGKILL, 1, 1});
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
  CHECK_MESSAGE(own.err().find("group 1, on ") != std::string::npos, own.err());
  CHECK(own.err().find("nothing was heard of it for 5 s") != std::string::npos);
  CHECK_MESSAGE(launched[0]->err().find("group 2, on ") != std::string::npos, launched[0]->err());
  CHECK(launched[0]->err().find("nothing was heard of it for 5 s") != std::string::npos);
  CHECK(launched[1]->err().empty());
  CHECK(alone[1]->err().find("nothing was heard of the first") != std::string::npos);
  for (const auto& out : {here, killed}) {
    CHECK(report_in(out)["errors"].size() == 1);
    check_nothing_left(out);
  }
}

TEST_CASE("an interrupt of launched groups is heeded by the first alone, and a second one aborts") {
  for (const int interrupts : {1, 2}) {
    CAPTURE(interrupts);
    const TemporaryFolder folder;
    const auto out = folder / "out";
    auto all = started(
        3, run_of_groups(
               out, 2, std::string(slow_group) + (interrupts == 2 ? " --set 'estimate.fault={delay_ms: 60000}'" : "")));
    REQUIRE(has_claims(out));
    for (auto& process : all) process->signal(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(interrupts == 2 ? 500 : 0));
    if (interrupts == 2) all[0]->signal(SIGINT);
    const int code = interrupts == 1 ? 0 : 130;
    CHECK(codes(all) == std::vector{code, code, code});
    if (interrupts == 1) {
      CHECK(report_in(out)["books"]["balanced"] == true);
      CHECK(std::filesystem::exists(out / "image.nii.gz"));
    }
    CHECK(all[1]->err().empty());
    check_nothing_left(out);
  }
}
// SPDX-License-Identifier: Apache-2.0
