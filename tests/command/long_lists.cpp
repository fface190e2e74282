// Lists of events that memory has no room for, as a user meets them.
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

CommandResult reconstruct(const std::filesystem::path& out, const std::string& more) {
  return run_command(
      "run simulate_osem --quiet --backend cpu --set photons.events=20000 --set image.size=[20,20,8] "
      "--set image.voxel_mm=[12,12,12] --set subsets.subsets=2 --set subsets.iterations=2 --out " +
      out.string() + " " + more);
}

}  // namespace

TEST_CASE(
    "a reconstruction whose events lie on disk gives the image of one in memory, and leaves nothing on the disk") {
  const TemporaryFolder folder;
  const auto disk = folder / "disk";
  std::filesystem::create_directories(disk);
  const auto in_memory = reconstruct(folder / "memory", "");
  REQUIRE_MESSAGE(in_memory.code == 0, in_memory.err);
  const auto on_disk =
      reconstruct(folder / "spilled", "--set subsets.host_reserve_gib=1e6 --set subsets.spill_folder=" + disk.string());
  REQUIRE_MESSAGE(on_disk.code == 0, on_disk.err);
  CHECK(std::filesystem::is_empty(disk));
  const auto report = nlohmann::json::parse(text_of(folder / "spilled" / "run.json"));
  const std::string kept = report["gadgets"]["subsets"]["figures"]["events_kept"];
  CHECK_MESSAGE(kept.ends_with(" KiB on disk"), kept);
  const auto compared = run_command("compare " + (folder / "spilled" / "image.nii.gz").string() + " " +
                                    (folder / "memory" / "image.nii.gz").string() + " --json");
  REQUIRE_MESSAGE(compared.code == 0, compared.err);
  CHECK(compared.json()["nrms"].get<double>() < 1e-6);
}

TEST_CASE("bench longlist says what an iteration takes, and the file it writes holds the same events") {
  const TemporaryFolder folder;
  const auto file = folder / "list.petsird";
  const auto run = run_bench("longlist --backend cpu --events 3000 --size 20 20 20 --voxel 15 --json " +
                             ("--write-petsird " + file.string()));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto report = run.json();
  REQUIRE(report["results"].size() == 2);
  for (const auto& row : report["results"]) {
    CHECK(row["events_used"].get<int>() + row["events_skipped"].get<int>() == 3000);
    CHECK(row["total_s"].get<double>() > 0);
  }
  CHECK(report["nrms_to_reference"]["joseph"].get<double>() < 1e-6);
  CHECK(report["nrms_to_reference"]["tor"].get<double>() < 1e-6);
  const auto inspected = run_command("inspect --json " + file.string());
  REQUIRE_MESSAGE(inspected.code == 0, inspected.err);
  CHECK_MESSAGE(inspected.out.find("3000") != std::string::npos, inspected.out);

  const auto image = run_command(
      "run long_list --quiet --backend cpu --set image.size=[20,20,20] --set image.voxel_mm=[15,15,15] "
      "--set subsets.events=1000 --set projected.sensitivity.sampled_pairs=20000 --set "
      "projected.sensitivity.cache=false "
      "--input " +
      file.string() + " --out " + (folder / "out").string());
  REQUIRE_MESSAGE(image.code == 0, image.err);
  const auto run_report = nlohmann::json::parse(text_of(folder / "out" / "run.json"));
  CHECK(run_report["gadgets"]["projected"]["figures"]["projecting_s"].get<double>() > 0);
}
// SPDX-License-Identifier: Apache-2.0
