// One output folder, one run, as a user meets it: two at once, a kill, another run, a start that fails, analyse.
#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

namespace fs = std::filesystem;

// A reconstruction that takes a second, with another activity for each seed, so that images can be told apart.
std::string reconstruction(const fs::path& out, int iterations, const std::string& more = "") {
  return fmt::format(
      "run simulate_osem --quiet --backend cpu --set photons.phantom=uniform_cylinder --set photons.events=4000 "
      "--set image.size=[16,16,8] --set image.voxel_mm=[16,16,18] --set subsets.subsets=1 --set subsets.iterations={} "
      "--set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 --set "
      "projected.sensitivity.sampled_pairs=20000 --set file.every=iteration --out {} {}",
      iterations, out.string(), more);
}

void reconstruct(const fs::path& out, int iterations, const std::string& more = "") {
  const auto result = run_command(reconstruction(out, iterations, more));
  REQUIRE_MESSAGE(result.code == 0, result.err);
}

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().filename()] = text_of(entry.path());
  files.erase(".tofstream.lock");  // which a kill leaves, without a holder
  return files;
}

// Is refused as wrong input in one line that says this, and leaves the folder unchanged.
void check_refused(const std::string& arguments, const fs::path& out, const std::string& says) {
  const auto before = contents(out);
  const auto refused = run_command(arguments);
  CHECK_MESSAGE(refused.code == 2, refused.err);
  CHECK_MESSAGE(refused.err.find(says) != std::string::npos, refused.err);
  CHECK_MESSAGE(std::ranges::count(refused.err, '\n') == 1, refused.err);
  CHECK(contents(out) == before);
}

nlohmann::json run_json_of(const fs::path& out) {
  return nlohmann::json::parse(text_of(out / "run.json"));
}

std::size_t images_analysed(const fs::path& out) {
  const auto analysed = run_command("analyse --json --phantom uniform_cylinder " + out.string());
  REQUIRE_MESSAGE(analysed.code == 0, analysed.err);
  return analysed.json()["studies"][0]["images"].size();
}

}  // namespace

TEST_CASE("another run is refused; overwritten, nothing of it is left for analyse to take for the new one's") {
  const TemporaryFolder folder;
  const auto out = folder / "out";
  reconstruct(out, 3);
  CHECK(images_analysed(out) == 3);
  check_refused(reconstruction(out, 2), out, "holds the run 'simulate_osem' of ");
  std::ofstream(out / "notes.txt") << "mine";
  reconstruct(out, 2, "--overwrite --set picture.mip=false");
  CHECK(images_analysed(out) == 2);
  CHECK(fs::exists(out / "image_0002.nii.gz"));
  CHECK_FALSE(fs::exists(out / "image_0003.nii.gz"));
  CHECK_FALSE(fs::exists(out / "image_mip.png"));
  CHECK(text_of(out / "notes.txt") == "mine");
  // An image that the run does not list is not the run's.
  fs::copy(out / "image_0001.nii.gz", out / "image_0009.nii.gz");
  CHECK(images_analysed(out) == 2);
  fs::remove(out / "run.json");
  CHECK(run_command("analyse --phantom uniform_cylinder " + out.string()).code == 2);
}

TEST_CASE("a start that fails leaves the earlier run whole") {
  const TemporaryFolder folder;
  const auto out = folder / "out";
  reconstruct(out, 1);
  check_refused(reconstruction(out, 1, "--overwrite --set photons.scanner=nosuch"), out, "nosuch");
  check_refused(reconstruction(out, 1, "--overwrite --set picture.point_mm=[1,2]"), out, "point_mm");
  check_refused(reconstruction(out, 1, "--overwrite --set resume_from=" + out.string()), out, "");
  check_refused(
      "run listmode_osem --quiet --overwrite --input " + (out / "image.nii.gz").string() + " --out " + out.string(),
      out, "this run reads ");
}

TEST_CASE("killed, an overwriting run leaves nothing of the earlier one, and its own is known for what it is") {
  const TemporaryFolder folder;
  const auto out = folder / "out";
  reconstruct(out, 3);
  const auto killed = run_command(reconstruction(out, 3, "--overwrite --set file.fault.kill_at=2"));
  CHECK(killed.code == 128 + SIGKILL);
  CHECK(run_json_of(out)["outcome"] == "running");
  CHECK(run_json_of(out)["exit_code"].is_null());
  CHECK_FALSE(fs::exists(out / "image.nii.gz"));
  CHECK_FALSE(fs::exists(out / "image.png"));
  CHECK_FALSE(fs::exists(out / "report.html"));
  // The lock ends with the process; the folder still belongs to its run.
  check_refused(reconstruction(out, 1), out, "(killed)");
  reconstruct(out, 1, "--overwrite");
  CHECK(images_analysed(out) == 1);
  CHECK(fs::exists(out / "report.html"));
}

TEST_CASE("of two runs at once the second is refused, and is told who the first is") {
  const TemporaryFolder folder;
  const auto out = folder / "out";
  const std::string waits =
      fmt::format("run live_osem --quiet --out {} --set feed.endpoint=ipc://{} --set image.size=[16,16,8]",
                  out.string(), (folder / "socket").string());
  CommandResult first;
  std::thread waiting([&] { first = run_command(waits); });
  const auto begins = std::chrono::steady_clock::now();
  while (!fs::exists(out / "run.json") && std::chrono::steady_clock::now() - begins < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  REQUIRE(fs::exists(out / "run.json"));
  for (const char* more : {"", "--overwrite"})
    check_refused(reconstruction(out, 1, more), out, "in use by run 'live_osem', process ");
  CHECK(run_command("control " + out.string() + " stop").code == 0);
  waiting.join();
  CHECK_MESSAGE(first.code == 0, first.err);
  reconstruct(out, 1, "--overwrite");
}

TEST_CASE("simulate writes its file and nothing besides, not over another run's report either") {
  const TemporaryFolder folder;
  const auto out = folder / "out";
  reconstruct(out, 1);
  const auto before = text_of(out / "run.json");
  REQUIRE(run_command("simulate --quiet --events 1000 -o " + (out / "scan.petsird").string()).code == 0);
  CHECK(text_of(out / "run.json") == before);
  REQUIRE(run_command("simulate --quiet --events 1000 -o " + (folder / "new/deep/scan.petsird").string()).code == 0);
  CHECK(contents(folder / "new/deep").size() == 1);
}

TEST_CASE("an output folder that is a file is said in our words") {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "not a folder";
  for (const std::string& arguments :
       {reconstruction(folder / "file", 1), "simulate --quiet -o " + (folder / "file/scan.petsird").string(),
        "keys new me -o " + (folder / "file").string(), "record --quiet " + (folder / "file").string()}) {
    CAPTURE(arguments);
    const auto refused = run_command(arguments);
    CHECK(refused.code == 2);
    CHECK_MESSAGE(refused.err.find("filesystem error") == std::string::npos, refused.err);
    CHECK_MESSAGE(refused.err.find("is a file, and no folder") != std::string::npos, refused.err);
    CHECK_MESSAGE(std::ranges::count(refused.err, '\n') == 1, refused.err);
  }
}
// SPDX-License-Identifier: Apache-2.0
