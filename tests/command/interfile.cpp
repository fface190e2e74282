// Interfile of PET as a user meets it: a recording becomes a sinogram by one command, is inspected and reconstructed; images
// go to and fro; and what is told of files that cannot be.
#include <filesystem>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

struct Sinogram {
  TemporaryFolder folder;
  std::filesystem::path recording = folder / "scan.petsird", data = folder / "scan.hs";

  Sinogram() {
    // A ring of few crystals, so that all of its pairs and ToF bins are few.
    std::ofstream(folder / "tiny.yaml")
        << "name: tiny\ninner_radius_mm: 100\nfov_radius_mm: 60\nmodules: {transaxial: 12, axial: 2, pitch_axial_mm: "
           "20}\n"
           "crystals:\n  transaxial: 4\n  axial: 3\n  size_mm: [10, 6]\n  pitch_mm: [10.5, 6.5]\n"
           "  layers: [{depth_mm: 10, attenuation_per_cm: 0.83}]\n"
           "coincidence: {window_ns: 4, min_sector_difference: 3}\ntof: {fwhm_ps: 300, bins: 9, bin_ps: 120}\n"
           "energy: {low_keV: 435, high_keV: 650, resolution: 0.12}\n";
    std::ofstream(folder / "ball.yaml") << "name: ball\nsolids:\n  - {name: ball, shape: sphere, diameter_mm: 8, "
                                           "centre_mm: [25, -15, 6], activity_Bq_mL: 1.0e+6}\n";
    const auto made =
        run_command(fmt::format("simulate --quiet --scanner {} --phantom {} --no-attenuation "
                                "--events 20000 -o {}",
                                (folder / "tiny.yaml").string(), (folder / "ball.yaml").string(), recording.string()));
    REQUIRE_MESSAGE(made.code == 0, made.err);
    const auto converted = run_command(fmt::format("convert --quiet {} {}", recording.string(), data.string()));
    REQUIRE_MESSAGE(converted.code == 0, converted.err);
  }
  CommandResult reconstruct(const std::string& more = "") const {
    return run_command(
        fmt::format("run sinogram_osem --quiet --input {} --out {} --set image.size=[24,24,10] --set "
                    "image.voxel_mm=[5,5,5] --set subsets.subsets=1 --set subsets.iterations=4 --set "
                    "projected.sensitivity.cache=false {}",
                    data.string(), (folder / "image").string(), more));
  }
};

}  // namespace

TEST_CASE("a recording becomes a sinogram by convert, which is inspected and reconstructed with its efficiencies") {
  const Sinogram scan;
  const CommandResult held = run_command("inspect --json " + scan.data.string());
  REQUIRE_MESSAGE(held.code == 0, held.err);
  CHECK(held.json().at("format") == "Interfile projection data of PET");
  CHECK(held.json().at("rings") == 6);
  CHECK(held.json().at("detectors_per_ring") == 48);
  CHECK(held.json().at("sum") == 20000);
  CHECK(held.json().at("tof").at("positions") == 9);
  const CommandResult words = run_command("inspect " + scan.data.string());
  CHECK_MESSAGE(words.out.find("20000 in all") != std::string::npos, words.out);
  const CommandResult made = scan.reconstruct("--set feed.normalisation=" + (scan.folder / "scan_norm.hs").string());
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const Image image = read_nifti(scan.folder / "image" / "image.nii.gz");
  double weight = 0;
  Vec3d sum;
  for (int k = 0; k < image.grid.size[2]; ++k)
    for (int j = 0; j < image.grid.size[1]; ++j)
      for (int i = 0; i < image.grid.size[0]; ++i) {
        const double w = static_cast<double>(image.voxels[image.grid.index(i, j, k)]);
        weight += w;
        sum = sum + w * image.grid.centre(i, j, k).as<double>();
      }
  CHECK(norm((1 / weight) * sum - Vec3d{25, -15, 6}) < 3);  // of voxels of 5 mm
}

TEST_CASE("sinograms of another scanner than the pipeline's are refused with the file and what differs") {
  const Sinogram scan;
  const CommandResult made = scan.reconstruct("--set feed.scanner=" + (scan.folder / "tiny.yaml").string());
  CHECK_MESSAGE(made.code == 0, made.err);
  const CommandResult refused = scan.reconstruct("--overwrite --set feed.scanner=demo_ring");
  CHECK(refused.code != 0);
  CHECK_MESSAGE(
      refused.err.find("scan.hs: sinograms of another scanner: the number of rings is 6, and 24 in demo_ring") !=
          std::string::npos,
      refused.err);
}

TEST_CASE("a sinogram becomes CASToR's histogram by convert, with all of its lines") {
  const Sinogram scan;
  const CommandResult done =
      run_command(fmt::format("convert --quiet {} {}", scan.data.string(), (scan.folder / "bins.cdh").string()));
  REQUIRE_MESSAGE(done.code == 0, done.err);
  const CommandResult held = run_command("inspect --json " + (scan.folder / "bins.cdh").string());
  REQUIRE_MESSAGE(held.code == 0, held.err);
  CHECK(held.json().at("counts") == 20000);
  CHECK(held.json().at("events") == 36 * 24 * 47);  // pairs of rings, views, tangential positions
}

TEST_CASE("convert to a format without a place for efficiencies says that they are left out") {
  const Sinogram scan;
  const CommandResult done =
      run_command(fmt::format("convert --quiet {} {}", scan.recording.string(), (scan.folder / "list.cdh").string()));
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK_MESSAGE(done.err.find("efficiencies of its scanner's pairs") != std::string::npos, done.err);
}

TEST_CASE("images go from NIfTI to Interfile and back by convert, and commands take either") {
  const TemporaryFolder folder;
  const auto nifti = folder / "mu.nii.gz", interfile = folder / "mu.hv", back = folder / "back.nii.gz";
  CommandResult done = run_command(fmt::format("phantom uniform_cylinder --mu --voxel-mm 8 -o {}", nifti.string()));
  REQUIRE_MESSAGE(done.code == 0, done.err);
  done = run_command(fmt::format("convert {} {}", nifti.string(), interfile.string()));
  REQUIRE_MESSAGE(done.code == 0, done.err);
  done = run_command(fmt::format("convert {} {}", interfile.string(), back.string()));
  REQUIRE_MESSAGE(done.code == 0, done.err);
  const Image first = read_nifti(nifti), last = read_nifti(back);
  CHECK(first.voxels.to_vector() == last.voxels.to_vector());
  CHECK(norm(first.grid.origin_mm - last.grid.origin_mm) < 1e-3f);
  done = run_command(fmt::format("compare {} {}", interfile.string(), nifti.string()));
  CHECK_MESSAGE(done.code == 0, done.err);
  done = run_command("inspect " + interfile.string());
  CHECK_MESSAGE(done.out.find("Interfile image of PET") != std::string::npos, done.err);
}

TEST_CASE("an image becomes a DICOM series by convert, a folder, and what it does not know is said") {
  const TemporaryFolder folder;
  const auto nifti = folder / "mu.nii.gz", series = folder / "mu.dicom";
  CommandResult done = run_command(fmt::format("phantom uniform_cylinder --mu --voxel-mm 16 -o {}", nifti.string()));
  REQUIRE_MESSAGE(done.code == 0, done.err);
  done = run_command(fmt::format("convert {} {}", nifti.string(), series.string()));
  if (done.err.find("no DICOM writer") != std::string::npos) return skip_test("GDCM");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK_MESSAGE(done.err.find("patient, tracer and times") != std::string::npos, done.err);
  const auto slices = static_cast<std::size_t>(read_nifti(nifti).grid.size[2]);
  CHECK(static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(series), {})) == slices);
  done = run_command("inspect " + series.string());
  CHECK_MESSAGE(done.out.find("DICOM PET series") != std::string::npos, done.out, done.err);
  CHECK_MESSAGE(done.out.find(fmt::format("{} slices, 1 of each", slices)) != std::string::npos, done.out);
  done = run_command(fmt::format("convert {} {}/", nifti.string(), (folder / "again").string()));
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(std::filesystem::exists(folder / "again" / "slice_0001.dcm"));
}

TEST_CASE("a sinogram that is cut short, and conversions that would lose something, end with one line and no file") {
  const Sinogram scan;
  const auto refused = [&](const std::string& arguments, const char* what) {
    const CommandResult result = run_command(arguments);
    CHECK(result.code != 0);
    CHECK_MESSAGE(result.err.find(what) != std::string::npos, result.err);
  };
  refused(fmt::format("convert {} {}", scan.data.string(), (scan.folder / "bins.petsird").string()),
          "bins are not made into events");
  refused(fmt::format("convert {} {}", scan.data.string(), (scan.folder / "scan.edf").string()),
          "its ending says no format");
  refused(fmt::format("convert {} {}", scan.recording.string(), scan.recording.string()),
          "is read and cannot be written");
  refused(fmt::format("convert {} {}", (scan.folder / "tiny.yaml").string(), (scan.folder / "a.hs").string()),
          "this is none of what is converted");
  CHECK_FALSE(std::filesystem::exists(scan.folder / "bins.petsird"));
  std::filesystem::resize_file(scan.folder / "scan.s", 1000);
  refused("inspect " + scan.data.string(), "scan.s: 1000 bytes, and");
  const CommandResult made = scan.reconstruct();
  CHECK(made.code != 0);
  CHECK_MESSAGE(made.err.find("it is cut short") != std::string::npos, made.err);
  CHECK_FALSE(std::filesystem::exists(scan.folder / "image" / "image.nii.gz"));
}
// SPDX-License-Identifier: Apache-2.0
