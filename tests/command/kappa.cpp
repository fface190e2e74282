// `tofstream kappa` as a user runs it: the pipeline's file, without its names, and bad input refused in one line.
#include <algorithm>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("tofstream kappa writes what the pipeline kappa does, for the grid of the image") {
  const TemporaryFolder folder;
  const std::string scan = folder / "scan.petsird", image = folder / "x.nii.gz", kappa = folder / "made/kappa.nii.gz";
  const auto ran = [](const std::string& arguments) {
    auto result = run_command(arguments);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return result;
  };
  ran("simulate --quiet --scanner demo_ring --phantom uniform_cylinder --events 20000 --no-attenuation -o " + scan);
  ran("phantom uniform_cylinder --size 30 30 12 --voxel-mm 8 -o " + image);
  const std::string quick =
      " --set projected.sensitivity.exact_pairs=0 --set projected.sensitivity.sampled_pairs=50000"
      " --set projected.sensitivity.cache=false --backend cpu ";
  const auto made = ran("kappa " + scan + " --image " + image + quick + "--json -o " + kappa);
  CHECK(made.json()["gadgets"]["estimate"]["figures"]["largest_kappa"].get<double>() > 0);
  const std::string out = folder / "run";
  ran("run kappa --quiet --input " + scan + " --set estimate.reconstruction=" + image + quick + "--out " + out);
  const Image by_command = read_nifti(kappa), by_pipeline = read_nifti(out + "/kappa.nii.gz");
  CHECK(by_command.grid.size[0] == 30);
  CHECK(by_command.grid.size[2] == 12);
  CHECK(std::ranges::equal(by_command.voxels.span(), by_pipeline.voxels.span()));
  const float middle = by_command.voxels[by_command.grid.index(15, 15, 6)];
  CHECK(middle > by_command.voxels[by_command.grid.index(1, 1, 6)]);

  const std::string like = folder / "mine.yaml";
  std::ofstream(like) << "include: " << find_shared("pipelines", "kappa").string()
                      << "\npipeline: mine\ngadgets:\n  subsets: {subsets: 2}\n";
  ran("kappa " + scan + " --image " + image + quick + "--quiet --pipeline " + like + " -o " + kappa);

  const auto refused = [&](const std::string& arguments, const std::string& words) {
    const auto result = run_command("kappa " + arguments);
    CHECK(result.code == 2);
    CHECK_MESSAGE(result.err.find(words) != std::string::npos, result.err);
    CHECK(std::ranges::count(result.err, '\n') == 1);
  };
  refused(scan + " --image " + image + " -o kappa.png", "name a file that ends in .nii.gz");
  refused(scan + " --image " + scan + ".none -o " + kappa, "--image names the reconstruction");
  refused(scan + ".none --image " + image + " -o " + kappa, "scan.petsird.none");
  refused(scan + " --image " + image + " --set projected -o " + kappa, "--set projected: write gadget.parameter=value");
  refused(scan + " --image " + image + " --backend tpu -o " + kappa, "--backend");
  refused(scan + " --image " + scan + " -o " + kappa, "scan.petsird");
}
// SPDX-License-Identifier: Apache-2.0
