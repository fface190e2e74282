// `tofstream normalise` as a user runs it: a scan whose crystals' efficiencies the run is not told becomes an image in
// Bq/mL by the normalisation of another scan, and bad input is refused in one line.
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"
#include "kernels/analysis/roi.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// The scanner of the test: small, so that few events are many a crystal.
void write_scanner(const std::filesystem::path& file) {
  std::ofstream(file) << "name: small\n"
                         "inner_radius_mm: 160\n"
                         "fov_radius_mm: 110\n"
                         "modules: {transaxial: 24, axial: 2, pitch_axial_mm: 40}\n"
                         "crystals: {transaxial: 5, axial: 5, size_mm: [7.4, 7.4], pitch_mm: [7.6, 7.6], "
                         "layers: [{depth_mm: 20, attenuation_per_cm: 0.83}]}\n"
                         "coincidence: {window_ns: 4, min_sector_difference: 5}\n"
                         "tof: {fwhm_ps: 300, bins: 21, bin_ps: 100}\n"
                         "energy: {low_keV: 435, high_keV: 650, resolution: 0.12}\n";
}

void write_cylinder(const std::filesystem::path& file, double radius_mm, double activity, double z_mm = 0,
                    double mu_keV = 511) {
  std::ofstream(file) << fmt::format(
      "name: cylinder\nmu_keV: {}\nsolids:\n  - {{shape: cylinder, radius_mm: {}, length_mm: 120, centre_mm: [0, 0, "
      "{}], activity_Bq_mL: {}, mu_per_cm: 0.096}}\n",
      mu_keV, radius_mm, z_mm, activity);
}

struct NormalisationFolder {
  TemporaryFolder folder;
  std::string scanner = (folder / "small.yaml").string(), source = (folder / "source.yaml").string(),
              scan = (folder / "scan.petsird").string(), norm = (folder / "norm.yaml").string();
  NormalisationFolder() {
    write_scanner(scanner);
    write_cylinder(source, 80, 20000);
  }
  void simulate(const std::string& phantom, const std::string& to, int events, const std::string& more = "") const {
    const auto made = run_command(
        fmt::format("simulate --quiet --scanner {} --phantom {} --events {} --crystal-efficiency-spread 0.4 {} -o {}",
                    scanner, phantom, events, more, to));
    REQUIRE_MESSAGE(made.code == 0, made.err);
  }
  CommandResult normalise(const std::string& arguments) const {
    return run_command("normalise --quiet " + arguments + " -o " + norm);
  }
};

bool says(const CommandResult& result, const std::string& words) {
  return (result.out + result.err).find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a cylinder has its activity in Bq/mL by the normalisation of another scan") {
  const NormalisationFolder in;
  in.simulate(in.source, in.scan, 600'000, "--randoms-cps 100000 --delayeds --seed 3");
  const CommandResult made = in.normalise(in.scan + " --source " + in.source + " --json");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto estimate = formats::read_normalisation(in.norm);
  CHECK(estimate.crystal_efficiency.size() == 1200);
  const auto figures = made.json()["gadgets"]["efficiencies"]["figures"];
  CHECK(figures["chi2_a_place"].get<double>() < 1.3);
  CHECK(figures["dead_crystals"] == 0);
  CHECK(text_of(in.norm).find("# fit of the source: chi2") != std::string::npos);

  // Another object: narrower, with less activity.
  const std::string patient = (in.folder / "patient.yaml").string(), recording = (in.folder / "p.petsird").string(),
                    mu = (in.folder / "mu.nii.gz").string();
  write_cylinder(patient, 60, 5000);
  in.simulate(patient, recording, 400'000, "--randoms-cps 20000 --delayeds --seed 4");
  write_nifti(mu, formats::read_phantom(patient).phantom.mu_image(Grid::centred(36, 36, 24, {5, 5, 5})),
              {.description = mu_map_description(511)});
  const auto mean = [&](const std::string& normalisation) {
    const auto ran = run_command(fmt::format(
        "run corrected_osem --quiet --backend cpu --set image.size=[36,36,16] --set image.voxel_mm=[5,5,5] --set "
        "subsets.iterations=2 --set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 --set "
        "projected.sensitivity.sampled_pairs=2000000 --set variables.mu_map={} --set 'corrected.normalisation={}' "
        "--input {} --overwrite --out {}",
        mu, normalisation, recording, (in.folder / "run").string()));
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return statistics(read_nifti(in.folder / "run" / "image.nii.gz"), Cylinder{{0, 0, 0}, 40, 30}).mean;
  };
  CHECK(mean(fmt::format("{{from: file, file: {}}}", in.norm)) == approx(5000).epsilon(0.03));
}

TEST_CASE("a source that is larger than it is said to be is warned of, and parts can be left out") {
  const NormalisationFolder in;
  in.simulate(in.source, in.scan, 150'000);
  const std::string smaller = (in.folder / "smaller.yaml").string();
  write_cylinder(smaller, 76, 20000);
  const CommandResult wrong = in.normalise(in.scan + " --source " + smaller + " --lines 100000");
  CHECK(wrong.code == 0);
  CHECK(says(wrong, "the source does not fit"));
  CHECK(says(wrong, "sums by groups of up to"));

  const CommandResult scale = in.normalise(in.scan + " --source " + in.source + " --no-crystals --classes");
  REQUIRE_MESSAGE(scale.code == 0, scale.err);
  CHECK_FALSE(says(scale, "the source does not fit"));
  const auto estimate = formats::read_normalisation(in.norm);
  CHECK(estimate.crystal_efficiency.empty());
  CHECK(estimate.class_factor.size() > 10);
  CHECK(estimate.calibration == approx(1e-3).epsilon(0.02));

  const CommandResult none = in.normalise(in.scan + " --source " + in.source + " --no-crystals --no-calibration");
  CHECK(none.code == 2);
  CHECK(says(none, "nothing is to be estimated"));
}

TEST_CASE("normalise --dead-time takes the singles of a decaying source, and no source") {
  const NormalisationFolder in;
  write_cylinder(in.source, 80, 50);  // few events: what counts are the singles
  const CommandResult decaying = run_command(fmt::format(
      "simulate --quiet --scanner {} --phantom {} --seconds 150 --isotope Rb-82 --randoms-cps 200 --singles "
      "-o {}",
      in.scanner, in.source, in.scan));
  REQUIRE_MESSAGE(decaying.code == 0, decaying.err);
  const CommandResult made = in.normalise(in.scan + " --dead-time --isotope Rb-82 --json");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  // The simulator's modules lose nothing.
  const auto figures = made.json()["gadgets"]["times"]["figures"];
  CHECK(std::abs(figures["mean_dead_time_us"].get<double>()) < 0.3);
  CHECK(figures["chi2_a_point"].get<double>() < 1.5);
  CHECK(text_of(in.norm).find("dead_time_us: [") != std::string::npos);
  CHECK(in.normalise(in.scan + " --dead-time").code == 2);
  CHECK(says(in.normalise(in.scan + " --dead-time --isotope F-18 --source " + in.source), "needs no --source"));
  CHECK(says(in.normalise(in.scan), "--source is required"));
}

TEST_CASE("normalise --delayeds takes the randoms of any scan, and no source") {
  const NormalisationFolder in;
  write_cylinder(in.source, 80, 50);
  const CommandResult scanned = run_command(fmt::format(
      "simulate --quiet --scanner {} --phantom {} --seconds 2 --crystal-efficiency-spread 0.4 --randoms-cps "
      "100000 --delayeds -o {}",
      in.scanner, in.source, in.scan));
  REQUIRE_MESSAGE(scanned.code == 0, scanned.err);
  const CommandResult made = in.normalise(in.scan + " --delayeds --json");
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto figures = made.json()["gadgets"]["efficiencies"]["figures"];
  CHECK(figures["delayeds"].get<double>() == approx(200'000).epsilon(0.01));
  CHECK(figures["dead_crystals"] == 0);
  CHECK(figures["flux_ratio"].get<double>() < 1.3);  // the simulator's randoms are as many everywhere
  const auto estimate = formats::read_normalisation(in.norm);
  REQUIRE(estimate.crystal_efficiency.size() == 1200);
  CHECK(estimate.calibration == 0);
  double squares = 0;
  for (const float e : estimate.crystal_efficiency) squares += std::pow(static_cast<double>(e) - 1, 2) / 1200;
  // Uniform from 0.6 to 1, and the errors of 333 counts a crystal.
  CHECK(std::sqrt(squares) == approx(std::hypot(0.4 / std::sqrt(12.0) / 0.8, 1 / std::sqrt(333.0))).epsilon(0.06));

  CHECK(says(in.normalise(in.scan + " --delayeds --source " + in.source), "takes no option but --out"));
  CHECK(says(in.normalise(in.scan + " --delayeds --dead-time"), "ask for one at a time"));
  in.simulate(in.source, in.scan, 100);
  CHECK(says(in.normalise(in.scan + " --delayeds"), "no delayed coincidence came"));
}

TEST_CASE("normalise refuses bad input in one line, and writes nothing") {
  const NormalisationFolder in;
  in.simulate(in.source, in.scan, 3'000);
  const std::string other = (in.folder / "other.yaml").string(), mu = (in.folder / "mu.nii.gz").string();
  const auto refusal = [&](const std::string& arguments, int code) {
    const CommandResult ran = in.normalise(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == code);
    CHECK(std::ranges::count(ran.err, '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(in.norm));
    return ran.err;
  };
  const auto has = [](const std::string& text, const char* words) {
    CAPTURE(text);
    return text.find(words) != std::string::npos;
  };
  CHECK(has(refusal(in.scan + " --source nothing", 2), "nothing"));
  CHECK(has(refusal((in.folder / "none.petsird").string() + " --source " + in.source, 2), "none.petsird"));
  CHECK(has(refusal(in.source + " --source " + in.source, 1), "source.yaml"));
  std::ofstream(other) << "solids: [{shape: cube}]\n";
  CHECK(has(refusal(in.scan + " --source " + other, 2), "other.yaml:1:"));
  write_cylinder(other, 80, 0);
  CHECK(has(refusal(in.scan + " --source " + other, 2), "no activity"));
  write_cylinder(other, 80, 20000, 900);
  CHECK(has(refusal(in.scan + " --source " + other, 1), "outside the field of view"));
  write_cylinder(other, 80, 20000, 0, 140);
  CHECK(has(refusal(in.scan + " --source " + other, 2), "140 keV"));

  const auto map = [&](float value, double keV) {
    Image image = Image::zeros(Grid::centred(8, 8, 8, {20, 20, 20}));
    std::ranges::fill(image.voxels.span(), value);
    write_nifti(mu, image, {.description = mu_map_description(keV)});
    return in.scan + " --source " + in.source + " --mu " + mu;
  };
  CHECK(has(refusal(map(0.0096f, 511), 2), "is it in 1/mm?"));
  CHECK(has(refusal(map(1000, 511), 2), "Hounsfield"));
  CHECK(has(refusal(map(-1000, 511), 2), "must not be negative"));
  CHECK(has(refusal(map(0.15f, 140), 2), "140 keV"));
  CHECK(has(refusal(in.scan + " --source " + in.source + " --isotope Tc-99m", 2), "Tc-99m"));

  const std::string empty = (in.folder / "empty.petsird").string();
  REQUIRE(run_command("simulate --scanner " + in.scanner + " --header-only -o " + empty).code == 0);
  CHECK(has(refusal(empty + " --source " + in.source, 1), "no event came"));
  const std::string strips = (in.folder / "strips.txt").string();
  REQUIRE(run_command("simulate --quiet --scanner jpet_strip --phantom jpet_strip --events 100 -o " + strips).code ==
          0);
  CHECK(has(refusal(strips + " --source " + in.source, 1), "strips.txt"));
}
// SPDX-License-Identifier: Apache-2.0
