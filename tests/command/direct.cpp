// DIRECT as a user meets it: the shipped pipelines, smaller.
#include <algorithm>
#include <cmath>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("direct_osem and direct_ramla make an image of simulated events by way of histo-images") {
  for (const std::string pipeline : {"direct_osem", "direct_ramla"}) {
    CAPTURE(pipeline);
    const TemporaryFolder out;
    const auto run = run_command("run " + pipeline + " --quiet --out " + (out / "image").string() +
                                 " --set photons.events=100000 --set histo.most_lines=1000000 --set "
                                 "image.size=[40,40,14] --set image.voxel_mm=10 --set projected.lor_fwhm_mm=12 --set "
                                 "subsets.iterations=1");
    REQUIRE_MESSAGE(run.code == 0, run.err);
    CHECK(nlohmann::json::parse(text_of(out / "image/run.json"))["books"]["balanced"] == true);
    const Image image = read_nifti(out / "image/image.nii.gz");
    CHECK(*std::ranges::max_element(image.voxels.span()) > 0);
    CHECK(*std::ranges::min_element(image.voxels.span()) >= 0);
  }
}

TEST_CASE("direct_petsird makes of a recording the image that direct_osem makes of the same events") {
  const TemporaryFolder out;
  const std::string small =
      " --backend cpu --set histo.most_lines=1000000 --set image.size=[40,40,14] --set image.voxel_mm=10 --set "
      "projected.lor_fwhm_mm=12 --set subsets.iterations=1";
  const std::string photons =
      " --set photons.events=50000 --set photons.phantom=nema_iq --set photons.attenuation=false --set "
      "photons.activity_scale=0.001";
  const auto run = [&](const std::string& what) {
    const auto result = run_command("run " + what);
    REQUIRE_MESSAGE(result.code == 0, result.err);
  };
  run("simulate --quiet --out " + (out / "scan").string() + photons);
  run("direct_petsird --quiet --input " + (out / "scan/scan.petsird").string() + " --out " + (out / "read").string() +
      small);
  run("direct_osem --quiet --out " + (out / "simulated").string() + photons + small);
  const Image read = read_nifti(out / "read/image.nii.gz"), simulated = read_nifti(out / "simulated/image.nii.gz");
  double apart = 0, all = 0;
  for (std::int64_t v = 0; v < read.voxels.size(); ++v) {
    apart += std::abs(static_cast<double>(read.voxels[v]) - static_cast<double>(simulated.voxels[v]));
    all += static_cast<double>(simulated.voxels[v]);
  }
  CHECK(apart < 0.01 * all);  // the file has whole milliseconds
}
// SPDX-License-Identifier: Apache-2.0
