// CASToR's files as a user meets them: written by one pipeline, inspected, and reconstructed by another; and what is told
// of files that cannot be.
#include <filesystem>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "kernels/analysis/roi.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

struct CastorScan {
  TemporaryFolder folder;
  std::filesystem::path out = folder / "castor", scan = out / "scan.cdh";

  CastorScan() {
    std::ofstream(folder / "write.yaml")
        << "pipeline: write\ngadgets:\n"
           "  photons: {use: simulator, scanner: demo_ring, phantom: uniform_cylinder, "
           "events: 60000, attenuation: false}\n"
           "  file: {use: castor_writer, from: photons}\n";
    const auto made =
        run_command(fmt::format("run {} --quiet --out {}", (folder / "write.yaml").string(), out.string()));
    REQUIRE_MESSAGE(made.code == 0, made.err);
  }
  CommandResult reconstruct() const {
    return run_command(
        fmt::format("run castor_osem --quiet --backend cpu --input {} --out {} --set image.size=[40,40,24] --set "
                    "image.voxel_mm=[6,6,6] --set subsets.iterations=1 --set projected.sensitivity.cache=false --set "
                    "projected.sensitivity.exact_pairs=0 --set projected.sensitivity.sampled_pairs=200000",
                    scan.string(), (folder / "image").string()));
  }
};

}  // namespace

TEST_CASE("a scan that castor_writer wrote is inspected, and castor_osem makes the cylinder's image of it") {
  const CastorScan scan;
  const CommandResult data = run_command("inspect " + scan.scan.string());
  REQUIRE_MESSAGE(data.code == 0, data.err);
  CHECK(data.out.find("CASToR list mode") != std::string::npos);
  CHECK(data.out.find("60000, with 60000 counts") != std::string::npos);
  const CommandResult scanner = run_command("inspect --json " + (scan.out / "scan.hscan").string());
  REQUIRE_MESSAGE(scanner.code == 0, scanner.err);
  CHECK(scanner.json().at("format") == "CASToR scanner");
  const CommandResult made = scan.reconstruct();
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const Image image = read_nifti(scan.folder / "image" / "image.nii.gz");
  const double inside = statistics(image, Cylinder{{0, 0, 0}, 30, 40}).mean;
  const double outside = statistics(image, Cylinder{{105, 105, 0}, 10, 40}).mean;
  CHECK(inside > 10 * outside);
}

TEST_CASE("convert makes PETSIRD of a CASToR scan, and says what its header lacks, or takes the scanner's file") {
  const CastorScan scan;
  const auto held_by = [&](const std::filesystem::path& file) {
    const CommandResult held = run_command("inspect --json " + file.string());
    REQUIRE_MESSAGE(held.code == 0, held.err);
    return held.json();
  };
  const auto plain = scan.folder / "plain.petsird", named = scan.folder / "named.petsird";
  CommandResult done = run_command(fmt::format("convert --quiet {} {}", scan.scan.string(), plain.string()));
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK_MESSAGE(done.err.find("left out of the header") != std::string::npos, done.err);
  CHECK_MESSAGE(done.err.find("the energy window") != std::string::npos, done.err);
  CHECK(held_by(plain).at("prompts") == 60000);
  done = run_command(fmt::format("convert --quiet --scanner demo_ring {} {}", scan.scan.string(), named.string()));
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(held_by(named).at("prompts") == 60000);
  done = run_command(fmt::format("convert {} {}", plain.string(), (scan.folder / "copy.petsird").string()));
  CHECK_MESSAGE(done.err.find("already: copy it") != std::string::npos, done.err);
  done = run_command(
      fmt::format("convert --scanner demo_ring {} {}", scan.scan.string(), (scan.folder / "a.hs").string()));
  CHECK_MESSAGE(done.err.find("brings its own scanner") != std::string::npos, done.err);
  std::ofstream(scan.folder / "scan.root") << "root of a file";
  done = run_command(
      fmt::format("convert {} {}", (scan.folder / "scan.root").string(), (scan.folder / "b.petsird").string()));
  CHECK_MESSAGE(done.err.find("name the scanner that was simulated by --scanner") != std::string::npos, done.err);
}

TEST_CASE("a CASToR scan that is cut short, or whose scanner is missing, ends with one line and no image") {
  const CastorScan scan;
  std::filesystem::resize_file(scan.out / "scan.cdf", 1000);
  CommandResult refused = scan.reconstruct();
  CHECK(refused.code != 0);
  CHECK_MESSAGE(refused.err.find("scan.cdf: 1000 bytes, and") != std::string::npos, refused.err);
  CHECK(run_command("inspect " + scan.scan.string()).err.find("scan.cdf: 1000 bytes, and") != std::string::npos);
  std::filesystem::remove(scan.out / "scan.hscan");
  refused = scan.reconstruct();
  CHECK(refused.code != 0);
  CHECK_MESSAGE(refused.err.find("name the scanner's file or its folder by `geometry`") != std::string::npos,
                refused.err);
  CHECK_FALSE(std::filesystem::exists(scan.folder / "image" / "image.nii.gz"));
}
// SPDX-License-Identifier: Apache-2.0
