// Python gadgets in pipelines, as a user runs them: the two examples, and every end of a run while Python is at work.
#include "tests/support/python.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "gadgets/io/nifti/nifti.hpp"
#include "tests/command/command.hpp"

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
    thread_ = std::thread([line] { std::system(line.c_str()); });
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
  CHECK(sum[1] == doctest::Approx(sum[0]).epsilon(1e-4));
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
