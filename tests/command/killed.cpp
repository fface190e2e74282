// Reconstructions of a file, and of frames, that are killed as a system kills them, and go on by one command.
#include <csignal>
#include <fstream>
#include <thread>

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/command/recording.hpp"

using namespace tofstream;

namespace {

std::filesystem::path recording_to_kill() {
  return cylinder_recording(40000);
}

const std::string killable =
    "--quiet --backend cpu --set image.size=[16,16,8] --set image.voxel_mm=[16,16,18] "
    "--set projected.deterministic=true --set projected.sensitivity.cache=false "
    "--set projected.sensitivity.exact_pairs=0 --set projected.sensitivity.sampled_pairs=100000 ";

CommandResult run_killable(const std::string& pipeline, const std::filesystem::path& folder, const std::string& more) {
  return run_command("run " + pipeline + " " + killable + "--input " + recording_to_kill().string() + " --out " +
                     folder.string() + " " + more);
}

std::string killed_at(int message) {
  return fmt::format("--set 'projected.fault={{kill_at: {}, delay_ms: 40}}' ", message);
}

std::string resumed_from(const std::filesystem::path& folder) {
  return "--set resume_from=" + folder.string() + " ";
}

nlohmann::json run_json_of(const std::filesystem::path& folder) {
  return nlohmann::json::parse(text_of(folder / "run.json"));
}

void check_same_frames(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto frames = read_nifti_volumes(a / "image.nii.gz"), expected = read_nifti_volumes(b / "image.nii.gz");
  REQUIRE(frames.size() == expected.size());
  for (std::size_t f = 0; f < frames.size(); ++f) CHECK(frames[f].voxels.to_vector() == expected[f].voxels.to_vector());
}

}  // namespace

TEST_CASE("killed within an epoch, SVRG goes on from its anchor and ends with the undisturbed image and books") {
  const TemporaryFolder folder;
  const std::string settings =
      "--set subsets.subsets=4 --set subsets.least_events=0 --set subsets.iterations=7 --set estimate.anchor_every=2 "
      "--set checkpoint.every_s=0 ";
  REQUIRE(run_killable("svrg_rdp", folder / "whole", settings).code == 0);
  const auto out = folder / "killed";
  CHECK(run_killable("svrg_rdp", out, settings + killed_at(13)).code == 128 + SIGKILL);
  CHECK(checkpoint_step(out).update == 4);
  CHECK(run_killable("svrg_rdp", out, settings + resumed_from(out) + killed_at(16)).code == 128 + SIGKILL);
  CHECK(checkpoint_step(out).update == 16);
  const auto resumed = run_killable("svrg_rdp", out, settings + resumed_from(out));
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  check_same_frames(out, folder / "whole");
  CHECK(run_json_of(out)["books"] == run_json_of(folder / "whole")["books"]);
}

TEST_CASE("killed within a frame, a file's frames and what is made of them go on as if it had not been killed") {
  const TemporaryFolder folder;
  const std::string settings =
      "--set events.batch_events=1000 --set 'subsets.frames=[3x0.004]' --set subsets.subsets=2 "
      "--set subsets.least_events=100 --set parametric.start_s=0.004 --set parametric.input=" +
      (folder / "plasma.csv").string() + " ";
  std::ofstream(folder / "plasma.csv") << "time_s,value\n0,0\n0.001,20000\n1,2000\n";
  REQUIRE(run_killable("patlak", folder / "whole", settings).code == 0);
  const auto out = folder / "killed";
  CHECK(run_killable("patlak", out, settings + killed_at(12)).code == 128 + SIGKILL);
  CHECK(std::filesystem::exists(out / "checkpoint_frame_0001.tofc"));
  CHECK_FALSE(std::filesystem::exists(out / "checkpoint_frame_0002.tofc"));
  CHECK(run_killable("patlak", out, settings + resumed_from(out) + killed_at(12)).code == 128 + SIGKILL);
  const auto resumed = run_killable("patlak", out, settings + resumed_from(out));
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  check_same_frames(out, folder / "whole");
  for (const char* name : {"ki.nii.gz", "v.nii.gz"}) {
    CAPTURE(name);
    CHECK(read_nifti(out / name).voxels.to_vector() == read_nifti(folder / "whole" / name).voxels.to_vector());
  }
  CHECK(text_of(out / "image.json") == text_of(folder / "whole" / "image.json"));
  CHECK(run_json_of(out)["books"] == run_json_of(folder / "whole")["books"]);
  // Another run in its place leaves no frame of it behind.
  const auto other = run_killable("dynamic_osem", out, "--overwrite --set 'subsets.frames=[0.012]'");
  REQUIRE_MESSAGE(other.code == 0, other.err);
  CHECK_FALSE(std::filesystem::exists(out / "checkpoint_frame_0002.tofc"));
}

TEST_CASE("killed within a frame while it receives, live_dynamic goes on with the frames of its journal") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string(), journal = (folder / "journal").string();
  const std::string frames =
      "--set 'subsets.frames=[4x0.5, 2x1]' --set subsets.subsets=2 --set subsets.least_events=0 ";
  const std::string live = "run live_dynamic " + killable + frames + "--set feed.endpoint=" + endpoint +
                           " --set feed.journal=" + journal + " --out " + (folder / "live").string() + " ";
  std::jthread scanner([&] {
    run_line("timeout 300 " + program().string() + " run simulate_live --quiet --out " + (folder / "scanner").string() +
             " --set endpoint=" + endpoint +
             " --set photons.seconds=4 --set photons.activity_scale=0.003 --set photons.batch_events=400 "
             "--set sent.speed=1");
  });
  CHECK(run_command(live + "--set projected.fault.kill_at=18").code == 128 + SIGKILL);  // in the third frame
  CHECK(std::filesystem::exists(folder / "live" / "checkpoint_frame_0001.tofc"));
  const auto resumed = run_command(live + "--set feed.resume=true " + resumed_from(folder / "live"));
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  scanner.join();
  const auto replayed = run_command("replay " + journal + " --pipeline live_dynamic --speed 0 " + killable + frames +
                                    "--out " + (folder / "replayed").string());
  REQUIRE_MESSAGE(replayed.code == 0, replayed.err);
  CHECK(read_nifti_volumes(folder / "live" / "image.nii.gz").size() == 6);
  check_same_frames(folder / "live", folder / "replayed");
  const auto books = run_json_of(folder / "live")["books"], expected = run_json_of(folder / "replayed")["books"];
  CHECK(books["balanced"] == true);
  for (const char* fate : {"received", "reconstructed", "rejected"}) {
    CAPTURE(fate);
    CHECK(books[fate] == expected[fate]);
  }
  // The frames that were complete did not go through the projector again.
  CHECK(run_json_of(folder / "live")["gadgets"]["subsets"]["figures"].value("frames_recalled", 0) > 0);
}
// SPDX-License-Identifier: Apache-2.0
