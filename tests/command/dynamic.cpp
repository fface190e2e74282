// A dynamic scan as a user reconstructs it, and looks at its regions over time.
#include <fstream>
#include <string>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/background_run.hpp"
#include "tests/command/command.hpp"
#include "tests/command/recording.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

std::filesystem::path recording() {
  return cylinder_recording(120000);
}

CommandResult reconstruct(const std::filesystem::path& folder, const std::string& more) {
  return run_command(
      "run dynamic_osem --quiet --backend cpu --set image.size=[32,32,16] --set image.voxel_mm=[8,8,8] "
      "--set events.batch_events=2000 --set projected.sensitivity.cache=false --set "
      "projected.sensitivity.exact_pairs=0 "
      "--set projected.sensitivity.sampled_pairs=400000 --set subsets.subsets=2 --set subsets.iterations=3 "
      "--set projected.deterministic=true --input " +
      recording().string() + " --out " + folder.string() + " " + more);
}

}  // namespace

TEST_CASE("frames of a dynamic scan become one file, whose regions keep their activity over time") {
  const TemporaryFolder folder;
  const auto inspected = run_command("inspect --json " + recording().string());
  REQUIRE(inspected.code == 0);
  const double seconds = 1e-3 * inspected.json()["duration_ms"].get<double>();
  const auto run =
      reconstruct(folder / "all", fmt::format("--set 'subsets.frames=[2x{:g}, {:g}]'", seconds / 4, seconds / 2));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto books = nlohmann::json::parse(text_of(folder / "all" / "run.json"))["books"];
  CHECK(books["balanced"] == true);
  CHECK(books["received"] == 120000);
  const auto analysed = run_command("analyse --json --phantom uniform_cylinder --plot " +
                                    (folder / "curves.png").string() + " " + (folder / "all").string());
  REQUIRE_MESSAGE(analysed.code == 0, analysed.err);
  const auto images = analysed.json()["studies"][0]["images"];
  REQUIRE(images.size() == 3);
  CHECK(images[2]["start_s"].get<double>() == approx(seconds / 2).epsilon(1e-5));
  for (const auto& image : images)
    CHECK(image["regions"][0]["mean"].get<double>() ==
          approx(image["regions"][0]["truth"].get<double>()).epsilon(0.1));  // 30,000 events, 8 mm voxels
  CHECK(std::filesystem::file_size(folder / "curves.png") > 5000);
  // The second frame alone is the second frame, bit for bit.
  const auto alone =
      reconstruct(folder / "alone", fmt::format("--set 'subsets.frames=[{:g}-{:g}]'", seconds / 4, seconds / 2));
  REQUIRE_MESSAGE(alone.code == 0, alone.err);
  const auto frames = read_nifti_volumes(folder / "all" / "image.nii.gz");
  CHECK(frames[1].voxels.to_vector() == read_nifti(folder / "alone" / "image.nii.gz").voxels.to_vector());
}

TEST_CASE("frames of a live scan are those of its replay bit for bit, and those of the file that was sent") {
  for (const char* cut :
       {"--set 'subsets.frames=[2x0.01, 0.02]'", "--set 'subsets.frames=[]' --set subsets.frames_of_events=50000"}) {
    CAPTURE(cut);
    const TemporaryFolder folder;
    const std::string endpoint = "ipc://" + (folder / "wire").string(), journal = (folder / "scan.journal").string();
    const std::string same =
        std::string(
            " --backend cpu --set image.size=[16,16,8] --set image.voxel_mm=[16,16,18] --set subsets.subsets=2 "
            "--set subsets.least_events=100 --set projected.deterministic=true "
            "--set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 "
            "--set projected.sensitivity.sampled_pairs=100000 ") +
        cut + " ";
    BackgroundRun live("live_dynamic" + same + "--set feed.journal=" + journal + " --set feed.endpoint=" + endpoint);
    const std::string file = "--quiet --set events.batch_events=1000 --input " + recording().string();
    const auto sent = run_command("run send_recording " + file +
                                  " --set scanner=demo_ring --set sent.speed=0 --set endpoint=" + endpoint + " --out " +
                                  (folder / "sent").string());
    REQUIRE_MESSAGE(sent.code == 0, sent.err);
    REQUIRE_MESSAGE(live.wait() == 0, live.err());
    const auto offline = run_command("run dynamic_osem " + file + same + "--out " + (folder / "file").string());
    REQUIRE_MESSAGE(offline.code == 0, offline.err);
    const auto replayed = run_command("replay " + journal + " --pipeline live_dynamic --quiet --speed 0" + same +
                                      "--out " + (folder / "replayed").string());
    REQUIRE_MESSAGE(replayed.code == 0, replayed.err);
    const auto frames = read_nifti_volumes(live.out / "image.nii.gz");
    const auto again = read_nifti_volumes(folder / "replayed" / "image.nii.gz");
    const auto of_file = read_nifti_volumes(folder / "file" / "image.nii.gz");
    REQUIRE((frames.size() == 3 && again.size() == 3 && of_file.size() == 3));
    for (std::size_t f = 0; f < 3; ++f) {
      CHECK(again[f].voxels.to_vector() == frames[f].voxels.to_vector());
      for (std::int64_t v = 0; v < frames[f].voxels.size(); ++v)
        CHECK(of_file[f].voxels[v] == approx(frames[f].voxels[v]).epsilon(1e-5));
    }
    CHECK(text_of(folder / "replayed" / "image.json") == text_of(live.out / "image.json"));
    CHECK(nlohmann::json::parse(text_of(live.out / "run.json"))["books"]["balanced"] == true);
  }
}

TEST_CASE("frames of a live scan in PETSIRD's blocks are those of the file with these blocks, bit for bit") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "wire").string();
  const std::string same =
      " --backend cpu --set image.size=[16,16,8] --set image.voxel_mm=[16,16,18] "
      "--set 'subsets.frames=[2x0.01, 0.02]' --set subsets.subsets=2 --set subsets.least_events=100 "
      "--set projected.deterministic=true --set projected.sensitivity.cache=false "
      "--set projected.sensitivity.exact_pairs=0 --set projected.sensitivity.sampled_pairs=100000 ";
  BackgroundRun live("live_dynamic_petsird" + same + "--set feed.endpoint=" + endpoint);
  const std::string input = "--quiet --input " + recording().string();
  const auto sent = run_command("run send_petsird " + input + " --set sent.speed=0 --set endpoint=" + endpoint +
                                " --out " + (folder / "sent").string());
  REQUIRE_MESSAGE(sent.code == 0, sent.err);
  REQUIRE_MESSAGE(live.wait() == 0, live.err());
  const auto offline = run_command("run dynamic_osem " + input + same + "--out " + (folder / "file").string());
  REQUIRE_MESSAGE(offline.code == 0, offline.err);
  const auto frames = read_nifti_volumes(live.out / "image.nii.gz");
  const auto of_file = read_nifti_volumes(folder / "file" / "image.nii.gz");
  REQUIRE((frames.size() == 3 && of_file.size() == 3));
  for (std::size_t f = 0; f < 3; ++f) CHECK(of_file[f].voxels.to_vector() == frames[f].voxels.to_vector());
}

TEST_CASE("uptake and volume directly from the events, as a user runs it") {
  const TemporaryFolder folder;
  const std::string plasma = (folder / "plasma.csv").string();
  const auto direct = [&](const std::string& table, const std::string& more) {
    std::ofstream(plasma) << table;
    return run_command(
        "run direct_patlak --quiet --backend cpu --json --overwrite --set image.size=[16,16,8] --set "
        "image.voxel_mm=[16,16,18] "
        "--set events.batch_events=500 --set projected.sensitivity.cache=false --set "
        "projected.sensitivity.exact_pairs=0 "
        "--set projected.sensitivity.sampled_pairs=100000 --set subsets.subsets=2 --set subsets.iterations=2 --input " +
        recording().string() + " --out " + (folder / "out").string() + " --set estimate.input=" + plasma + " " + more);
  };
  const std::string frames = "--set 'subsets.frames=[0.01-0.02, 0.01, 0.01]' --set estimate.start_s=0.01";
  const auto run = direct("time_s,value\n0,0\n0.005,20000\n1,2000\n", frames);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.json()["books"]["balanced"] == true);
  for (const char* name : {"ki.nii.gz", "v.nii.gz"}) {
    const Image image = read_nifti(folder / "out" / name);
    CHECK(image.voxels[image.grid.index(8, 8, 4)] > 0);
  }
  CHECK(read_nifti_volumes(folder / "out" / "image.nii.gz").size() == 3);
  const auto says = [](const CommandResult& result, int code, const char* words) {
    CHECK(result.code == code);
    CHECK_MESSAGE(result.err.find(words) != std::string::npos, result.err);
  };
  says(direct("time_s,value\n0,1\n0.02,1\n", frames), 1, "plasma.csv: the table ends at 0.02 s, before frame 2 does");
  says(direct("time_s,value\n0,1\n1,1\n", "--set 'subsets.frames=[3x0.01]'"), 1,
       "frame 1 begins at 0 s, before start_s (1200 s)");
  says(direct("time,value\n0,1\n1,1\n", frames), 2, "plasma.csv: there is no column time_s");
}

TEST_CASE("frames that cannot be start nothing, and one line says why") {
  const TemporaryFolder folder;
  const auto run = reconstruct(folder / "none", "--set 'subsets.frames=[20-30, 25-40]'");
  CHECK(run.code == 2);
  CHECK(run.err.find("frames cannot overlap") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "none" / "image.nii.gz"));
}
// SPDX-License-Identifier: Apache-2.0
