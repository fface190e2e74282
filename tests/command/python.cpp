// Python gadgets in pipelines, as a user runs them: the two examples, and every end of a run while Python is at work.
#include "tests/support/python.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

const std::string small =
    " --quiet --backend cpu --set photons.events=50000 --set image.size=[40,40,16] "
    "--set image.voxel_mm=[6,6,6] --set subsets.iterations=1 --set projected.tube_width_voxels=2";

bool wait_until(const std::function<bool()>& condition) {
  for (int i = 0; i < 400 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return condition();
}

// A background run of simulated events through a script; knows the process ids of the program and of Python.
class Background {
 public:
  Background(const std::string& gate, const std::string& more) {
    std::ofstream(folder_ / "gate.py") << "import os, time\nfrom tofstream import gadget\n"
                                       << "open('" << (folder_ / "child").string()
                                       << "', 'w').write(str(os.getpid()))\n"
                                       << "def working(): open('" << (folder_ / "working").string() << "', 'w')\n"
                                       << gate;
    std::ofstream(folder_ / "run.yaml") << fmt::format(
        "pipeline: python\nscanner: demo_ring\ngadgets:\n"
        "  photons: {{use: simulator, phantom: nema_iq, events: 2000000, batch_events: 10000, attenuation: false}}\n"
        "  gate: {{use: python, from: photons, script: {}, python: {}{}}}\n  sink: {{use: null_sink, from: gate}}\n",
        (folder_ / "gate.py").string(), python_with_numpy(), more);
    const std::string line =
        fmt::format("{} run {} --quiet --out {} >{} 2>&1 & echo $! >{}; wait $!; echo $? >{}", program().string(),
                    (folder_ / "run.yaml").string(), (folder_ / "out").string(), (folder_ / "log").string(),
                    (folder_ / "pid").string(), (folder_ / "code").string());
    thread_ = std::thread([line] { [[maybe_unused]] const int code = std::system(line.c_str()); });
    wait_until([&] { return is_working() || !code().empty(); });
  }
  ~Background() {
    if (code().empty()) signal(SIGKILL);
    thread_.join();
  }
  bool is_working() const { return std::filesystem::exists(folder_ / "working"); }
  void signal(int number) const { ::kill(std::stoi(text_of(folder_ / "pid")), number); }
  std::string code() const { return std::filesystem::exists(folder_ / "code") ? text_of(folder_ / "code") : ""; }
  std::string ended() const {
    wait_until([&] { return !code().empty(); });
    return code();
  }
  bool child_is_gone() const {
    const auto process = std::filesystem::path("/proc") / text_of(folder_ / "child");
    return wait_until([&] { return !std::filesystem::exists(process); });
  }
  std::string log() const { return text_of(folder_ / "log"); }
  nlohmann::json report() const { return nlohmann::json::parse(text_of(folder_ / "out" / "run.json")); }

 private:
  TemporaryFolder folder_;
  std::thread thread_;
};

const std::string pass = "@gadget\ndef gate(events):\n  working()\n  time.sleep(0.01)\n  return events\n";
const std::string hang = "@gadget\ndef gate(events):\n  working()\n  time.sleep(600)\n";

}  // namespace

TEST_CASE("the example gate rejects what lies far from the axis, and the books say so") {
  if (skip_without_numpy()) return;
  const TemporaryFolder out;
  const auto run = run_command("run python_gate" + small + " --set near.python=" + python_with_numpy() + " --out " +
                               out.path().string());
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto json = nlohmann::json::parse(text_of(out / "run.json"));
  CHECK(json["books"]["balanced"] == true);
  CHECK(json["books"]["rejected"]["far from the axis"].get<int>() > 1000);
  CHECK(std::filesystem::exists(out / "image.nii.gz"));
}

TEST_CASE("the example filter smooths the image and keeps its sum") {
  if (skip_without_numpy()) return;
  const TemporaryFolder out;
  const auto image = [&](int passes) {
    const auto folder = out / std::to_string(passes);
    const auto run = run_command("run python_smooth" + small + " --set smooth.python=" + python_with_numpy() +
                                 fmt::format(" --set smooth.arguments.passes={} --out {}", passes, folder.string()));
    REQUIRE_MESSAGE(run.code == 0, run.err);
    return read_nifti(folder / "image.nii.gz");
  };
  const Image sharp = image(0), smooth = image(2);
  double sum[2] = {0, 0}, squares[2] = {0, 0};
  for (std::int64_t i = 0; i < sharp.grid.voxels(); ++i) {
    const double values[2] = {sharp.voxels[i], smooth.voxels[i]};
    for (int which = 0; which < 2; ++which) {
      sum[which] += values[which];
      squares[which] += values[which] * values[which];
    }
  }
  CHECK(sum[1] == approx(sum[0]).epsilon(1e-4));
  CHECK(squares[1] < 0.8 * squares[0]);
}

TEST_CASE("an exception in Python ends the run with one line; the traceback is in run.json") {
  if (skip_without_numpy()) return;
  const Background run("@gadget\ndef gate(events):\n  working()\n  raise ValueError('no')\n", "");
  CHECK(run.ended() == "1\n");
  CHECK(run.log().find("run.yaml:5:3: gadget 'gate' at message 0: gate.py:8: ValueError: no") != std::string::npos);
  for (const auto& gadget : run.report()["gadgets"])
    if (gadget["name"] == "gate") CHECK(gadget["figures"]["traceback"].size() >= 4);
  CHECK(run.child_is_gone());
}

TEST_CASE("a script that cannot be loaded is wrong input: exit 2, nothing has started") {
  if (skip_without_numpy()) return;
  const Background run("working()\ndef gate(:\n", "");
  CHECK(run.ended() == "2\n");
  CHECK(run.log().find("gate.py:6: SyntaxError") != std::string::npos);
}

TEST_CASE("stopped by SIGINT, Python finishes what has arrived") {
  if (skip_without_numpy()) return;
  const Background run(pass, "");
  REQUIRE(run.is_working());
  run.signal(SIGINT);
  CHECK(run.ended() == "0\n");
  CHECK(run.report()["stopped"] == true);
  CHECK(run.report()["books"]["balanced"] == true);
  CHECK(run.child_is_gone());
}

TEST_CASE("aborted or killed while Python hangs, the program leaves no Python behind") {
  if (skip_without_numpy()) return;
  {
    const Background run(hang, "");
    REQUIRE(run.is_working());
    run.signal(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    run.signal(SIGINT);
    CHECK(run.ended() == "130\n");
    CHECK(run.log().find("still running: gate") != std::string::npos);
    CHECK(run.child_is_gone());
  }
  const Background run(hang, "");
  REQUIRE(run.is_working());
  run.signal(SIGKILL);
  CHECK(run.child_is_gone());
}

TEST_CASE("the gadget and the test in the document of Python gadgets run as they are printed") {
  if (skip_without_numpy()) return;
  const std::filesystem::path document = "share/doc/python-gadgets.md";
  if (!std::filesystem::exists(document)) return skip_test("sources beside the test");
  const TemporaryFolder folder;
  const std::string text = text_of(document);
  for (const std::string name : {"gate.py", "test_gate.py"}) {
    const std::string fence = "```python\n";
    const std::size_t at = text.find(fence + "# " + name + "\n");
    REQUIRE(at != std::string::npos);
    const std::size_t begin = at + fence.size();
    std::ofstream(folder / name) << text.substr(begin, text.find("```", begin) - begin);
  }
  const auto ran =
      run_line("cd " + folder.path().string() + " && PYTHONPATH=$(" + program().string() + " gadgets --python) " +
               python_with_numpy() + " -c 'import test_gate; test_gate.test_late_events_are_rejected()'");
  CHECK_MESSAGE(ran.code == 0, ran.err);
}

TEST_CASE(
    "tofstream.testing gives events that a gadget takes, an even image, and an Info that refuses what it has not") {
  if (skip_without_numpy()) return;
  const auto ran =
      run_line("PYTHONPATH=$(" + program().string() + " gadgets --python) " + python_with_numpy() + R"( -c '
import numpy as np
from tofstream.testing import Info, events, image
batch = events(1000)
assert len(batch) == 1000 and batch.tof_mm.dtype == np.float32 and batch.detector1.max() < len(batch.detector_positions)
assert np.all(batch.detector1 != batch.detector2) and np.array_equal(events(5).tof_mm, events(5).tof_mm)
assert image((4, 5, 6)).voxels.shape == (6, 5, 4)
info = Info(batch, sequence=7)
info.report("mean", 1.5)
info.reject(2, "late")
assert (info.sequence, info.duration_s, info.reported, info.rejected) == (7, 1.0, {"mean": 1.5}, {"late": 2})
try:
    Info(sequenze=7)
except TypeError as error:
    assert "an info has no sequenze: use sequence" in str(error)
else:
    raise AssertionError
')");
  CHECK_MESSAGE(ran.code == 0, ran.err);
}
// SPDX-License-Identifier: Apache-2.0
