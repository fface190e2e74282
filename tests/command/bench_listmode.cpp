// `tofstream-bench listmode` as a user runs it: on a machine without a GPU, on the CPU, with wrong options.
#include <algorithm>
#include <set>

#include "tests/command/command.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

std::string peer(const std::string& name) {
  return (program().parent_path().parent_path() / "lib" / "test_peers" / (name + ".so")).string();
}

}  // namespace

TEST_CASE("bench listmode without a GPU is skipped, in one line") {
  const WithoutGpu hidden;
  const auto run = run_bench("listmode");
  CHECK(run.code == 0);
  CHECK(run.out.starts_with("skipped: "));
  CHECK(run.out.find("CUDA") != std::string::npos);
  CHECK(std::ranges::count(run.out, '\n') == 1);
  CHECK(run.err.empty());
  const auto json = run_bench("listmode --json");
  REQUIRE(json.code == 0);
  CHECK("skipped: " + json.json()["skipped"].get<std::string>() + "\n" == run.out);
}

TEST_CASE("bench listmode sets a bound beside each figure and checks it against the reference, on the CPU too") {
  const TemporaryFolder folder;
  const auto file = folder / "listmode.json";
  const auto run =
      run_bench("listmode --backend cpu --events-scale 0.001 --repeats 1 -o " + file.string() +
                " --only joseph_w1 joseph_w1_first joseph_w1_deterministic joseph_w1_adjoint joseph_w1_linear "
                "joseph_w1_peer joseph_w1_forward joseph_w1_back tor3_w1");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto report = nlohmann::json::parse(text_of(file));
  CHECK(report["bench"] == "listmode");
  CHECK(report["machine"].contains("commit"));
  std::set<std::string> names;
  for (const auto& row : report["requirements"]) {
    names.insert(row["name"]);
    CHECK(run.out.find(row["name"]) != std::string::npos);
    CHECK(row["bound"].get<double>() > 0);
    CHECK(row["holds"].is_null());  // a thousandth of the events proves nothing
    if (row["name"] == "joseph_w1_peer") {
      CHECK(row["measured"].is_null());
      CHECK(row["not_measured"] == "needs --peer with libparallelproj");
      continue;
    }
    CHECK(row["measured"].get<double>() > 0);
    CHECK(row["nrms_to_reference"].get<double>() < 1e-6);
    if (row["name"] == "joseph_w1_adjoint") CHECK(row["measured"].get<double>() < 1e-6);
    if (row["name"] == "joseph_w1_linear") CHECK(row["parts"].contains("ns_per_event_of_100000"));
  }
  CHECK(names.size() == 9);
}

TEST_CASE("bench listmode judges the whole of a workload, on a GPU") {
  if (!gpu_or_skip()) return;
  const auto run = run_bench(
      "listmode --repeats 1 --json --only joseph_w1 joseph_w1_deterministic joseph_w1_adjoint tor3_w1_adjoint "
      "joseph_w1_forward joseph_w1_back tor3_w1_forward tor3_w1_back");
  const auto rows = run.json()["requirements"];
  REQUIRE(rows.size() == 8);
  bool all_hold = true;
  for (const auto& row : rows) {
    REQUIRE(row["holds"].is_boolean());
    all_hold = all_hold && row["holds"];  // times depend on this machine's GPU
    CHECK(row["accurate"] == true);
    CHECK(row["nrms_to_reference"].get<double>() < 1e-5);
    if (row["unit"] == "") CHECK(row["holds"] == true);
    if (row["parts"].contains("five_runs")) CHECK(row["parts"]["five_runs"] == "identical");
  }
  CHECK_MESSAGE(run.code == (all_hold ? 0 : 1), run.err);
}

TEST_CASE("a wrong line or peer of bench listmode is named, with what there is") {
  const auto line = run_bench("listmode --only joseph_w9");
  CHECK(line.code == 2);
  CHECK_MESSAGE(line.err.find("--only: joseph_w9 not in {joseph_w1,") != std::string::npos, line.err);
  const auto peer = run_bench("listmode --backend cpu --peer /nowhere/libparallelproj.so");
  CHECK(peer.code == 1);
  CHECK_MESSAGE(peer.err.find("cannot use /nowhere/libparallelproj.so as a peer") != std::string::npos, peer.err);
  CHECK(peer.out.empty());
}

TEST_CASE("bench listmode measures a peer by the interface of peer.h on the same events, both orders") {
  const auto run = run_bench(
      "listmode --backend cpu --events-scale 0.001 --repeats 1 --json --only joseph_w1_yrt --peer " + peer("peer"));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto rows = run.json()["requirements"];
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["bound"] == 4);
  CHECK(rows[0]["bound_is"] == "least");
  const auto& parts = rows[0]["parts"];
  CHECK(parts["peer"] == "yrt-pet 1.0");
  const double both = parts["peer_forward_ms"].get<double>() + parts["peer_back_ms"].get<double>();
  CHECK(parts["peer_ms"] == std::min(both, parts["peer_em_step_ms"].get<double>()));
  CHECK(rows[0]["measured"] == parts["peer_ms"].get<double>() / parts["ms"].get<double>());
  CHECK(parts["peer_inconsistency"].get<double>() < 1e-5);
  CHECK(parts["peer_sorted_ms"].get<double>() > 0);
  // The difference is that of nearest voxels to Joseph's interpolation: a reversed ToF or axis would give some 100 %.
  CHECK(parts["forward_relative_rms_to_peer"].get<double>() < 0.03);
}

TEST_CASE("a peer of another interface, name or backend is refused, with what to do") {
  const auto error = [](const std::string& arguments) {
    const auto run = run_bench("listmode " + arguments);
    CHECK(run.code == 1);
    CHECK(run.out.empty());
    return run.err;
  };
  const auto old = error("--backend cpu --peer " + peer("peer") + " --peer " + peer("old"));
  CHECK_MESSAGE(old.find("built for version 0 of peer.h, this is version 1: build it again") != std::string::npos, old);
  const auto stranger = error("--backend cpu --peer " + peer("stranger"));
  CHECK_MESSAGE(stranger.find("no line is about another, only about libparallelproj and yrt-pet") != std::string::npos,
                stranger);
  const auto neither = error("--backend cpu --peer " +
                             (program().parent_path().parent_path() / "lib" / "test_plugins" / "good.so").string());
  CHECK_MESSAGE(neither.find("neither libparallelproj nor has it tofstream_peer_get") != std::string::npos, neither);
  if (why_no_cuda().empty()) {
    const auto cpu = error("--peer " + peer("peer"));
    CHECK_MESSAGE(cpu.find("it projects on the CPU: give --backend cpu") != std::string::npos, cpu);
  }
}
// SPDX-License-Identifier: Apache-2.0
