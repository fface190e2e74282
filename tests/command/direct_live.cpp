// Live histo-images as a user meets them: a sender and a receiver, a journal and its replay.
#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

struct LiveDirect {
  TemporaryFolder folder;
  std::string endpoint = "ipc://" + (folder / "socket").string();
  std::string settings =
      " --backend cpu --set image.size=[40,40,14] --set image.voxel_mm=10 --set histo.views=[12,2] "
      "--set histo.most_lines=200000 --set histo.subsets=6 --set histo.iterations=1 "
      "--set projected.lor_fwhm_mm=12.5";

  std::string out(const char* name) const { return " --out " + (folder / name).string(); }
  nlohmann::json report(const char* name) const {
    auto json = nlohmann::json::parse(text_of(folder / name / "run.json"));
    CHECK(json["books"]["balanced"] == true);
    return json;
  }
  std::vector<float> image(const char* name) const {
    return read_nifti(folder / name / "image.nii.gz").voxels.to_vector();
  }
  void replay(const std::string& follow, const char* to) const {
    const CommandResult result = run_command("run direct_live_replay --quiet --input " + (folder / "journal").string() +
                                             settings + follow + out(to));
    REQUIRE_MESSAGE(result.code == 0, result.err);
  }
};

}  // namespace

TEST_CASE_FIXTURE(LiveDirect, "what a scanner sends, direct_live reconstructs; its journal replays to the same image") {
  const std::string sender = program().string() + " run simulate_live --quiet --set photons.events=60000 --set " +
                             "photons.batch_events=3000 --set sent.speed=0 --set endpoint=" + endpoint + out("sent") +
                             " >/dev/null 2>&1";
  run_command("run direct_live --quiet --set feed.endpoint=" + endpoint +
              " --set feed.journal=" + (folder / "journal").string() + settings + out("live") + " >/dev/null & " +
              sender + " || kill $!; wait $!");
  const auto live = report("live");
  CHECK(report("sent")["books"]["written"] == live["books"]["received"]);
  CHECK(live["books"]["received"] == 60000);
  CHECK(live["books"]["lost"].empty());
  replay(" --set histo.follow=" + (folder / "live").string(), "followed");
  CHECK(image("followed") == image("live"));
  replay("", "again");
  CHECK(image("again") == image("live"));  // the order while the scan ran is another, and its end the same
}
// SPDX-License-Identifier: Apache-2.0
