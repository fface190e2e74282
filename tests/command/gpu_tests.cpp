// tools/gpu_tests with programs that stand for a build and a driver: what it counts, what it calls a failure, and what
// it refuses to record.
#include <cstdlib>
#include <fstream>

#include "tests/command/command.hpp"
#include "tests/support/script.hpp"

using namespace tofstream;

namespace {

struct FakeBuild {
  TemporaryFolder folder;
  std::filesystem::path report = folder / "gpu_tests.json";

  FakeBuild() {
    std::filesystem::create_directories(folder / "build/bin");
    put("nvidia-smi", R"(case "$1" in *name*) echo 'A GPU "9"' ;; *) echo 580.1 ;; esac)");
    put("build/bin/tofstream", "echo 'tofstream 0.1.0, commit abc1234'");
    suite("kernels", 3, 0, "echo 'used a GPU: 2 test cases'");
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  }
  void suite(const std::string& name, int passed, int failed, const std::string& more = "") const {
    put("build/bin/test_" + name, R"([ "$TOFSTREAM_REQUIRE_GPU" = 1 ] || exit 9
)" + more +
                                      "\necho '[doctest] test cases:   " + std::to_string(passed + failed) + " |   " +
                                      std::to_string(passed) + " passed | " + std::to_string(failed) +
                                      " failed | 0 skipped'\nexit " + (failed > 0 ? "1" : "0"));
  }
  /// Its exit code.
  int run(const std::string& suites, const std::string& more = "", const std::string& by = "") const {
    const int status = std::system(("PATH=" + folder.path().string() + ":$PATH " + by + "tools/gpu_tests --from " +
                                    (folder / "build").string() + " --suites '" + suites + "' -o " + report.string() +
                                    " " + more + " >" + (folder / "log").string() + " 2>&1")
                                       .c_str());
    return WEXITSTATUS(status);
  }
  nlohmann::json json() const { return nlohmann::json::parse(text_of(report)); }
};

}  // namespace

TEST_CASE("gpu_tests keeps commit, device, driver and what each suite counted") {
  if (script_or_skip("gpu_tests").empty()) return;
  const FakeBuild build;
  build.suite("gadgets", 5, 0);
  CHECK_MESSAGE(build.run("kernels gadgets") == 0, text_of(build.folder / "log"));
  const auto report = build.json();
  CHECK(report["commit"] == "abc1234");
  CHECK(report["device"] == "A GPU \"9\"");
  CHECK(report["driver"] == "580.1");
  CHECK(report["all_passed"] == true);
  REQUIRE(report["suites"].size() == 3);
  CHECK(report["suites"][0]["suite"] == "kernels");
  CHECK(report["suites"][0]["passed"] == 3);
  CHECK(report["suites"][0]["on_gpu"] == 2);
  CHECK(report["suites"][1]["passed"] == 5);
  CHECK(report["suites"][1]["seconds"].get<double>() >= 0);
  CHECK(report["suites"][2]["suite"] == "gadgets_alone");  // of what takes the GPU's memory, after all others
}

TEST_CASE("gpu_tests fails where a test fails, is skipped or crashes, and where nothing used the GPU") {
  if (script_or_skip("gpu_tests").empty()) return;
  const FakeBuild build;
  build.suite("gadgets", 4, 1);
  CHECK(build.run("kernels gadgets") == 1);
  CHECK(build.json()["all_passed"] == false);
  CHECK(build.json()["suites"][1]["failed"] == 1);

  build.suite("gadgets", 5, 0, "echo 'skipped: no NumPy and pyzmq: a case'");
  CHECK(build.run("kernels gadgets") == 1);
  CHECK(build.json()["suites"][1]["passed"] == 4);
  CHECK(build.json()["suites"][1]["skips"][0] == "NumPy and pyzmq: a case");
  CHECK(build.run("kernels gadgets", "--may-skip NumPy") == 0);
  CHECK(build.json()["may_skip"] == "NumPy");

  build.put("build/bin/test_gadgets", "kill -SEGV $$");
  CHECK(build.run("kernels gadgets") == 1);
  CHECK(build.json()["suites"][1]["exit_code"] != 0);

  build.suite("gadgets", 5, 0);
  CHECK(build.run("gadgets") == 1);
}

TEST_CASE("gpu_tests that is ended early says what was still running, and records nothing") {
  if (script_or_skip("gpu_tests").empty()) return;
  const FakeBuild build;
  build.put("build/bin/test_io", "exec sleep 60");
  CHECK(build.run("kernels io", "", "timeout 1 ") == 124);
  CHECK(text_of(build.folder / "log") == "gpu_tests: io was still running; nothing is recorded\n");
  CHECK_FALSE(std::filesystem::exists(build.report));
}

TEST_CASE("gpu_tests writes down nothing of a changed tree, without a GPU, or of a suite that is not there") {
  if (script_or_skip("gpu_tests").empty()) return;
  const FakeBuild build;
  CHECK(build.run("kernels nosuch") == 2);
  build.put("build/bin/tofstream", "echo 'tofstream 0.1.0, commit abc1234-dirty'");
  CHECK(build.run("kernels") == 2);
  CHECK(text_of(build.folder / "log").find("no evidence") != std::string::npos);
  build.put("build/bin/tofstream", "echo 'tofstream 0.1.0'");
  CHECK(build.run("kernels") == 2);
  build.put("build/bin/tofstream", "echo 'tofstream 0.1.0, commit abc1234'");
  build.put("nvidia-smi", "exit 9");
  CHECK(build.run("kernels") == 2);
  CHECK_FALSE(std::filesystem::exists(build.report));
}
// SPDX-License-Identifier: Apache-2.0
