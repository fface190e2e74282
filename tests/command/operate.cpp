// A run that is watched and steered from outside while it goes, and what it leaves: report, provenance.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/command/background_run.hpp"
#include "tests/command/command.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

// A scan that would take an hour, cut by a gadget with a live parameter.
const std::string endless =
    "share/examples/gadgets/tof_window.yaml --set photons.events=4000000000 --set photons.batch_events=20000";

}  // namespace

TEST_CASE("a run is asked, changed, watched and stopped by its output folder") {
  BackgroundRun run(endless);
  run.wait_for_events();
  const std::string at = run.out.string();

  CHECK(run_command("control " + at + " parameters").out.find("inner.half_width_mm = 150") != std::string::npos);
  CHECK(run_command("control " + at + " set inner.half_width_mm=50").code == 0);
  CHECK(run_command("control " + at + " parameters --json").json()["parameters"][0]["value"] == 50);
  const CommandResult wrong = run_command("control " + at + " set inner.half_width_mm=-1 innr.x=2");
  CHECK(wrong.code == 2);
  CHECK(wrong.err ==
        "tofstream: inner.half_width_mm must be greater than 0 mm, not -1\n"
        "tofstream: no gadget is called 'innr', did you mean 'inner'?\n");
  CHECK(run_command("control " + at + " set half_width_mm=50").err ==
        "tofstream: 'half_width_mm=50' is no setting: give gadget.parameter=value\n");

  const CommandResult page = run_command("top " + at + " --once --interval 0.1");
  CHECK(page.code == 0);
  CHECK(page.out.starts_with("tof_window_example   running"));
  CHECK(page.out.find(" events/s\n") != std::string::npos);
  CHECK(page.out.find("photons -> inner") != std::string::npos);
  CHECK(run_command("top " + at + " --once --json --interval 0.1").json()["state"] == "running");

  CHECK(run_command("control " + at + " stop").code == 0);
  CHECK(run.wait() == 0);
  CHECK_FALSE(std::filesystem::exists(run.socket));
  const auto json = nlohmann::json::parse(text_of(run.out / "run.json"));
  CHECK(json["outcome"] == "stopped");
  CHECK(json["parameter_changes"][0]["value"] == 50);
  CHECK(json["counts"]["events"].back() == json["books"]["received"]);
  CHECK(json["books"]["balanced"] == true);
  const std::string report = text_of(run.out / "report.html");
  CHECK(report.find("<span class=\"stopped\">stopped</span>") != std::string::npos);
  CHECK(report.find("<td>inner</td><td>half_width_mm</td><td>50</td>") != std::string::npos);
  const CommandResult gone = run_command("top " + at);
  CHECK(gone.code == 2);
  CHECK(gone.err.find("no run answers at " + run.socket.string()) != std::string::npos);
}

TEST_CASE("abort ends a run at once, and top, in a terminal, with it") {
  if (std::system("script -qec true /dev/null >/dev/null 2>&1 </dev/null") != 0) return skip_test("pseudo-terminal");
  BackgroundRun run(endless);
  run.wait_for_events();
  const auto screen = run.out.parent_path() / "screen";
  std::jthread watcher([&] {
    const std::string line = "script -qec '" + program().string() + " top " + run.out.string() + " --interval 0.1' " +
                             screen.string() + " >/dev/null 2>&1 </dev/null";
    CHECK(std::system(line.c_str()) == 0);
  });
  for (int i = 0;
       i < 200 && (!std::filesystem::exists(screen) || text_of(screen).find("events/s") == std::string::npos); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(run_command("control " + run.socket.string() + " abort").code == 0);
  CHECK(run.wait() == 130);
  watcher.join();
  const std::string shown = text_of(screen);
  CHECK(shown.find("\033[H") != std::string::npos);
  CHECK(shown.find("tof_window_example") != std::string::npos);
  CHECK(shown.find("has ended") != std::string::npos);
  CHECK(text_of(run.out / "report.html").find("<span class=\"aborted\">") != std::string::npos);
}

TEST_CASE("a killed run's socket is in nobody's way; another file, or a second run, is told of") {
  const std::string simulate = "run share/examples/gadgets/tof_window.yaml --quiet ";
  const TemporaryFolder folder;
  const auto out = folder / "out";
  const std::string killed = simulate + "--set 'end.fault={kill_at: 0}' --out " + out.string();
  CHECK(run_command(killed).code == 128 + 9);
  CHECK(std::filesystem::exists(out / "control.sock"));
  const CommandResult again = run_command(simulate + "--overwrite --out " + out.string());
  CHECK_MESSAGE(again.code == 0, again.err);
  CHECK(again.err == "");
  CHECK_FALSE(std::filesystem::exists(out / "control.sock"));

  std::ofstream(out / "control.sock") << "mine";
  const CommandResult warned = run_command(simulate + "--overwrite --out " + out.string());
  CHECK(warned.code == 0);
  CHECK(warned.err.find("a file of that name is in the way; the run continues without it") != std::string::npos);
  const CommandResult refused =
      run_command(simulate + "--control " + (out / "control.sock").string() + " --out " + (folder / "b").string());
  CHECK(refused.code == 2);
  CHECK(refused.err.find("a file of that name is in the way") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "b"));
  CHECK(run_command(simulate + "--control none --overwrite --out " + out.string()).err == "");
}

TEST_CASE("an image carries what made it, and the report shows it") {
  const TemporaryFolder folder;
  const auto out = folder / "out";
  const CommandResult made = run_command(
      "run simulate_osem --quiet --set photons.events=50000 --set image.size=[20,20,8] --set image.voxel_mm=[12,12,12] "
      "--set subsets.iterations=2 --set projected.log_likelihood=true --out " +
      out.string());
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto run = nlohmann::json::parse(text_of(out / "run.json"));
  const CommandResult inspected = run_command("inspect --json " + (out / "image.nii.gz").string());
  REQUIRE_MESSAGE(inspected.code == 0, inspected.err);
  const auto image = inspected.json();
  CHECK(image["size"] == nlohmann::json{20, 20, 8});
  const auto& provenance = image["provenance"];
  CHECK(provenance["resolved"] == run["resolved"]);
  CHECK(provenance["versions"] == run["versions"]);
  CHECK(provenance["events"] == nlohmann::json{{"first", 0}, {"end", 50000}});
  CHECK(provenance["books"]["received"] == 50000);
  CHECK(provenance["books"]["rejected"] == run["books"]["rejected"]);
  CHECK(provenance["parameter_changes"].empty());
  const CommandResult words = run_command("inspect " + (out / "image.nii.gz").string());
  CHECK(words.out.find("resolved:\n  pipeline: simulate_osem\n") != std::string::npos);

  const std::string report = text_of(out / "report.html");
  CHECK(report.find("image_mip.png: maximum-intensity projections") != std::string::npos);
  CHECK(report.find("data:image/png;base64,iVBORw0KGgo") != std::string::npos);
  CHECK(report.find("Log-likelihood") != std::string::npos);
  for (const char* outside : {"http://", "https://", "<script", "<link"})
    CHECK(report.find(outside) == std::string::npos);
}

TEST_CASE("a run that fails leaves a report too; one that does not begin leaves nothing") {
  const TemporaryFolder folder;
  const auto out = folder / "out";
  const CommandResult failed = run_command(
      "run share/examples/gadgets/tof_window.yaml --quiet --set 'end.fault={throw_at: 0}' --out " + out.string());
  CHECK(failed.code == 1);
  CHECK(text_of(out / "report.html").find("<span class=\"failed\">failed</span>") != std::string::npos);
  const auto none = folder / "none";
  CHECK(run_command("run listmode_osem --quiet --input /nowhere.petsird --out " + none.string()).code == 2);
  CHECK_FALSE(std::filesystem::exists(none));
}

TEST_CASE("metrics refuse the open network") {
  const TemporaryFolder folder;
  const CommandResult open = run_command(
      "run share/examples/gadgets/tof_window.yaml --quiet --metrics 0.0.0.0:0 --out " + (folder / "out").string());
  CHECK(open.code == 2);
  CHECK(open.err.find("is open to the network") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
