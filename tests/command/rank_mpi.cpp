// Runs whose processes Open MPI's mpirun starts, and whose images go by MPI: the image of threads, bit for bit, for any
// number of them; what is refused; and what becomes of a run where one fails.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/collective/mpi.hpp"
#include "tests/command/rank_processes.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

constexpr auto* same_bits = "--set projected.deterministic=true --set rank_parts=8 ";

bool mpi_or_skip() {
  if (run_line("mpirun --version").out.find("Open MPI") == std::string::npos)
    skip_test("Open MPI's mpirun");
  else if (const std::string why = why_no_mpi(); !why.empty())
    skip_test(why);
  else if (!mpi_library().starts_with("Open MPI"))
    skip_test("MPI of the mpirun");
  else
    return true;
  return false;
}

CommandResult by_mpirun(int ranks, const std::string& arguments) {
  return run_line(fmt::format("timeout 60 mpirun --allow-run-as-root --oversubscribe -n {} {} {}", ranks,
                              program().string(), arguments));
}

nlohmann::json report_in(const std::filesystem::path& out) {
  return nlohmann::json::parse(text_of(out / "run.json"));
}

bool are_equal(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto compared =
      run_command("compare --json " + (a / "image.nii.gz").string() + " " + (b / "image.nii.gz").string());
  REQUIRE_MESSAGE(compared.code == 0, compared.err);
  return compared.json()["max_abs"] == 0;
}

}  // namespace

TEST_CASE("images of ranks by MPI have the bits of threads', and of messages', for one process to four") {
  if (!mpi_or_skip()) return;
  const TemporaryFolder folder;
  const auto threads = run_command(reconstruction(folder / "threads", std::string("--ranks 3 ") + same_bits));
  REQUIRE_MESSAGE(threads.code == 0, threads.err);
  for (const int ranks : {1, 2, 3, 4})
    for (const std::string route : {"auto", "mpi", "messages"}) {
      if (ranks != 3 && route != "auto") continue;
      CAPTURE(ranks);
      CAPTURE(route);
      const auto out = folder / fmt::format("{}_{}", route, ranks);
      const auto run = by_mpirun(ranks, reconstruction(out, same_bits + ("--rank-images " + route)));
      REQUIRE_MESSAGE(run.code == 0, run.err);
      CHECK_MESSAGE(run.err.find("mpirun") == std::string::npos, run.err);  // which tells of processes that end badly
      CHECK(are_equal(out, folder / "threads"));
      const auto report = report_in(out);
      CHECK(report["books"] == report_in(folder / "threads")["books"]);
      const auto& figures = report["gadgets"]["projected"]["figures"];
      if (ranks > 1) CHECK(figures["rank_images"] == (route == "messages" ? "messages" : "mpi"));
    }
}

TEST_CASE("sums as they come go by MPI too, of as many parts as ranks") {
  if (!mpi_or_skip()) return;
  const TemporaryFolder folder;
  const auto one = run_command(reconstruction(folder / "one"));
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const auto run = by_mpirun(4, reconstruction(folder / "four", "--rank-images mpi"));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto compared = run_command("compare --json " + (folder / "four" / "image.nii.gz").string() + " " +
                                    (folder / "one" / "image.nii.gz").string());
  CHECK(compared.json()["nrms"].get<double>() < 1e-6);
}

TEST_CASE("a rank that throws, is killed or hangs where images go by MPI ends the run everywhere") {
  if (!mpi_or_skip()) return;
  for (const std::string fault : {"throw_at: 3", "kill_at: 3", "delay_at: 3, delay_ms: 60000"}) {
    CAPTURE(fault);
    const TemporaryFolder folder;
    const auto out = folder / "out";
    auto running = std::async(std::launch::async, [&] {
      return by_mpirun(
          3, reconstruction(out, fmt::format("--rank-images mpi --set 'projected.fault={{rank: 1, {}}}'", fault)));
    });
    REQUIRE(is_open(out));
    const auto began = std::chrono::steady_clock::now();
    const CommandResult run = running.get();
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
    CHECK_FALSE(std::filesystem::exists(out / "image.nii.gz"));
    // mpirun itself ends the others of a rank that is killed, and gives that one's code.
    const bool is_kill = fault.starts_with("kill");
    CHECK(run.code == (is_kill ? 128 + SIGKILL : 1));
    if (is_kill) continue;
    CHECK(left_behind(out).empty());
    CHECK_MESSAGE(run.err.find("'projected'") != std::string::npos, run.err);
    CHECK_MESSAGE(run.err.find("rank 1, on ") != std::string::npos, run.err);
  }
}

TEST_CASE("MPI that is asked for and cannot be is refused before data flow") {
  const TemporaryFolder folder;
  auto processes = started(2, reconstruction(folder / "out", "--rank-images mpi"));
  CHECK(codes(processes) == std::vector<int>{2, 2});
  CHECK_MESSAGE(processes[0]->err().find("it was started by hand (--rank)") != std::string::npos, processes[0]->err());
  CHECK(processes[1]->err().empty());
  if (!mpi_or_skip()) return;
  // Another MPI's launcher.
  RankProcess other("PMI_RANK=0 PMI_SIZE=2 MPI_LOCALNRANKS=2",
                    reconstruction(folder / "out", "--rank-images mpi --join-timeout 1"));
  CHECK(other.wait() == 2);
}
// SPDX-License-Identifier: Apache-2.0
