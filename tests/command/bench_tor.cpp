// `tofstream-bench tor` and the paper's scheme in a pipeline, as a user runs them.
#include "tests/command/command.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

TEST_CASE("bench tor says what it needs: a GPU, and --paper for one of the paper's tables") {
  const auto table = run_bench("tor --table figure_5");
  CHECK(table.code == 2);
  CHECK(table.err.find("give --paper too") != std::string::npos);
  const WithoutGpu hidden;
  const auto none = run_bench("tor --paper");
  CHECK(none.code == 1);
  CHECK(none.err.find("CUDA") != std::string::npos);
  CHECK(none.out.empty());
}

TEST_CASE("bench tor --paper sets the paper's numbers beside what it measures and checks") {
  if (!gpu_or_skip()) return;
  const auto made = run_bench("tor --paper --events 1000 --repeats 1 --table figure_3 figure_5 table_5 --json");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto tables = made.json()["tables"];
  CHECK(tables["figure_5"]["rows"].size() == 2 * 25);
  for (const auto& row : tables["figure_5"]["rows"]) {
    if (row["step"] == "CPU, one thread") continue;  // which is timed alone
    CHECK(row["nrms"].get<double>() < 1e-5);
    CHECK(row["accurate"] == true);
  }
  CHECK(tables["figure_3"]["rows"].size() == 4);
  for (const auto& row : tables["figure_3"]["rows"]) {
    CHECK(row["writes"].get<int>() > 1000);
    CHECK(row["percent_of_writes"].get<double>() < 50);
    int voxels = 0;
    for (const char* key : {"voxels_with_none", "voxels_with_1", "voxels_with_2", "voxels_with_more"})
      voxels += row[key].get<int>();
    CHECK(voxels == 75 * 75 * 26);
  }
  CHECK(tables["table_5"]["rows"].size() == 16);
  CHECK(tables["table_5"]["rows"][2]["paper_gtx_480_ms"] == 61);
  for (const auto& row : tables["table_5"]["rows"]) {
    CHECK(row["scheme_ms"].get<double>() > 0);
    CHECK(row["scheme_nrms"].get<double>() < 1e-5);
  }
}

TEST_CASE("a pipeline reconstructs by the paper's scheme the image that it makes by tiles") {
  if (!gpu_or_skip()) return;
  const TemporaryFolder folder;
  const auto scan = folder / "scan.petsird";
  REQUIRE(run_command("simulate --quiet --events 50000 -o " + scan.string()).code == 0);
  for (const std::string path : {"paper", "tiled"}) {
    const auto run = run_command("run listmode_osem --quiet --backend cuda --set projected.sensitivity.cache=false " +
                                 ("--set projected.tube_width_voxels=3 --set projected.cuda_path=" + path) +
                                 " --input " + scan.string() + " --out " + (folder / path).string());
    REQUIRE_MESSAGE(run.code == 0, run.err);
  }
  const auto compared = run_command("compare --json " + (folder / "paper" / "image.nii.gz").string() + " " +
                                    (folder / "tiled" / "image.nii.gz").string());
  REQUIRE_MESSAGE(compared.code == 0, compared.err);
  CHECK(compared.json()["nrms"].get<double>() < 1e-3);  // the paper samples ToF at a bin's centre
}
// SPDX-License-Identifier: Apache-2.0
