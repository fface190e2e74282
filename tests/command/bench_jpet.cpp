// `tofstream bench jpet`, as a user runs it.
#include "tests/command/command.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

TEST_CASE("bench jpet measures every form and compares ten iterations with the reference") {
  const auto made = run_command("bench jpet --backend cpu --events 2000 --check-events 100 --repeats 1 --json");
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
  const auto made = run_command("bench jpet --events 5000 --check-events 500 --repeats 1 --json");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto rows = made.json()["results"];
  CHECK(rows.size() == 9);
  for (const auto& row : rows) CHECK(row["nrms_to_reference"].get<double>() < 1e-5);
}

TEST_CASE("bench jpet says what is wrong with a peer, and where there is no GPU") {
  const auto cpu = run_command("bench jpet --backend cpu --peer libjpet_mlem_peer.so");
  CHECK(cpu.code == 2);
  CHECK_MESSAGE(cpu.err.find("give --backend cuda") != std::string::npos, cpu.err);
  const auto nowhere = run_command("bench jpet --peer /nowhere/libjpet_mlem_peer.so");
  CHECK(nowhere.code == 1);
  CHECK_MESSAGE(nowhere.err.find("cannot use /nowhere/libjpet_mlem_peer.so as a peer") != std::string::npos,
                nowhere.err);
  const auto library = program().parent_path().parent_path() / "lib" / "test_peers" / "peer.so";
  const auto other = run_command("bench jpet --peer " + library.string());
  CHECK(other.code == 1);
  CHECK_MESSAGE(other.err.find("has no tofstream_strip_peer_get") != std::string::npos, other.err);
  const WithoutGpu hidden;
  const auto none = run_command("bench jpet");
  CHECK(none.code == 1);
  CHECK(none.err.find("CUDA") != std::string::npos);
}
