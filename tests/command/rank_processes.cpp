// One run of several processes, as a user starts them: by hand, by mpirun, by srun's environment. What becomes of all of
// them where one fails is in rank_failures.cpp.
#include "tests/command/rank_processes.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "gadgets/io/checkpoint.hpp"
#include "kernels/collective/nccl.hpp"
#include "kernels/memory/devices.hpp"
#include "tests/command/command.hpp"
#include "tests/io/interfile_support.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;
using namespace std::chrono_literals;

namespace {

void check_all_done(Processes& processes) {
  const auto ended = codes(processes);
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    CAPTURE(rank);
    CHECK_MESSAGE(ended[rank] == 0, processes[rank]->err());
    if (rank > 0) CHECK(processes[rank]->err().empty());
  }
}

nlohmann::json difference(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto result =
      run_command("compare --json " + (a / "image.nii.gz").string() + " " + (b / "image.nii.gz").string());
  REQUIRE_MESSAGE(result.code == 0, result.err);
  return result.json();
}

nlohmann::json report_of_ranks(const std::filesystem::path& folder) {
  return nlohmann::json::parse(text_of(folder / "run.json"));
}

/// A run of so many threads of one process, with deterministic sums.
const std::filesystem::path& by_threads() {
  static const TemporaryFolder folder;
  static const std::filesystem::path out = folder / "threads";
  if (!std::filesystem::exists(out)) {
    const auto run = run_command(reconstruction(out, "--ranks 3 --set projected.deterministic=true"));
    REQUIRE_MESSAGE(run.code == 0, run.err);
  }
  return out;
}

constexpr auto* deterministic = "--set projected.deterministic=true";

}  // namespace

TEST_CASE("processes of one run give the image and the books of threads, bit for bit where it is deterministic") {
  const TemporaryFolder folder;
  for (const int ranks : {1, 2, 3, 4}) {
    CAPTURE(ranks);
    const auto out = folder / std::to_string(ranks);
    // One alone cuts its subsets into as many parts where it is told to.
    auto processes = started(ranks, reconstruction(out, fmt::format("{} --set rank_parts=8", deterministic)));
    check_all_done(processes);
    CHECK(difference(out, by_threads())["max_abs"] == 0);
    const auto report = report_of_ranks(out);
    CHECK(report["books"] == report_of_ranks(by_threads())["books"]);
    if (ranks == 1) continue;
    const auto& figures = report["gadgets"]["projected"]["figures"];
    REQUIRE(figures["rank_devices"].size() == static_cast<std::size_t>(ranks));
    CHECK(figures["rank_devices"][1].get<std::string>().ends_with(": cpu"));
    double data = 0;
    for (const double of_rank : figures["rank_data"]) data += of_rank;
    for (const char* of_ranks : {"rank_waiting_s", "rank_reducing_s"})
      CHECK(figures[of_ranks].size() == static_cast<std::size_t>(ranks));
    CHECK(data == 2 * report["books"]["reconstructed"].get<double>());
  }
}

TEST_CASE("processes with sums as they come give the image of one within 1e-6") {
  const TemporaryFolder folder;
  const auto one = run_command(reconstruction(folder / "one"));
  REQUIRE_MESSAGE(one.code == 0, one.err);
  auto processes = started(3, reconstruction(folder / "three"));
  check_all_done(processes);
  CHECK(difference(folder / "three", folder / "one")["nrms"].get<double>() < 1e-6);
}

namespace {

/// What is in the one file of a cache.
std::string one_file_below(const std::filesystem::path& cache) {
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(cache))
    if (file.is_regular_file()) files.push_back(text_of(file.path()));
  REQUIRE(files.size() == 1);
  CHECK_FALSE(files[0].empty());
  return files[0];
}

}  // namespace

TEST_CASE("processes share a sensitivity, whose one file in the cache has the bits of one process's") {
  const TemporaryFolder folder;
  for (const std::string pairs : {"all", "drawn"}) {
    CAPTURE(pairs);
    std::string expected;
    for (const int ranks : {1, 2, 3}) {
      CAPTURE(ranks);
      const auto out = folder / fmt::format("{}_{}", pairs, ranks),
                 cache = folder / fmt::format("of_{}_{}", pairs, ranks);
      const int port = free_port();
      Processes processes;
      for (int rank = 0; rank < ranks; ++rank)
        processes.push_back(std::make_unique<RankProcess>(
            "XDG_CACHE_HOME=" + cache.string(),
            reconstruction(out, "--set projected.sensitivity.cache=true ") +
                (pairs == "all" ? "--set projected.sensitivity.exact_pairs=1000000000 --set image.size=[10,10,5] "
                                : "") +
                (ranks > 1 ? fmt::format("--join 127.0.0.1:{} --rank {}/{}", port, rank, ranks) : "--join none")));
      check_all_done(processes);
      const std::string file = one_file_below(cache);
      if (ranks == 1) expected = file;
      CHECK(file == expected);
    }
  }
}

TEST_CASE(
    "measured parts give a slow rank fewer data, whether ranks are threads or processes, and the image within 1e-6") {
  const TemporaryFolder folder;
  // Thirty subsets, so that shares change twice, of which one rank takes 50 ms longer for each.
  const std::string subsets =
      "--set subsets.iterations=10 --set deal=measured --set 'projected.fault={rank: 1, delay_ms: 50}'";
  const auto one = run_command(reconstruction(folder / "one", "--set subsets.iterations=10"));
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const auto threads = run_command(reconstruction(folder / "threads", "--ranks 3 " + subsets));
  REQUIRE_MESSAGE(threads.code == 0, threads.err);
  auto processes = started(3, reconstruction(folder / "processes", subsets));
  check_all_done(processes);
  for (const std::string ranks : {"threads", "processes"}) {
    CAPTURE(ranks);
    CHECK(difference(folder / ranks, folder / "one")["nrms"].get<double>() < 1e-6);
    const auto report = report_of_ranks(folder / ranks);
    CHECK(report["books"] == report_of_ranks(folder / "one")["books"]);
    const auto& figures = report["gadgets"]["projected"]["figures"];
    REQUIRE(figures.contains("rank_shares"));
    const auto data = figures["rank_data"].get<std::vector<double>>();
    const auto shares = figures["rank_shares"].get<std::vector<double>>();
    REQUIRE(data.size() == 3);
    CHECK(data[1] < 0.8 * data[0]);
    CHECK(data[1] < 0.8 * data[2]);
    CHECK(data[0] + data[1] + data[2] == 10 * report["books"]["reconstructed"].get<double>());
    CHECK(shares[1] < 0.2);
    CHECK(figures["rank_shares_changed"].get<int>() >= 1);
  }
}

TEST_CASE("bins that join several lines are projected by processes too, line by line, with the bits of one") {
  const TemporaryFolder folder;
  auto header = interfile::testing::small_projections(folder.path(), 5, 64);
  header.views /= 4;
  std::vector<float> counts(static_cast<std::size_t>(header.numbers_in_file()));
  for (std::size_t bin = 0; bin < counts.size(); ++bin) counts[bin] = static_cast<float>(bin % 5);
  interfile::testing::write_projections(header, counts);
  const auto arguments = [&](const std::string& out) {
    return fmt::format(
        "run sinogram_osem --quiet --backend cpu --set feed.spread=true --set image.size=[28,28,5] --set "
        "image.voxel_mm=[4,4,4] --set subsets.subsets=2 --set subsets.iterations=2 --set "
        "projected.sensitivity.cache=false --set projected.deterministic=true --set rank_parts=8 --input {} --out {}",
        header.file.string(), (folder / out).string());
  };
  const auto one = run_command(arguments("one"));
  REQUIRE_MESSAGE(one.code == 0, one.err);
  auto processes = started(3, arguments("three"));
  check_all_done(processes);
  CHECK(difference(folder / "three", folder / "one")["max_abs"] == 0);
  CHECK(report_of_ranks(folder / "three")["books"] == report_of_ranks(folder / "one")["books"]);
}

TEST_CASE("mpirun starts the ranks of a run") {
  if (run_line("mpirun --version").code != 0) return skip_test("mpirun");
  const TemporaryFolder folder;
  const auto run = run_line("timeout 60 mpirun --allow-run-as-root --oversubscribe -n 3 " + program().string() + " " +
                            reconstruction(folder / "out", deterministic));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(report_of_ranks(folder / "out")["gadgets"]["projected"]["figures"]["rank_devices"].size() == 3);
  CHECK(difference(folder / "out", by_threads())["max_abs"] == 0);
}

TEST_CASE("tasks of a step of Slurm's are the ranks of a run") {
  const TemporaryFolder folder;
  Processes tasks;
  for (int rank = 0; rank < 3; ++rank)
    tasks.push_back(std::make_unique<RankProcess>(
        fmt::format("SLURM_PROCID={} SLURM_STEP_NUM_TASKS=3 SLURM_NTASKS=3 SLURM_JOB_ID={} SLURM_STEP_ID=0 "
                    "SLURM_STEP_NUM_NODES=1 SLURM_STEP_NODELIST=localhost",
                    rank, ::getpid()),
        reconstruction(folder / "out", deterministic)));
  check_all_done(tasks);
  CHECK(difference(folder / "out", by_threads())["max_abs"] == 0);
}

TEST_CASE("ranks with keys come together, and one without the key does not") {
  const TemporaryFolder folder;
  REQUIRE(run_command("keys new job -o " + folder.path().string()).code == 0);
  const std::string keys = fmt::format(
      "--key {0}/job.secret.yaml --server-key {0}/job.public.yaml --allowed-keys "
      "{0}/job.public.yaml",
      folder.path().string());
  auto processes = started(2, reconstruction(folder / "out", deterministic) + " " + keys);
  check_all_done(processes);
  CHECK(difference(folder / "out", by_threads())["max_abs"] == 0);
  const int port = free_port();
  RankProcess first("", fmt::format("{} {} --join 127.0.0.1:{} --rank 0/2 --join-timeout 2",
                                    reconstruction(folder / "none"), keys, port));
  RankProcess other(
      "", fmt::format("{} --join 127.0.0.1:{} --rank 1/2 --join-timeout 2", reconstruction(folder / "none"), port));
  CHECK(first.wait() == 2);
  CHECK(other.wait() == 2);
  CHECK(first.err().find("rank 1 of 2 did not come") != std::string::npos);
}

TEST_CASE("what cannot be one run begins none: the first rank says why in a line, and all exit with 2") {
  const TemporaryFolder folder;
  const auto refused = [&](Processes processes) {
    for (const int code : codes(processes)) CHECK(code == 2);
    for (std::size_t rank = 1; rank < processes.size(); ++rank) CHECK(processes[rank]->err().empty());
    CHECK_FALSE(std::filesystem::exists(folder / "none" / "run.json"));
    const std::string said = processes.front()->err();
    CHECK(std::count(said.begin(), said.end(), '\n') == 1);
    return said;
  };
  const std::string run = reconstruction(folder / "none");
  CHECK(refused(started(2, run, "--set subsets.iterations=3")).find("another pipeline") != std::string::npos);
  CHECK(refused(started(2, run, "--set subsets.iterations=oops")).find("rank 1, on ") != std::string::npos);
  CHECK(refused(started(3, run + " --ranks 2")).find("contradicts the 3 processes") != std::string::npos);
  const int port = free_port();
  const auto joins = [&](const std::string& rank) {
    return std::make_unique<RankProcess>(
        "", fmt::format("{} --join 127.0.0.1:{} --rank {} --join-timeout 2", run, port, rank));
  };
  Processes twice;
  twice.push_back(joins("0/3"));
  twice.push_back(joins("1/3"));
  twice.push_back(joins("1/3"));
  CHECK(refused(std::move(twice)).find("two processes say that they are rank 1") != std::string::npos);
  Processes alone;
  alone.push_back(joins("0/3"));
  CHECK(refused(std::move(alone)).find("ranks 1, 2 of 3 did not come") != std::string::npos);
}

TEST_CASE("a port that is taken, and options that contradict each other, are said at once") {
  const TemporaryFolder folder;
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(taken, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(::listen(taken, 1) == 0);
  socklen_t size = sizeof(address);
  ::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size);
  const auto said = [&](const std::string& more, const std::string& environment = "") {
    RankProcess process(environment, reconstruction(folder / "none", more));
    CHECK(process.wait(5s) == 2);
    return process.err();
  };
  CHECK(said(fmt::format("--join 127.0.0.1:{} --rank 0/2", ntohs(address.sin_port))).find("name another port") !=
        std::string::npos);
  ::close(taken);
  CHECK(said("--rank 1/2").find("needs --join HOST:PORT") != std::string::npos);
  CHECK(said("--join 127.0.0.1:5000").find("--join needs --rank") != std::string::npos);
  CHECK(said("--join 127.0.0.1:5000 --rank 0of2").find("write --rank 1/3") != std::string::npos);
  CHECK(said("--join example.org:5000 --rank 0/2").find("needs keys") != std::string::npos);
  CHECK(said("", "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=many").find("contradicts itself") != std::string::npos);
  CHECK(said("", "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=2").find("write --join") !=
        std::string::npos);
}

TEST_CASE("a run of three processes that was killed goes on with two, and ends with the image of one") {
  const TemporaryFolder folder;
  const auto live = [&](const std::filesystem::path& out, const std::string& more) {
    std::filesystem::create_directories(out);
    const auto file = out / "live.yaml";
    std::ofstream(file) << "backend: cpu\nimage: {size: [16, 16, 8], voxel_mm: [16, 16, 18]}\nrank_parts: 8\ngadgets:\n"
                        << "  feed: {use: file_source, path: " << ranks_recording().string() << ", chunk_kib: 7}\n"
                        << R"(  events: {use: petsird_decoder, from: feed, batch_events: 1500}
  subsets: {use: live_subsets, from: events, events: 4000, iterations: 1}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate}, deterministic: true,
    sensitivity: {exact_pairs: 0, sampled_pairs: 20000, cache: false}, edge: {events: {messages: 1}}}
  estimate: {use: osem_update, from: projected}
  checkpoint: {use: checkpoint_writer, from: estimate, every_s: 0}
  file: {use: nifti_writer, from: estimate}
)";
    return "run " + file.string() + " --quiet --out " + out.string() + " " + more;
  };
  const auto one = run_command(live(folder / "one", ""));
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const auto out = folder / "killed";
  auto killed = started(3, live(out, "--set 'projected.fault={rank: 2, kill_at: 4}'"));
  CHECK(codes(killed) == std::vector{1, 1, 128 + SIGKILL});
  REQUIRE(checkpoint_step(out).update > 0);
  auto resumed = started(2, live(out, "--set resume_from=" + out.string()));
  check_all_done(resumed);
  CHECK(difference(out, folder / "one")["max_abs"] == 0);
  CHECK(report_of_ranks(out)["books"] == report_of_ranks(folder / "one")["books"]);
}

namespace {

std::string on_gpus(const std::filesystem::path& out, const std::string& more) {
  std::string arguments = reconstruction(out, more + " --set projected.deterministic=true");
  const std::string cpu = "--backend cpu";
  return arguments.replace(arguments.find(cpu), cpu.size(), "--backend cuda");
}

bool two_gpus_with_nccl_or_skip() {
  if (!gpu_or_skip()) return false;
  if (cuda_devices() < 2)
    skip_test("second GPU", "TOFSTREAM_REQUIRE_GPUS");
  else if (!why_no_nccl().empty())
    skip_test("NCCL", "TOFSTREAM_REQUIRE_GPUS");
  else
    return true;
  return false;
}

}  // namespace

TEST_CASE("processes with a GPU each have the image of threads, bit for bit, whichever way images go") {
  if (!two_gpus_with_nccl_or_skip()) return;
  const TemporaryFolder folder;
  const auto threads = run_command(on_gpus(folder / "threads", "--ranks 2"));
  REQUIRE_MESSAGE(threads.code == 0, threads.err);
  for (const std::string route : {"auto", "nccl", "messages"}) {
    CAPTURE(route);
    auto processes = started(2, on_gpus(folder / route, "--rank-images " + route));
    check_all_done(processes);
    CHECK(difference(folder / route, folder / "threads")["max_abs"] == 0);
    const auto report = report_of_ranks(folder / route);
    CHECK(report["books"] == report_of_ranks(folder / "threads")["books"]);
    CHECK(report["gadgets"]["projected"]["figures"]["rank_images"] == (route == "messages" ? route : "nccl"));
  }
}

TEST_CASE("processes with a GPU each share a sensitivity, whose file in the cache has the bits of one's") {
  if (!two_gpus_with_nccl_or_skip()) return;
  const TemporaryFolder folder;
  std::string expected;
  for (const int ranks : {1, 2}) {
    CAPTURE(ranks);
    const auto cache = folder / fmt::format("of_{}", ranks);
    const int port = free_port();
    Processes processes;
    for (int rank = 0; rank < ranks; ++rank)
      processes.push_back(std::make_unique<RankProcess>(
          "XDG_CACHE_HOME=" + cache.string(),
          on_gpus(folder / fmt::format("out_{}", ranks),
                  "--set projected.sensitivity.cache=true --set image.size=[10,10,5] " +
                      (ranks > 1 ? fmt::format("--join 127.0.0.1:{} --rank {}/{}", port, rank, ranks)
                                 : std::string("--join none")))));
    check_all_done(processes);
    const std::string file = one_file_below(cache);
    if (ranks == 1) expected = file;
    CHECK(file == expected);
  }
}

TEST_CASE("a process that is killed or throws where images go by NCCL ends the run within ten seconds") {
  if (!two_gpus_with_nccl_or_skip()) return;
  const TemporaryFolder folder;
  for (const std::string fault : {"kill_at", "throw_at"}) {
    CAPTURE(fault);
    auto processes =
        started(2, on_gpus(folder / fault, fmt::format("--set 'projected.fault={{rank: 1, {}: 3}}'", fault)));
    const bool is_killed = fault == "kill_at";
    const std::size_t ends_first = is_killed ? 1 : 0;
    CHECK(processes[ends_first]->wait(60s) == (is_killed ? 128 + SIGKILL : 1));
    CHECK(processes[1 - ends_first]->wait(10s) == 1);
    CHECK_MESSAGE(processes[0]->err().find("rank 1, on ") != std::string::npos, processes[0]->err());
  }
}

TEST_CASE("NCCL that is asked for and is not there is refused before data flow") {
  const WithoutGpu no_gpu;
  const TemporaryFolder folder;
  auto processes = started(2, reconstruction(folder / "out", "--rank-images nccl"));
  CHECK(codes(processes) == std::vector<int>{2, 2});
  CHECK_MESSAGE(processes[0]->err().find("rank 0, on ") != std::string::npos, processes[0]->err());
  CHECK(processes[1]->err().empty());
  const auto wrong = run_command(reconstruction(folder / "out", "--join 127.0.0.1:2 --rank 0/2 --rank-images rdma"));
  CHECK(wrong.code == 2);
  CHECK(wrong.err == "tofstream: --rank-images rdma: write auto, nccl, mpi or messages\n");
}

namespace {

/// A pipeline with these projectors, which project side by side.
std::string side_by_side(const std::filesystem::path& folder, const std::string& backend, const std::string& subsets,
                         const std::vector<std::string>& projectors) {
  std::string text =
      "backend: " + backend +
      "\nimage: {size: [20, 20, 10], voxel_mm: [12, 12, 12]}\nrank_parts: 8\ngadgets:\n"
      "  feed: {use: file_source, path: " +
      ranks_recording().string() +
      ", chunk_kib: 7}\n  events: {use: petsird_decoder, from: feed, batch_events: 1500}\n  subsets: {use: " + subsets +
      ", from: events}\n";
  for (const std::string& projector : projectors)
    text += fmt::format(
        "  {0}: {{use: {0}_projector, from: {{events: subsets, image: {0}_image}}, deterministic: true,\n"
        "    sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}, edge: {{events: {{messages: 1}}}}}}\n"
        "  {0}_image: {{use: osem_update, from: {0}}}\n"
        "  {0}_file: {{use: nifti_writer, from: {0}_image, file: {0}.nii.gz}}\n",
        projector);
  const auto file = folder / (backend + ".yaml");
  std::ofstream(file) << text;
  return "run " + file.string() + " --quiet ";
}

}  // namespace

TEST_CASE("two projectors of one pipeline, and one of a live stream, share processes, whichever way images go") {
  struct Case {
    const char* subsets;
    std::vector<std::string> projectors;
  };
  const TemporaryFolder folder;
  std::vector<std::string> backends = {"cpu"};
  if (why_no_cuda().empty() && cuda_devices() > 1 && why_no_nccl().empty() && gpu_or_skip())
    backends.emplace_back("cuda");
  for (const std::string& backend : backends)
    for (const Case& each : {Case{"subset_builder, reference_s: 1, subsets: 3, iterations: 4", {"joseph", "tor"}},
                             Case{"live_subsets, events: 4000, iterations: 1", {"joseph"}}}) {
      CAPTURE(backend);
      CAPTURE(each.subsets);
      const std::string arguments = side_by_side(folder.path(), backend, each.subsets, each.projectors);
      const auto threads = folder / "threads", processes = folder / "processes";
      const auto run = run_command(arguments + "--overwrite --ranks 2 --out " + threads.string());
      REQUIRE_MESSAGE(run.code == 0, run.err);
      auto all = started(2, arguments + "--overwrite --out " + processes.string());
      check_all_done(all);
      for (const std::string& projector : each.projectors) {
        const std::string image = projector + ".nii.gz";
        const auto compared =
            run_command("compare --json " + (threads / image).string() + " " + (processes / image).string());
        REQUIRE_MESSAGE(compared.code == 0, compared.err);
        CHECK(compared.json()["max_abs"] == 0);
      }
    }
}
// SPDX-License-Identifier: Apache-2.0
