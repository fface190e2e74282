// Every way in which a Python gadget fails is one clear line with the script's line where it is known, and leaves no
// process, no shared memory and no file behind.
#include <chrono>
#include <csignal>
#include <thread>

#include "gadgets/io/shared_files.hpp"
#include "tests/gadgets/python_support.hpp"

using namespace tofstream;

namespace {

const std::string def = "@gadget\ndef gate(events):\n";  // lines 3 and 4

template <class Out = EventBatch>
void check_failure(const std::string& expected, const std::string& script, const std::string& more = "") {
  CAPTURE(script);
  const std::string what = failure_of<Out>(script, more);
  CAPTURE(what);
  CHECK(what.find(expected) != std::string::npos);
  CHECK(what.find('\n') == std::string::npos);
  CHECK(child_processes().empty());
}

}  // namespace

TEST_CASE("an exception is one line with its place and its first cause; the traceback is kept whole") {
  if (skip_without_numpy()) return;
  check_failure("script.py:5: ZeroDivisionError: integer division or modulo by zero",
                def + "  return events[1 // 0:]\n");
  check_failure("script.py:8: RuntimeError: no gate; ValueError: could not convert string to float: 'x'",
                def + "  try:\n    float('x')\n  except ValueError as e:\n    raise RuntimeError('no gate') from e\n");
  PythonUnderTest<> python("def helper(x):\n  return x[5]\n@gadget\ndef gate(events):\n  return helper([1])\n");
  CHECK_THROWS_WITH(python->send(ten_detector_batch(3)), "script.py:4: IndexError: list index out of range");
  const auto lines = std::get<std::vector<std::string>>(python->context.figures().at("traceback"));
  REQUIRE(lines.size() >= 5);
  CHECK(lines.front() == "Traceback (most recent call last):");
  CHECK(lines[1].ends_with("script.py\", line 7, in gate"));  // our own frames are left out
  CHECK(lines.back() == "IndexError: list index out of range");
}

TEST_CASE("the end of the process is an error that says how it ended") {
  if (skip_without_numpy()) return;
  check_failure("script.py: the Python process exited with code 3", def + "  sys.exit(3)\n");
  check_failure(
      "script.py: the Python process was killed by signal 9 (Killed)",
      "seen = []\n" + def + "  seen.append(1)\n  if len(seen) == 2: os.kill(os.getpid(), 9)\n  return events\n");
  check_failure("was killed by signal 11", def + "  import ctypes; ctypes.string_at(0)\n");
  check_failure("exited with code 4 before it was ready", "os._exit(4)\n");
}

TEST_CASE("a process that is killed from outside while it works is noticed at once") {
  if (skip_without_numpy()) return;
  PythonUnderTest<> python(def + "  time.sleep(60)\n");
  const auto children = child_processes();
  REQUIRE(children.size() == 1);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(children[0], SIGKILL);
  });
  CHECK_THROWS_WITH(python->send(ten_detector_batch(3)),
                    "script.py: the Python process was killed by signal 9 (Killed)");
  killer.join();
  CHECK(child_processes().empty());
}

TEST_CASE("a gadget that hangs is ended after the time-out, with the line at which it hung") {
  if (skip_without_numpy()) return;
  check_failure("script.py:5 in gate: the Python process gave no answer within 0.3 s: raise timeout_s",
                def + "  time.sleep(60)\n", "timeout_s: 0.3");
  check_failure("script.py:5 in gate", def + "  while True: pass\n", "timeout_s: 0.3");
  check_failure("within 0.3 s: raise start_timeout_s", "time.sleep(60)\n", "start_timeout_s: 0.3");
  check_failure("within 0.3 s: raise timeout_s",
                "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + def + "  time.sleep(60)\n",
                "timeout_s: 0.3");
}

TEST_CASE("what a gadget may not return is said with the gadget's place") {
  if (skip_without_numpy()) return;
  const std::string at = "script.py:3: gate() ";
  const auto returns = [](const std::string& value) { return def + "  return " + value + "\n"; };
  check_failure(at + "returned a int, not events", returns("5"));
  check_failure(at + "returned an array of bool and shape (20,), not events", returns("events.tof_mm > 0"));
  check_failure(at + "returned tof_mm of type float64, not float32: use .astype(np.float32)",
                returns("events.replace(tof_mm=events.tof_mm.astype(float))"));
  check_failure(at + "returned a list as tof_mm", returns("events.replace(tof_mm=[1.0] * 20)"));
  check_failure(at + "returned tof_mm of shape (19,), not (20,)", returns("events.replace(tof_mm=events.tof_mm[1:])"));
  check_failure(at + "returned tof_mm of shape (20, 1)", returns("events.replace(tof_mm=events.tof_mm[:, None])"));
  check_failure(at + "returned events without lines", returns("Events(tof_mm=events.tof_mm)"));
  check_failure(at + "gave detector2[7] = 10, but the scanner has 10 detectors",
                returns("events.replace(detector2=np.where(np.arange(20) == 7, 10, 0).astype(np.uint32))"));
  check_failure(at + "gave NaN in tof_mm[3]: only finite numbers go on",
                returns("events.replace(tof_mm=np.where(np.arange(20) == 3, np.nan, 0).astype(np.float32))"));
  check_failure(at + "gave infinity in multiplicative[0]",
                returns("events.replace(multiplicative=np.full(20, np.inf, np.float32))"));
  check_failure(at + "gave 40 and rejected 0 events of the 20 that it took", returns("[events, events]"));
  check_failure("ValueError: assignment destination is read-only", def + "  events.tof_mm[0] = 1\n");
  check_failure<void>("returned a Events, but gives nothing", returns("events"), "gives: nothing");
}

TEST_CASE("an image of the wrong kind is refused") {
  if (skip_without_numpy()) return;
  const auto returned = [](const std::string& value) -> std::string {
    PythonUnderTest<Estimate> python(fmt::format("@gadget\ndef smooth(image):\n  return {}\n", value),
                                     "takes: image, gives: image");
    try {
      python->send(ramp_image());
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  };
  CHECK(returned("image.voxels[1:]") == "script.py:3: smooth() returned image of shape (1, 3, 4), not (2, 3, 4)");
  CHECK(returned("image.voxels.astype(np.int16)") ==
        "script.py:3: smooth() returned image of type int16, not float32: use .astype(np.float32)");
  CHECK(returned("image.voxels / np.float32(0)").find("gave NaN in voxels[0]") != std::string::npos);
  CHECK(returned("Image(image.voxels, (1, 0, 1))").find("voxel edges must be finite and positive") !=
        std::string::npos);
}

TEST_CASE("a script that cannot be loaded is refused before data flows") {
  if (skip_without_numpy()) return;
  const auto refusal = [](const std::string& script, const std::string& more = "") -> std::string {
    try {
      PythonUnderTest<> python(script, more);
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  };
  CHECK(refusal("def gate(events)\n") == "script.py:3: SyntaxError: expected ':'");
  CHECK(refusal("x = 1\n") == "script.py: has no gadget: put @gadget above a function or class");
  CHECK(refusal(def + "  pass\n@gadget\ndef other(events): pass\n").find("has 2 gadgets (gate, other)") !=
        std::string::npos);
  CHECK(refusal("import nonesuch\n") == "script.py:3: ModuleNotFoundError: No module named 'nonesuch'");
  CHECK(refusal("@gadget\ndef gate(events, info, width): pass\n").find("needs a value for width") != std::string::npos);
  CHECK(refusal("@gadget\nclass Gate:\n  pass\n") == "script.py: Gate has no process()");
  CHECK(refusal("@gadget\nclass Gate:\n  def __init__(self, width): pass\n", "arguments: {widht: 1}")
            .find("unexpected keyword argument 'widht'") != std::string::npos);
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventBatch>("python", "{script: /nowhere/gate.py}"),
                    "/nowhere/gate.py: no such file");
}

TEST_CASE("a missing interpreter, a missing NumPy and another version are one line each") {
  if (skip_without_numpy()) return;
  const TemporaryFolder folder;
  std::ofstream(folder / "script.py") << "from tofstream import gadget\n";
  const auto with = [&](const std::string& python) {
    return fmt::format("{{script: {}, python: {}}}", (folder / "script.py").string(), python);
  };
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventBatch>("python", with("/nowhere/python3")),
                    "cannot run '/nowhere/python3': No such file or directory");
  const auto bare = folder / "bare_python";
  std::ofstream(bare) << "#!/bin/sh\nexec " << python_with_numpy() << " -S \"$@\"\n";
  std::filesystem::permissions(bare, std::filesystem::perms::owner_all);
  std::filesystem::copy(find_shared_file("python/bench_round_trip.py").parent_path(), folder / "python",
                        std::filesystem::copy_options::recursive);
  std::string worker = text_of(folder / "python/tofstream/worker.py");
  worker.replace(worker.find("PROTOCOL = 1"), 12, "PROTOCOL = 0");
  std::ofstream(folder / "python/tofstream/worker.py") << worker;
  ::setenv("TOFSTREAM_SHARE", folder.path().c_str(), 1);
  const std::string other = failure_of(def + "  pass\n");
  ::unsetenv("TOFSTREAM_SHARE");
  CHECK(other.find("is of another version (0.1.0, protocol 0) than this program (protocol 1)") != std::string::npos);
  CHECK_THROWS_WITH_AS(RegisteredGadgetTest<EventBatch>("python", with(bare.string())),
                       doctest::Contains("before it was ready: tofstream needs NumPy: install python3-numpy"),
                       std::runtime_error);
}

TEST_CASE("nothing is left behind: no process, no shared memory, no socket") {
  if (skip_without_numpy()) return;
  const TemporaryFolder temporary;  // of this test alone: others run at the same time
  ::setenv("TMPDIR", temporary.path().c_str(), 1);
  const auto shared = [] { return count_files("/dev/shm", "tofstream"); };
  const std::size_t before = shared();
  std::shared_ptr<const EventBatch> kept;
  std::int64_t grandchild = 0;
  {
    PythonUnderTest<> python(
        "import subprocess\n@gadget\ndef gate(events, info):\n"
        "  info.report('pid', subprocess.Popen(['sleep', '60']).pid)\n  return events[:7]\n");
    python->send(ten_detector_batch(10));
    kept = python->out.pointer(0);
    grandchild = std::get<std::int64_t>(python->context.figures().at("pid"));
    CHECK(child_processes().size() == 1);
    CHECK(count_files(temporary.path(), "tofstream-") == count_files(temporary.path(), "tofstream-test-"));
  }
  ::unsetenv("TMPDIR");
  CHECK(child_processes().empty());
  for (int i = 0; i < 100 && ::kill(static_cast<pid_t>(grandchild), 0) == 0; ++i)  // until init has reaped it
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(::kill(static_cast<pid_t>(grandchild), 0) != 0);
  CHECK(shared() == before);
  CHECK(kept->tof_mm[6] == 1);  // a payload outlives the process that gave it
  kept.reset();
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) CHECK(line.find("memfd:tofstream") == std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
