// DIRECT as a user meets it: the shipped pipelines, smaller.
#include <algorithm>

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
// SPDX-License-Identifier: Apache-2.0
