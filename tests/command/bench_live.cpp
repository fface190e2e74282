// `tofstream-bench live`: a small stream at a rate, by ranks of a CPU: nothing is lost, and a replay has the same image.
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("bench live sends at a rate, loses nothing, and replays the same image") {
  const TemporaryFolder folder;
  const auto bench = run_bench(
      "live --backend cpu --rate 20000 --seconds 4 --ranks 2 --size 10 10 5 --voxel 40 --most-latency-ms 60000 --json "
      "--folder " +
      folder.path().string());
  REQUIRE_MESSAGE(bench.code == 0, bench.err);
  const auto row = bench.json()["results"][0];
  CHECK(row["events"] == 80'000);
  CHECK(row["lost"] == 0);
  CHECK(row["updates"] == 4);
  CHECK(row["seconds"].get<double>() > 3.9);
  CHECK(row["latency_ms_p99"].get<double>() > 0);
  CHECK(row["replay_differs_by"] == 0);
  CHECK(row["reconstructed"].get<double>() > 78'000);
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(run_bench("live --scanner none").code == 2);
}
// SPDX-License-Identifier: Apache-2.0
