// Scatter as a user estimates it and corrects for it: two runs, and what is refused.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/ring/io/scatter_nifti.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

struct ScatteredScan {
  TemporaryFolder folder;
  std::string scan = (folder / "scan.petsird").string(), mu = (folder / "mu.nii.gz").string();

  ScatteredScan() {
    const auto made = run_command(
        "simulate --quiet --phantom uniform_cylinder --events 60000 --randoms-cps 20000 "
        "--delayeds -o " +
        scan);
    REQUIRE_MESSAGE(made.code == 0, made.err);
    const auto file = formats::read_phantom(find_shared("phantoms", "uniform_cylinder"));
    write_nifti(mu, file.phantom.mu_image(Grid::centred(40, 40, 24, {6, 6, 6})));
  }
  CommandResult run(const std::string& pipeline, const std::string& out, const std::string& more) const {
    return run_command(fmt::format(
        "run {} --quiet --backend cpu --set image.size=[40,40,24] --set image.voxel_mm=[6,6,6] --set "
        "subsets.iterations=1 --set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 --set "
        "projected.sensitivity.sampled_pairs=200000 --set projected.deterministic=true --set variables.mu_map={} "
        "--input {} --out {} {}",
        pipeline, mu, scan, (folder / out).string(), more));
  }
};

}  // namespace

TEST_CASE("scatter_osem writes the scatter that corrected_osem then takes, alike by a scanner's name and a recording") {
  const ScatteredScan scan;
  const std::string points = "--set scatter.point_mm=50 --set variables.recording=" + scan.scan;
  const CommandResult first = scan.run("scatter_osem", "first", points);
  REQUIRE_MESSAGE(first.code == 0, first.err);
  const auto scatter = scan.folder / "first" / "scatter.nii.gz";
  const CommandResult named =
      scan.run("scatter_osem", "named", points + " --set 'scatter.recording=\"\"' --set scatter.scanner=demo_ring");
  REQUIRE_MESSAGE(named.code == 0, named.err);
  CHECK(text_of(scatter) == text_of(scan.folder / "named" / "scatter.nii.gz"));

  CHECK(first.err.find("its scatter is as wrong as it is") == std::string::npos);
  const CommandResult low =
      scan.run("scatter_osem", "low", points + " --set 'mu_map=\"\"' --set scatter.mu_map=" + scan.mu);
  REQUIRE_MESSAGE(low.code == 0, low.err);
  CHECK(low.err.find("not corrected for attenuation, and its scatter is as wrong as it is") != std::string::npos);

  // An image of the decays in two seconds has the scatter of one.
  const CommandResult longer = scan.run("scatter_osem", "longer", points + " --set reference_s=2");
  REQUIRE_MESSAGE(longer.code == 0, longer.err);
  const auto largest = [](const std::filesystem::path& file) { return std::ranges::max(read_scatter(file).values); };
  CHECK(largest(scatter) > 0);
  CHECK(largest(scan.folder / "longer" / "scatter.nii.gz") == doctest::Approx(largest(scatter)).epsilon(1e-4));

  const CommandResult second = scan.run("corrected_osem", "second", "--set corrected.scatter.file=" + scatter.string());
  REQUIRE_MESSAGE(second.code == 0, second.err);
  CHECK(second.out.find("corrections made: attenuation, normalisation, randoms, scatter, decay") != std::string::npos);
  const Image before = read_nifti(scan.folder / "first" / "image.nii.gz"),
              after = read_nifti(scan.folder / "second" / "image.nii.gz");
  const std::int64_t middle = before.grid.index(20, 20, 12);
  CHECK(after.voxels[middle] < 0.95f * before.voxels[middle]);
}

TEST_CASE("scatter_writer refuses what it cannot do, in one line and before data flow") {
  const ScatteredScan scan;
  const auto refusal = [&](const std::string& more) {
    const CommandResult ran = scan.run("scatter_osem", "refused", "--overwrite " + more);
    CHECK(ran.code == 2);
    return ran.err;
  };
  const std::string recording = "--set variables.recording=" + scan.scan + " ";
  CHECK(refusal(recording + "--set scatter.scanner=demo_ring").find("either by scanner or by a recording") !=
        std::string::npos);
  CHECK(refusal("--set variables.recording=" + scan.mu).find("mu.nii.gz") != std::string::npos);
  CHECK(refusal(recording + "--set scatter.point_mm=0.5").find("must be in [2, 200] mm") != std::string::npos);
  CHECK(refusal(recording + "--set scatter.file=scatter.mat").find("must end in .nii or .nii.gz") != std::string::npos);
  CHECK(refusal("--set 'scatter.recording=\"\"' --set scatter.scanner=spect_lehr").find("name a PET scanner") !=
        std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
