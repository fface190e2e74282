// `tofstream-bench prior`, `update` and `operators`, as a user runs them.
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("bench prior, update and operators time each work on an image, beside what a copy says of memory") {
  for (const std::string name : {"prior", "update", "operators"}) {
    CAPTURE(name);
    const auto run = run_bench(name + " --size 20 21 22 --backend cpu --repeats 1 --json");
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const auto report = run.json();
    CHECK(report["bench"] == name);
    CHECK(report["results"][0]["name"] == "copy of an image");
    CHECK(report["results"].size() > 5);
    for (const auto& row : report["results"]) {
      CHECK(row["ms"] > 0);
      CHECK(row["bound_ms"].is_null());  // bounds are those of another size
    }
  }
  const auto text = run_bench("update --size 20 21 22 --backend cpu --repeats 1");
  CHECK(text.out.starts_with("9240 voxels"));
  CHECK(text.out.find("\nmap_em, with gradient and curvature") != std::string::npos);
  CHECK(run_bench("prior --size 0 1 1").code == 2);
}
// SPDX-License-Identifier: Apache-2.0
