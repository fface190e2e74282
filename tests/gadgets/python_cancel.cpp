// A Python gadget that is working when the run ends for another cause: the run does not wait for it, its process is
// gone, and the cause stays the only error. Every script here would work for an hour.
#include <chrono>
#include <thread>

#include "core/run/engine.hpp"
#include "tests/gadgets/python_support.hpp"

using namespace tofstream;

namespace {

void wait_for_file(const std::filesystem::path& path) {
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

struct TenDetectors {
  void run(Emit<EventBatch>& emit, std::stop_token, Context& context) {
    context.books().received(20);
    emit(ten_detector_batch(20));
  }
};
TOFSTREAM_GADGET(TenDetectors, "test_ten_detectors", "One batch");

struct FailAtFile {
  struct Params {
    std::filesystem::path file;
  };
  static constexpr auto params = describe(param<&Params::file>("file", "Made when it is time to fail"));
  static constexpr bool own_thread = true;
  void process(const EventBatch&, const Params& p) {
    wait_for_file(p.file);
    throw std::runtime_error("the first cause");
  }
};
TOFSTREAM_GADGET(FailAtFile, "test_fail_at_file", "Fails once a file is there");

// Runs a pipeline with a script that may call sleep(), which makes a file and then sleeps for an hour. At that moment
// another gadget fails; or, without `bad`, the run is aborted.
RunReport run_with_sleeper(const std::string& script, const std::string& ports, bool abort = false) {
  const TemporaryFolder folder;
  const std::filesystem::path begun = folder / "begun";
  std::ofstream(folder / "script.py") << "from tofstream import *\nimport pathlib, signal, time\n"
                                      << "def sleep():\n  pathlib.Path('" << begun.string() << "').touch()\n"
                                      << "  time.sleep(3600)\n"
                                      << script;
  std::string yaml = fmt::format(
      "gadgets:\n"
      "  feed: {{use: test_ten_detectors}}\n"
      "  slow: {{use: python, script: {}, python: {}, timeout_s: 0, start_timeout_s: 0, {}}}\n",
      (folder / "script.py").string(), python_with_numpy(), ports);
  if (!abort) yaml += fmt::format("  bad: {{use: test_fail_at_file, from: feed, file: {}}}\n", begun.string());
  Engine engine(parse_pipeline(yaml, "test.yaml"));
  std::jthread aborter;
  if (abort)
    aborter = std::jthread([&] {
      wait_for_file(begun);
      engine.abort();
    });
  return engine.run();
}

void check_first_cause(const std::string& script, const std::string& ports) {
  CAPTURE(script);
  const RunReport report = run_with_sleeper(script, ports);
  CHECK(report.exit_code == exit_run);
  REQUIRE(report.errors.size() == 1);
  CHECK(report.errors[0].text() == "test.yaml:4:3: gadget 'bad' at message 0: the first cause");
  CHECK(report.still_running.empty());
  CHECK(child_processes().empty());
}

}  // namespace

TEST_CASE("when another gadget fails, nobody waits for a slow script, and the first cause stays the one error") {
  if (skip_without_numpy()) return;
  check_first_cause("@gadget\ndef gate(events):\n  sleep()\n", "from: feed");
  check_first_cause("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n@gadget\ndef gate(events):\n  sleep()\n",
                    "from: feed");
  check_first_cause("@gadget\ndef keep(events):\n  sleep()\n", "from: feed, gives: nothing");
  check_first_cause("@gadget\nclass Gate:\n  def process(self, events): pass\n  def flush(self): sleep()\n",
                    "from: feed");
  check_first_cause("@gadget\ndef make():\n  sleep()\n  yield None\n", "takes: nothing");
}

TEST_CASE("an abort ends a slow script, also while it is being loaded") {
  if (skip_without_numpy()) return;
  for (const char* script : {"@gadget\ndef gate(events):\n  sleep()\n", "sleep()\n"}) {
    CAPTURE(script);
    const RunReport report = run_with_sleeper(script, "from: feed", true);
    CHECK(report.exit_code == exit_abort);
    CHECK(report.errors.empty());
    CHECK(report.still_running.empty());
    CHECK(child_processes().empty());
  }
}
// SPDX-License-Identifier: Apache-2.0
