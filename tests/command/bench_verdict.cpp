// Benchmarks with a wrong kernel: each line that claims an agreement fails, and so does the command.
#include <cmath>
#include <limits>

#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tools/bench/verdict.hpp"

using namespace tofstream;
using nlohmann::ordered_json;

namespace {

// Passes as it is; with sums a thousandth too large, exit code 1 and every row named.
void check_verdict(const std::string& bench, const char* rows) {
  CAPTURE(bench);
  const auto right = run_bench(bench + " --json");
  CHECK_MESSAGE(right.code == 0, right.err);
  for (const auto& row : right.json()[rows]) CHECK(row["accurate"] == true);
  const auto wrong = run_bench(bench + " --json --wrong 1e-3");
  CHECK(wrong.code == 1);
  CHECK_MESSAGE(wrong.err.find("do not hold: ") != std::string::npos, wrong.err);
  const auto report = wrong.json();
  REQUIRE(!report[rows].empty());
  for (const auto& row : report[rows]) CHECK_MESSAGE(row["accurate"] == false, row.dump());
}

}  // namespace

TEST_CASE("a wrong kernel fails every benchmark that claims to agree with the reference") {
  check_verdict(
      "listmode --backend cpu --events-scale 0.001 --repeats 1 --only joseph_w1 joseph_w1_deterministic "
      "joseph_w1_adjoint joseph_w1_back tor3_w1 tor3_w1_adjoint tor3_w1_back",
      "requirements");
  check_verdict("jpet --backend cpu --events 1000 --check-events 200 --repeats 1", "results");
  check_verdict("projectors --backend cpu --threads 2 --workload W1 --events 1000 --check-events 300 --repeats 1",
                "results");
  check_verdict("longlist --backend cpu --events 3000 --size 20 20 20 --voxel 15", "verdicts");
}

TEST_CASE("adjoints that depart fail by themselves, whatever the sums are") {
  const auto wrong =
      run_bench("listmode --backend cpu --events-scale 0.001 --repeats 1 --json --wrong 3e-5 --only joseph_w1_adjoint");
  CHECK(wrong.code == 1);
  const auto row = wrong.json()["requirements"][0];
  CHECK(row["measured"].get<double>() == approx(3e-5).epsilon(0.2));
  CHECK(row["accurate"] == false);
  CHECK(row["parts"].contains("direct"));
  CHECK(row["parts"].contains("tiles"));
}

TEST_CASE("rows that do not hold are found, by their names") {
  const ordered_json rows = ordered_json::parse(R"([
    {"name": "good", "form": "eq7", "accurate": true, "holds": null},
    {"name": "late", "form": null, "accurate": true, "holds": false},
    {"name": "wrong", "T_w": 3, "accurate": false},
    {"name": "unjudged"}])");
  CHECK(command::failures(rows, {"name", "form", "T_w"}) == std::vector<std::string>{"late", "wrong 3"});
  CHECK(command::is_accurate(1e-5));
  CHECK_FALSE(command::is_accurate(1.01e-5));
  CHECK_FALSE(command::is_accurate(std::numeric_limits<double>::quiet_NaN()));
  CHECK_FALSE(command::is_accurate(std::numeric_limits<double>::infinity()));
}
// SPDX-License-Identifier: Apache-2.0
