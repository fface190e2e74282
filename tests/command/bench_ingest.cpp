// `tofstream-bench ingest`: every event arrives, decoded, by either payload, with a journal and without.
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("bench ingest measures records and PETSIRD with and without a journal") {
  const TemporaryFolder folder;
  const auto bench =
      run_bench("ingest --events 20000 --frame-events 1000 --repeats 1 --json --folder " + folder.path().string());
  REQUIRE_MESSAGE(bench.code == 0, bench.err);
  const auto report = bench.json();
  CHECK(report["bench"] == "ingest");
  REQUIRE(report["results"].size() == 4);
  for (const auto& result : report["results"]) {
    CHECK(result["events_per_s"] > 0);
    CHECK(result["bytes"] > 20'000);
  }
  CHECK(report["results"][1]["journal"] == true);
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(run_bench("ingest --scanner none").code == 2);
}
// SPDX-License-Identifier: Apache-2.0
