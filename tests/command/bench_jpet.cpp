// `tofstream-bench jpet`, as a user runs it.
#include "tests/command/command.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

TEST_CASE("bench jpet measures every form and compares ten iterations with the reference") {
  const auto made = run_bench("jpet --backend cpu --events 2000 --check-events 100 --repeats 1 --json");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto rows = made.json()["results"];
  CHECK(rows.size() == 3);
  for (const auto& row : rows) {
    CHECK(row["by"] == "cpu");
    CHECK(row["ms"].get<double>() > 0);
    CHECK(row["nrms_to_reference"].get<double>() < 1e-5);
  }
}

TEST_CASE("bench jpet measures the GPU's paths") {
  if (!gpu_or_skip()) return;
  const auto made = run_bench("jpet --events 5000 --check-events 500 --repeats 1 --json");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto rows = made.json()["results"];
  CHECK(rows.size() == 9);
  for (const auto& row : rows) CHECK(row["nrms_to_reference"].get<double>() < 1e-5);
}

TEST_CASE("bench jpet measures other pixels and other instruction sets") {
  const std::string few = "jpet --backend cpu --events 500 --check-events 100 --repeats 1 --json ";
  const auto made = run_bench(few + "--pixel-mm 2 --form full --instructions SSE4");
  if (made.code == 2 && made.err.find("instruction sets are") != std::string::npos) return;  // no x86
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.json()["workload"].get<std::string>().find("130x150 pixels of 2 mm") != std::string::npos);
  CHECK(made.json()["instructions"] == "SSE4");
  CHECK(made.json()["results"][0]["nrms_to_reference"].get<double>() < 1e-5);
  const auto unknown = run_bench(few + "--instructions MMX");
  CHECK(unknown.code == 2);
  CHECK_MESSAGE(unknown.err.find("this processor's instruction sets are") != std::string::npos, unknown.err);
}

TEST_CASE("bench jpet measures the GPU's paths with small pixels, and says why it is slow with smaller ones") {
  if (!gpu_or_skip()) return;
  const std::string few = "jpet --events 5000 --check-events 500 --repeats 1 --json --pixel-mm ";
  const auto made = run_bench(few + "2");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.json()["why_slow"] == "");
  CHECK(made.json()["times_faster_than_warp_per_event"].size() == 3);
  for (const auto& row : made.json()["results"]) CHECK(row["nrms_to_reference"].get<double>() < 1e-5);
  const auto slow = run_bench(few + "1.5 --form full");
  REQUIRE_MESSAGE(slow.code == 0, slow.err);
  CHECK(slow.json()["why_slow"].get<std::string>().find("81 rows of 29 pixels") != std::string::npos);
}

TEST_CASE("bench jpet says what is wrong with a peer, and where there is no GPU") {
  const auto cpu = run_bench("jpet --backend cpu --peer libjpet_mlem_peer.so");
  CHECK(cpu.code == 2);
  CHECK_MESSAGE(cpu.err.find("give --backend cuda") != std::string::npos, cpu.err);
  const auto nowhere = run_bench("jpet --peer /nowhere/libjpet_mlem_peer.so");
  CHECK(nowhere.code == 1);
  CHECK_MESSAGE(nowhere.err.find("cannot use /nowhere/libjpet_mlem_peer.so as a peer") != std::string::npos,
                nowhere.err);
  const auto library = program().parent_path().parent_path() / "lib" / "test_peers" / "peer.so";
  const auto other = run_bench("jpet --peer " + library.string());
  CHECK(other.code == 1);
  CHECK_MESSAGE(other.err.find("has no tofstream_strip_peer_get") != std::string::npos, other.err);
  const WithoutGpu hidden;
  const auto none = run_bench("jpet");
  CHECK(none.code == 1);
  CHECK(none.err.find("CUDA") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
