// Views as a user meets them: a camera's scan simulated into a file, what the file holds, and its image.
#include <algorithm>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

TEST_CASE("spect_simulate writes a scan that inspect explains and spect_osem reconstructs") {
  const TemporaryFolder out;
  const auto simulated =
      run_command("run spect_simulate --quiet --set photons.events=200000 --out " + (out / "scan").string());
  REQUIRE_MESSAGE(simulated.code == 0, simulated.err);
  const std::string scan = (out / "scan/scan.hs").string();
  const auto held = run_command("inspect --json " + scan).json();
  CHECK(held["views"] == 120);
  CHECK(held["pixels"] == nlohmann::json{128, 128});
  CHECK(held["collimator"] == "LEHR");
  CHECK(held["radius_mm"] == nlohmann::json{200, 200});
  CHECK(held["counts"].get<double>() == approx(200000).epsilon(0.02));
  CHECK(held["energy_windows"][0]["low_keV"] == approx(126.5));
  const auto words = run_command("inspect " + scan);
  CHECK(words.code == 0);
  CHECK(words.out.find("of 128 x 128 pixels of 4.4 x 4.4 mm") != std::string::npos);
  const auto wrong = run_command("inspect --bin 3 " + scan);
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("--bin is for a PETSIRD file") != std::string::npos);

  const auto run = run_command("run spect_osem --quiet --input " + scan + " --set scanner=spect_lehr --out " +
                               (out / "image").string() + " --set image.voxel_mm=8.8 --set subsets.iterations=1");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(nlohmann::json::parse(text_of(out / "image/run.json"))["books"]["balanced"] == true);
  const Image image = read_nifti(out / "image/image.nii.gz");
  CHECK(*std::ranges::max_element(image.voxels.span()) > 0);
}

TEST_CASE("an image of SPECT is not called PET: BIDS' JSON says NM, and dicom_writer refuses the start image") {
  const TemporaryFolder out;
  const auto simulated =
      run_command("run spect_simulate --quiet --set photons.events=50000 --set photons.half_life_s=21624 --out " +
                  (out / "scan").string());
  REQUIRE_MESSAGE(simulated.code == 0, simulated.err);
  const std::string few =
      " --quiet --input " + (out / "scan/scan.hs").string() + " --set image.voxel_mm=17.6 --set subsets.iterations=1";
  const auto run =
      run_command("run spect_osem" + few + " --set file.bids=true --set corrected.decay.isotope=Tc-99m " +
                  "--set file.tracer.isotope=Tc-99m --set post_filter_mm=8 --out " + (out / "image").string());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto json = nlohmann::json::parse(text_of(out / "image/image.json"));
  CHECK(json["Modality"] == "NM");
  CHECK(json["ImageDecayCorrected"] == true);
  CHECK(json["ReconFilterSize"] == 8);
  CHECK(run_command("inspect --json " + (out / "image/image.nii.gz").string()).json()["provenance"]["modality"] ==
        "SPECT");
  std::ofstream(out / "dicom.yaml") << "include: " << find_shared("pipelines", "spect_osem").string()
                                    << "\npipeline: dicom\ngadgets:\n  dicom: {use: dicom_writer, from: smoothed}\n";
  const auto refused = run_command("run " + (out / "dicom.yaml").string() + few + " --out " + (out / "no").string());
  CHECK(refused.code == 1);
  const bool is_built = refused.err.find("this build has no DICOM writer") == std::string::npos;
  CHECK_MESSAGE((!is_built || refused.err.find("write it by nifti_writer") != std::string::npos), refused.err);
  CHECK_FALSE(std::filesystem::exists(out / "no/dicom"));
}

TEST_CASE("projection data that are wrong are told by inspect in one line") {
  const TemporaryFolder out;
  std::ofstream(out / "scan.hs") << "!INTERFILE :=\nname of data file := nowhere.s\n!END OF INTERFILE :=\n";
  const auto result = run_command("inspect " + (out / "scan.hs").string());
  CHECK(result.code == 2);
  CHECK(std::ranges::count(result.err, '\n') == 1);
  CHECK_MESSAGE(result.err.find("scan.hs") != std::string::npos, result.err);
}
// SPDX-License-Identifier: Apache-2.0
