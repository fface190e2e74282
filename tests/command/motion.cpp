// A scan of something that moves as a whole, as a user simulates and reconstructs it, and what is said of bad tables.
#include <fstream>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

struct MotionFolder {
  const TemporaryFolder folder;
  const std::string table = (folder / "poses.csv").string(), scan = (folder / "scan.petsird").string();

  explicit MotionFolder(const std::string& rows) {
    std::ofstream(table) << "time_s,qw,qx,qy,qz,tx_mm,ty_mm,tz_mm\n" << rows;
  }
  CommandResult simulate(const std::string& more) const {
    return run_command("simulate --quiet --phantom uniform_cylinder --no-attenuation -o " + scan + " " + more);
  }
  CommandResult reconstruct(const std::string& more, const std::string& pipeline = "motion_osem") const {
    return run_command(
        "run " + pipeline +
        " --quiet --backend cpu --set image.size=[32,32,24] --set image.voxel_mm=[8,8,8] "
        "--set subsets.subsets=2 --set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 "
        "--set projected.sensitivity.sampled_pairs=400000 --json --overwrite --input " +
        scan + " --out " + (folder / "out").string() + " --set placed.file=" + table + " " + more);
  }
};

}  // namespace

TEST_CASE("a phantom that moves is simulated, and reconstructed in one place by the same table") {
  const MotionFolder in("0,1,0,0,0,0,0,-24\n0.03,0.9990482,0,0,0.0436194,8,0,24\n");
  const auto made = in.simulate("--seconds 0.06 --motion " + in.table);
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto run = in.reconstruct("");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.json()["books"]["balanced"] == true);
  CHECK(run.json()["gadgets"]["placed"]["figures"]["poses"] == 2);
  CHECK(run.json()["gadgets"]["projected"]["figures"]["poses"] == 2);
  const auto analysed =
      run_command("analyse --json --phantom uniform_cylinder " + (in.folder / "out" / "image.nii.gz").string());
  REQUIRE_MESSAGE(analysed.code == 0, analysed.err);
  const auto region = analysed.json()["studies"][0]["images"][0]["regions"][0];
  CHECK(region["mean"].get<double>() == approx(region["truth"].get<double>()).epsilon(0.1));
}

TEST_CASE("positions of the bed become one image that is longer than the scanner") {
  const MotionFolder in("0,1,0,0,0,0,0,-60\n0.03,1,0,0,0,0,0,60\n");
  REQUIRE(in.simulate("--seconds 0.06 --block-seconds 0.01 --motion " + in.table).code == 0);
  const auto run = in.reconstruct("--set image.size=[32,32,30]", "whole_body");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.json()["books"]["balanced"] == true);
  CHECK(run.json()["gadgets"]["projected"]["figures"]["poses"] == 2);
  const Image image = read_nifti(in.folder / "out" / "image.nii.gz");
  REQUIRE(image.grid.size[2] == 30);  // 240 mm, where demo_ring is 145 mm long
  // Both halves of the cylinder have its activity.
  for (const int end : {0, 15}) {
    double sum = 0, voxels = 0;
    for (int k = end + 3; k < end + 12; ++k)
      for (int j = 11; j < 21; ++j)
        for (int i = 11; i < 21; ++i, ++voxels) sum += static_cast<double>(image.voxels[image.grid.index(i, j, k)]);
    CHECK(sum / voxels == approx(10000).epsilon(0.1));
  }
}

TEST_CASE("a table that cannot be read, or does not cover the scan, is one error before or at its time") {
  const MotionFolder late("5,1,0,0,0,0,0,0\n");
  REQUIRE(late.simulate("--events 20000").code == 0);
  const auto uncovered = late.reconstruct("");
  CHECK(uncovered.code == 1);
  CHECK(uncovered.err.find("no pose is known for 0 to ") != std::string::npos);
  CHECK(late.reconstruct("--set placed.gaps=hold").code == 0);
  const MotionFolder mirrored("0,0,0,0,0,0,0,0\n");
  CHECK(mirrored.simulate("--events 20000 --motion " + mirrored.table).code == 2);
  REQUIRE(mirrored.simulate("--events 20000").code == 0);
  const auto refused = mirrored.reconstruct("");
  CHECK(refused.code == 2);
  CHECK(refused.err.find("poses.csv: line 2: the quaternion has no length") != std::string::npos);
  CHECK(!std::filesystem::exists(mirrored.folder / "out" / "image.nii.gz"));
}
// SPDX-License-Identifier: Apache-2.0
