// An image's quantity as a user meets it: in the file, in run.json, in report.html, in the log and in the last lines.
#include <fstream>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "kernels/analysis/roi.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

const std::string coarse_image =
    " --quiet --backend cpu --set image.size=[40,40,20] --set image.voxel_mm=[6,6,6] --set subsets.subsets=4 "
    "--set subsets.iterations=2 --set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 "
    "--set projected.sensitivity.sampled_pairs=1000000 ";

bool file_holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

void simulate(const std::filesystem::path& scan, const std::string& more) {
  const auto made =
      run_command("simulate --quiet --phantom uniform_cylinder --seed 5 " + more + " -o " + scan.string());
  REQUIRE_MESSAGE(made.code == 0, made.err);
}

// A field of a NIfTI file's header.
std::string header_text(const std::filesystem::path& file, std::size_t at, std::size_t size) {
  const std::string field = text_of(file).substr(at, size);
  return field.substr(0, field.find('\0'));
}

}  // namespace

TEST_CASE("an image is the activity in Bq/mL however long the scan was, and says so") {
  const TemporaryFolder folder;
  std::vector<double> means;
  for (const char* events : {"60000", "600000"}) {
    simulate(folder / "scan.petsird", std::string("--no-attenuation --events ") + events);
    const auto ran =
        run_command("run listmode_osem --set file.file=image.nii --input " + (folder / "scan.petsird").string() +
                    coarse_image + "--overwrite --out " + (folder / "out").string());
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    means.push_back(statistics(read_nifti(folder / "out/image.nii"), Cylinder{{0, 0, 0}, 70, 50}).mean);
    CHECK(file_holds(ran.out, "image.nii: 40 x 40 x 20 voxels of 6 mm, Bq/mL\n2 iterations x 4 subsets of "));
    CHECK(file_holds(ran.out, "corrections made: normalisation; not made: none\n"));
    CHECK_FALSE(file_holds(ran.out, "latency"));
    CHECK_FALSE(file_holds(ran.err, "not quantitative"));
  }
  CHECK(means[1] == approx(means[0]).epsilon(0.02));  // with the scan's length: ten times as much
  CHECK(header_text(folder / "out/image.nii", 328, 16) == "Bq/mL");
  CHECK(header_text(folder / "out/image.nii", 148, 80) == "tofstream, iteration 2, Bq/mL");
  const auto image = run_command("inspect --json " + (folder / "out/image.nii").string()).json();
  CHECK(image["quantity"]["unit"] == "Bq/mL");
  CHECK(image["quantity"]["quantitative"] == true);
  CHECK(image["quantity"] == image["provenance"]["quantity"]);
  const auto words = run_command("inspect " + (folder / "out/image.nii").string()).out;
  CHECK(file_holds(words, "unit            Bq/mL\nquantitative    yes\n"));

  const auto whole =
      run_command("run listmode_osem --verbose --set subsets.reference_s=0 --input " +
                  (folder / "scan.petsird").string() + coarse_image + "--overwrite --out " + (folder / "out").string());
  CHECK(file_holds(whole.out, "Bq s/mL"));
  CHECK(file_holds(whole.out, "msgs in"));
}

TEST_CASE("an attenuated scan that nobody corrects is marked, and the log names the correction") {
  const TemporaryFolder folder;
  simulate(folder / "scan.petsird", "--events 60000 --randoms-cps 100000 --delayeds");
  const auto about = run_command("inspect " + (folder / "scan.petsird").string());
  CHECK(file_holds(about.out,
                   "the file has efficiencies, delayeds for the randoms; its events need attenuation, randoms"));
  const auto ran = run_command("run listmode_osem --input " + (folder / "scan.petsird").string() + coarse_image +
                               "--out " + folder.path().string());
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  for (const char* name : {"attenuation", "randoms"})
    CHECK(count(ran.err, std::string("the data call for a correction for ") + name) == 1);
  CHECK(file_holds(ran.out, "Bq/mL, not quantitative: no correction for attenuation, randoms\n"));
  const auto figures = nlohmann::json::parse(text_of(folder / "run.json"))["gadgets"]["file"]["figures"];
  CHECK(figures["quantitative"] == false);
  CHECK(figures["corrections_not_made"] == nlohmann::json{"attenuation", "randoms"});
  CHECK(file_holds(text_of(folder / "report.html"), "not quantitative: no correction for attenuation, randoms"));
}

TEST_CASE("a window that leaves out valid events marks the image, its file and its report") {
  const TemporaryFolder folder;
  std::ofstream(folder / "window.yaml") << "include: " << find_shared("pipelines", "simulate_osem").string()
                                        << "\npipeline: window\ngadgets:\n"
                                           "  photons: {phantom: uniform_cylinder, events: 60000, attenuation: false}\n"
                                           "  inner: {use: tof_window, from: photons, half_width_mm: 60}\n"
                                           "  sorted: {from: inner}\n";
  const auto ran = run_command("run " + (folder / "window.yaml").string() + coarse_image +
                               "--set file.file=image.nii --out " + folder.path().string());
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(count(ran.err, "inner (tof_window) leaves out valid events") == 1);
  CHECK(file_holds(ran.out, "Bq/mL, not quantitative: inner (tof_window) left out valid events\n"));
  CHECK(file_holds(header_text(folder / "image.nii", 148, 80), "not quantitative: inner (tof_window)"));
  const auto image = run_command("inspect --json " + (folder / "image.nii").string()).json();
  CHECK(image["quantity"]["rejecting"] == nlohmann::json{"inner (tof_window)"});
  CHECK(file_holds(text_of(folder / "report.html"), "inner (tof_window) left out valid events"));
}

TEST_CASE("event_corrections and the projector have one mu map, or the log names both gadgets") {
  const TemporaryFolder folder;
  simulate(folder / "scan.petsird", "--events 30000 --randoms-cps 100000 --delayeds");
  for (const char* voxel : {"10", "12"}) {
    const auto made = run_command("phantom uniform_cylinder --mu --voxel-mm " + std::string(voxel) + " -o " +
                                  (folder / (std::string("mu") + voxel + ".nii")).string());
    REQUIRE_MESSAGE(made.code == 0, made.err);
  }
  const auto run = [&](const std::string& more) {
    const auto ran = run_command("run corrected_osem --input " + (folder / "scan.petsird").string() + coarse_image +
                                 "--set variables.mu_map=" + (folder / "mu10.nii").string() + more +
                                 " --overwrite --out " + (folder / "out").string());
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return ran;
  };
  const auto good = run("");
  CHECK_FALSE(file_holds(good.err, "mu map"));
  CHECK(file_holds(good.out, "6 mm, Bq/mL\n"));
  const auto differ = run(" --set corrected.mu_map=" + (folder / "mu12.nii").string());
  CHECK(count(differ.err, "not the same mu map: corrected has ") == 1);
  CHECK(file_holds(differ.err, "projected has "));
  CHECK(file_holds(differ.out, "not quantitative: not the same mu map"));
  const auto one = run(" --set projected.hardware_mu_map=" + (folder / "mu12.nii").string());
  CHECK(file_holds(one.err, "mu10.nii and " + (folder / "mu12.nii").string() + " of hardware: give both the same"));
}

TEST_CASE("post_filter_mm smooths what is written, by one number or three, and every word about the image says so") {
  const TemporaryFolder folder;
  simulate(folder / "scan.petsird", "--no-attenuation --events 60000");
  const auto run = [&](const std::string& more, const char* out) {
    const auto ran =
        run_command("run listmode_osem --set file.file=image.nii --set projected.deterministic=true --input " +
                    (folder / "scan.petsird").string() + coarse_image + more + " --out " + (folder / out).string());
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return read_nifti(folder / out / "image.nii");
  };
  const Image sharp = run("", "sharp"), smooth = run("--set post_filter_mm=12", "smooth");
  run("--set post_filter_mm=[6,6,12]", "three");
  const Cylinder middle{{0, 0, 0}, 60, 40};
  CHECK(statistics(smooth, middle).mean == approx(statistics(sharp, middle).mean).epsilon(0.02));
  CHECK(statistics(smooth, middle).std < 0.5 * statistics(sharp, middle).std);
  CHECK(header_text(folder / "sharp/image.nii", 148, 80) == "tofstream, iteration 2, Bq/mL");
  CHECK(header_text(folder / "smooth/image.nii", 148, 80) == "tofstream, iteration 2, smoothed by 12 mm FWHM, Bq/mL");
  CHECK(header_text(folder / "smooth/image.nii", 328, 16) == "Bq/mL");
  CHECK(file_holds(header_text(folder / "three/image.nii", 148, 80), "smoothed by 6 x 6 x 12 mm FWHM"));
  const auto image = run_command("inspect --json " + (folder / "smooth/image.nii").string()).json();
  CHECK(image["filtered"] == "smoothed by 12 mm FWHM");
  CHECK(image["provenance"]["filtered"] == "smoothed by 12 mm FWHM");
  CHECK(image["quantity"]["quantitative"] == true);
  CHECK(file_holds(run_command("inspect " + (folder / "smooth/image.nii").string()).out,
                   "filtered        smoothed by 12 mm FWHM\n"));
  const auto report = nlohmann::json::parse(text_of(folder / "smooth/run.json"));
  CHECK(report["gadgets"]["file"]["figures"]["filtered"] == "smoothed by 12 mm FWHM");
  CHECK_FALSE(
      nlohmann::json::parse(text_of(folder / "sharp/run.json"))["gadgets"]["file"]["figures"].contains("filtered"));
}
// SPDX-License-Identifier: Apache-2.0
