// `tofstream-bench spect --peer`, as a user runs it.
#include "tests/command/command.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

std::string spect_peer(const std::string& name) {
  return (program().parent_path().parent_path() / "lib" / "test_peers" / (name + ".so")).string();
}

}  // namespace

TEST_CASE("bench spect measures a peer beside w5, and says how far its images are from ours") {
  const auto run =
      run_bench("spect --backend cpu --repeats 1 --json --only w5 --views 12 --peer " + spect_peer("spect_peer"));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto report = run.json();
  CHECK(report["results"].size() == 1);
  CHECK(report["results"][0]["views"] == 12);
  CHECK(report["results"][0]["bound_ms"].is_null());  // which is of 180
  const auto& peer = report["peer"];
  CHECK(peer["peer"] == "turned columns 1.0");
  CHECK(peer["ms"] == report["results"][0]["ms"]);
  const double both = peer["peer_forward_ms"].get<double>() + peer["peer_back_ms"].get<double>();
  CHECK(peer["times_faster"] == both / peer["ms"].get<double>());
  CHECK(peer["holds"].is_null());  // how fast it is on a CPU is not judged
  // It is the same operator in another order, without planes and columns beyond the cube, which voxels at the rim
  // miss; a turned or mirrored view gives some 10 %.
  CHECK(peer["forward_nrms_to_ours"].get<double>() < 1e-5);
  CHECK(peer["back_nrms_to_ours"].get<double>() < 2e-3);
}

TEST_CASE("a peer of bench spect that cannot be used is refused, with what to do") {
  const auto error = [](const std::string& arguments, int code = 1) {
    const auto run = run_bench("spect " + arguments);
    CHECK(run.code == code);
    CHECK(run.out.empty());
    return run.err;
  };
  const auto nowhere = error("--backend cpu --peer /nowhere/libniftyrec_peer.so");
  CHECK_MESSAGE(nowhere.find("cannot use /nowhere/libniftyrec_peer.so as a peer") != std::string::npos, nowhere);
  const auto other = error("--backend cpu --peer " + spect_peer("peer"));
  CHECK_MESSAGE(other.find("has no tofstream_spect_peer_get") != std::string::npos, other);
  const auto old = error("--backend cpu --peer " + spect_peer("old_spect_peer"));
  CHECK_MESSAGE(old.find("built for version 0 of spect_peer.h, this is version 1: build it again") != std::string::npos,
                old);
  const auto elsewhere = error("--peer " + spect_peer("spect_peer"));
  CHECK_MESSAGE(elsewhere.find("it projects on the CPU: give --backend cpu") != std::string::npos, elsewhere);
  const auto without = error("--backend cpu --only w5_table --peer " + spect_peer("spect_peer"), 2);
  CHECK_MESSAGE(without.find("it is measured beside w5") != std::string::npos, without);
}
// SPDX-License-Identifier: Apache-2.0
