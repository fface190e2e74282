// `tofstream-bench direct` as a user runs it, on the CPU: a case, and what it cannot do there.
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("bench direct measures a case on the CPU, of one view without a bound, and compares with the reference") {
  const auto bench = run_bench("direct --backend cpu --only one_stage_box_forward --views 1 --repeats 1 --json");
  REQUIRE_MESSAGE(bench.code == 0, bench.err);
  const auto json = bench.json();
  CHECK(json["bench"] == "direct");
  CHECK(json["backend"] == "cpu");
  REQUIRE(json["results"].size() == 1);
  const auto& row = json["results"][0];
  CHECK(row["name"] == "one_stage_box_forward");
  CHECK(row["views"] == 1);
  CHECK(row["ms"] > 0);
  CHECK(row["bound_ms"].is_null());
  CHECK(row["holds"].is_null());
  CHECK(row["accurate"] == true);
  // The points of a box of 45 x 5 x 5, within what a lattice leaves of an ellipsoid.
  const double taps = row["taps"];
  CHECK(taps > 1125 * 0.97);
  CHECK(taps < 1125 * 1.03);
}

TEST_CASE("bench direct refuses what is no case of it, and the published forms without a GPU") {
  const auto wrong = run_bench("direct --backend cpu --only two_stage_forwards");
  CHECK(wrong.code == 2);
  CHECK_MESSAGE(wrong.err.find("two_stage_forward") != std::string::npos, wrong.err);
  const auto paper = run_bench("direct --backend cpu --paper");
  CHECK(paper.code != 0);
  CHECK_MESSAGE(paper.err.find("the published forms are CUDA's") != std::string::npos, paper.err);
}
// SPDX-License-Identifier: Apache-2.0
