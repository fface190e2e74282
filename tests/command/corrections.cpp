// The quantitative job as a user runs it: a simulated file with attenuation, unequal crystals, randoms and delayeds,
// and the pipeline that corrects it.
#include <fstream>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "kernels/analysis/roi.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

TEST_CASE("a corrected scan reconstructs to the phantom's activity in Bq/mL") {
  const TemporaryFolder folder;
  const std::string scan = (folder / "scan.petsird").string(), mu = (folder / "mu.nii.gz").string();
  const auto made = run_command(
      "simulate --quiet --phantom uniform_cylinder --events 400000 --seed 5 --randoms-cps 300000 --delayeds "
      "--crystal-efficiency-spread 0.4 -o " +
      scan);
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto file = formats::read_phantom(find_shared("phantoms", "uniform_cylinder"));
  write_nifti(mu, file.phantom.mu_image(Grid::centred(64, 64, 40, {4, 4, 4})));

  const auto run = [&](const std::string& more) {
    const auto ran = run_command(
        "run corrected_osem --quiet --backend cpu --set image.size=[64,64,40] --set image.voxel_mm=[4,4,4] --set "
        "subsets.iterations=2 --set "
        "projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 --set "
        "projected.sensitivity.sampled_pairs=2000000 --set variables.mu_map=" +
        mu + " --input " + scan + " --overwrite --out " + folder.path().string() + more);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return statistics(read_nifti(folder / "image.nii.gz"), Cylinder{{0, 0, 0}, 70, 80}).mean;
  };
  const double truth = file.phantom.activity_at({0, 0, 0});
  CHECK(run("") == approx(truth).epsilon(0.02));

  const auto json = nlohmann::json::parse(text_of(folder / "run.json"));
  CHECK(json["books"]["balanced"] == true);
  CHECK(json.dump().find("delayed coincidences, which estimate the randoms") != std::string::npos);
  // Without the correction randoms are taken for activity: the effect is not small.
  CHECK(run(" --set corrected.randoms.from=none") > 1.1 * truth);
}

TEST_CASE("a scan by modules of thousands of crystals is on the absolute scale of its phantom") {
  // Two rings of long_axial's modules, whose tables of pairs' efficiencies would take 1.1 GiB. Little activity, since a
  // file's times are whole ms.
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  std::string scanner = text_of(find_shared("scanners", "long_axial"));
  const std::string rings = "  axial: 8\n";
  REQUIRE(scanner.find(rings) != std::string::npos);
  std::ofstream(path("rings.yaml")) << scanner.replace(scanner.find(rings), rings.size(), "  axial: 2\n");
  std::ofstream(path("phantom.yaml")) << "name: cylinder\nsolids: [{name: water, shape: cylinder, radius_mm: 100, "
                                         "length_mm: 180, activity_Bq_mL: 200}]\n";
  const auto made =
      run_command("simulate --quiet --events 300000 --no-attenuation --crystal-efficiency-spread 0.4 --phantom " +
                  path("phantom.yaml") + " --scanner " + path("rings.yaml") + " -o " + path("scan.petsird"));
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.err.empty());
  const auto ran = run_command(
      "run listmode_osem --quiet --backend cpu --set image.size=[32,32,24] --set image.voxel_mm=[8,8,8] --set "
      "subsets.iterations=2 --set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 --set "
      "projected.sensitivity.sampled_pairs=4000000 --input " +
      path("scan.petsird") + " --out " + folder.path().string());
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(statistics(read_nifti(folder / "image.nii.gz"), Cylinder{{0, 0, 0}, 70, 80}).mean == approx(200).epsilon(0.02));
  CHECK(run_command("inspect --json " + path("scan.petsird")).json()["quantity"]["unit_of_rate"] == "Bq/mL");
}

TEST_CASE("simulated events of a few ms come with a warning, since a file's times are whole ms") {
  const TemporaryFolder folder;
  const auto made = run_command("simulate --quiet --scanner long_axial --phantom uniform_cylinder --events 20000 -o " +
                                (folder / "short.petsird").string());
  CHECK(made.code == 0);
  CHECK_MESSAGE(made.err.find("since a file's times are whole ms") != std::string::npos, made.err);
}

TEST_CASE("the header of a whole long_axial is small") {
  const TemporaryFolder folder;
  const auto made =
      run_command("simulate --header-only --json --scanner long_axial --crystal-efficiency-spread 0.4 -o " +
                  (folder / "header.petsird").string());
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(made.json()["bytes"].get<double>() < 4e6);
}

TEST_CASE("delayeds without a gadget that takes them are refused") {
  const TemporaryFolder folder;
  const std::string scan = (folder / "scan.petsird").string();
  REQUIRE(
      run_command("simulate --quiet --events 20000 --randoms-cps 50000 --delayeds --no-attenuation -o " + scan).code ==
      0);
  const auto ran = run_command("run listmode_osem --quiet --backend cpu --set events.events=both --input " + scan +
                               " --out " + folder.path().string());
  CHECK(ran.code == 1);
  CHECK(ran.err.find("event_corrections") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
