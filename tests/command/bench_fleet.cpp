// `tofstream-bench fleet`: scans go both ways, and each is measured.
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("bench fleet measures scans directly and through a dispatcher") {
  const auto bench =
      run_bench("fleet --small-events 2000 --events 20000 --frame-events 1000 --pairs 2 --repeats 1 --json");
  // On a busy machine two pairs may not show that it is 5 ms at most.
  REQUIRE_MESSAGE((bench.code == 0 || bench.err.find("first image") != std::string::npos), bench.err);
  const auto report = bench.json();
  CHECK(report["bench"] == "fleet");
  REQUIRE(report["results"].size() == 2);
  CHECK(report["results"][0]["direct_ms"] > 0);
  CHECK(report["results"][0]["dispatched_ms"] > 0);
  CHECK(report["results"][1]["ratio"] > 0);
  CHECK(run_bench("fleet --scanner none").code == 2);
}
TEST_CASE("bench fleet has a scan on each GPU at once, beside one alone") {
  const auto bench =
      run_bench("fleet --gpus 0,1 --backend cpu --events 20000 --frame-events 1000 --iterations 1 --repeats 1 --json");
  // Two processes on this machine's cores take longer than one.
  REQUIRE_MESSAGE((bench.code == 0 || bench.err.find("a scan on each GPU") != std::string::npos), bench.err);
  const auto result = bench.json()["results"][0];
  CHECK(result["gpus"] == 2);
  CHECK(result["alone_s"] > 0);
  CHECK(result["ratio"] > 0);
  CHECK(run_bench("fleet --gpus 0,0 --backend cpu").code == 2);
}
// SPDX-License-Identifier: Apache-2.0
