// A camera's live views as a user meets them: a sender and a receiver, a journal and its replay, a server.
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

// 20,000 counts in 24 views of two heads, as Interfile; and their camera.
struct Scan {
  TemporaryFolder folder;
  std::string camera = (folder / "camera.yaml").string(), views = (folder / "scan" / "views.hs").string();
  std::string endpoint = "ipc://" + (folder / "socket").string();

  Scan() {
    std::ofstream(camera) << "name: small\ncamera:\n  pixels: [32, 24]\n  pixel_mm: 8\n  heads_deg: [0, 180]\n"
                             "  views: 12\n  rotation_deg: 180\n  seconds: 10\n  radius_mm: 150\n"
                             "  cps_per_MBq: 100\n  collimator: {slope: 0.02, sigma0_mm: 2}\n";
    std::ofstream(folder / "scan.yaml") << "gadgets:\n  photons: {use: spect_simulator, scanner: " << camera
                                        << ", phantom: spect_points, events: 20000, attenuation: false}\n"
                                           "  file: {use: projections_writer, from: photons}\n";
    run_well("run " + (folder / "scan.yaml").string() + " --out " + (folder / "scan").string());
  }

  static CommandResult run_well(const std::string& arguments) {
    const CommandResult result = run_command(arguments + " --quiet");
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return result;
  }
  std::string out(const char* name) const { return " --out " + (folder / name).string(); }
  nlohmann::json report(const char* name) const {
    auto json = nlohmann::json::parse(text_of(folder / name / "run.json"));
    CHECK(json["books"]["balanced"] == true);
    return json;
  }
  std::vector<float> image(const char* name) const {
    return read_nifti(folder / name / "image.nii.gz").voxels.to_vector();
  }
  std::string live_settings() const {
    return " --backend cpu --set scanner=" + camera + " --set subsets.subsets=4 --set subsets.least_views=2";
  }
};

}  // namespace

TEST_CASE_FIXTURE(Scan, "what spect_send sends, spect_live reconstructs; its journal replays to the same image") {
  const std::string settings = live_settings() + " --set subsets.final=offline";
  const std::string sender = program().string() + " run spect_send --quiet --input " + views + " --set sent.speed=0 " +
                             "--set endpoint=" + endpoint + out("sent") + " >/dev/null 2>&1";
  run_command("run spect_live --quiet --set feed.endpoint=" + endpoint +
              " --set feed.journal=" + (folder / "journal").string() + settings + out("live") + " >/dev/null & " +
              sender + " || kill $!; wait $!");
  const auto live = report("live");
  CHECK(live["books"]["reconstructed"] == live["books"]["received"]);
  CHECK(live["gadgets"]["feed"]["figures"]["views"] == 24);
  CHECK(report("sent")["books"]["written"] == live["books"]["received"]);

  run_well("replay " + (folder / "journal").string() + " --speed 0 --pipeline spect_live" + settings + out("again"));
  CHECK(image("again") == image("live"));
  const auto inspected = run_command("inspect --json " + (folder / "journal").string()).json();
  CHECK(inspected["streams"][0]["events"] == live["books"]["received"]);

  run_well("replay " + (folder / "journal").string() + " --speed 0 --pipeline spect_live" + live_settings() +
           " --set subsets.follow=" + (folder / "live").string() + out("followed"));
  CHECK(image("followed") == image("live"));
}

TEST_CASE_FIXTURE(Scan, "a server reconstructs the projections that a client sends, as run does") {
  run_well("run spect_osem --input " + views + out("offline"));  // on a GPU where the server has one
  const std::string pipelines = find_shared("pipelines", "served_spect").parent_path().string();
  const auto sent = run_line("({ " + program().string() + " serve " + endpoint + " --pipelines " + pipelines +
                             out("served") + " >/dev/null 2>&1 & }; " + program().string() + " send " + endpoint +
                             " --quiet --patience 60 --pipeline served_spect --input " + views + out("sent") +
                             "; code=$?; kill -INT $!; wait $!; exit $code)");
  REQUIRE_MESSAGE(sent.code == 0, sent.err);
  CHECK(image("sent") == image("offline"));
  CHECK(nlohmann::json::parse(text_of(folder / "sent" / "run.json"))["books"]["balanced"] == true);
}

TEST_CASE_FIXTURE(Scan, "list mode where views are awaited, and views where events are, are told with the remedy") {
  const std::string sender = program().string() + " run spect_send --quiet --input " + views + " --set sent.speed=0 " +
                             "--set sent.linger_s=1 --set endpoint=" + endpoint + out("sent") + " >/dev/null 2>&1";
  const auto wrong =
      run_line("(" + program().string() + " run live_osem --quiet --backend cpu --set feed.endpoint=" + endpoint +
               out("live") + " & " + sender + "; wait $!)");
  CHECK(wrong.code != 0);
  CHECK_MESSAGE(wrong.err.find("the stream is of a camera's views, which come out of the output views, and nothing "
                               "reads that: connect feed.views") != std::string::npos,
                wrong.err);
}
// SPDX-License-Identifier: Apache-2.0
