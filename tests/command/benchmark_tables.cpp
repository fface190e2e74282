// share/benchmarks/README.md agrees with the files beside it, and tools/benchmark_tables notices if it does not.
#include <cstdlib>
#include <fstream>

#include "tests/command/command.hpp"
#include "tests/support/script.hpp"

using namespace tofstream;

namespace {

namespace fs = std::filesystem;

struct Said {
  int code;
  std::string text;
};

Said run(const fs::path& script, const std::string& arguments) {
  const TemporaryFolder folder;
  const auto log = folder / "log";
  const int status =
      std::system(("python3 " + script.string() + " " + arguments + " >" + log.string() + " 2>&1").c_str());
  return {WEXITSTATUS(status), text_of(log)};
}

// A copy of the page and its results, to change.
struct Copy {
  TemporaryFolder folder;
  Copy() {
    for (const auto& entry : fs::directory_iterator("share/benchmarks"))
      if (entry.path().extension() == ".json" || entry.path().filename() == "README.md")
        fs::copy(entry.path(), folder / entry.path().filename().string());
  }
  void replace(const std::string& file, const std::string& old, const std::string& by) const {
    std::string text = text_of(folder / file);
    const auto at = text.find(old);
    REQUIRE_MESSAGE(at != std::string::npos, file, " has no ", old);
    std::ofstream(folder / file) << text.replace(at, old.size(), by);
  }
  std::string check() const { return "--check --folder " + folder.path().string(); }
};

}  // namespace

TEST_CASE("every figure of the page of measured results that a file holds is the file's") {
  const auto script = script_or_skip("benchmark_tables");
  if (script.empty()) return;
  const Said said = run(script, "--check");
  CHECK_MESSAGE(said.code == 0, said.text);
}

TEST_CASE("a figure that no file holds is found, in a table, in a sentence, and in a table of nowhere") {
  const auto script = script_or_skip("benchmark_tables");
  if (script.empty()) return;
  const auto check = [&](const std::string& file, const std::string& old, const std::string& by,
                         const std::string& says) {
    const Copy copy;
    copy.replace(file, old, by);
    const Said said = run(script, copy.check());
    CHECK(said.code == 1);
    CHECK_MESSAGE(said.text.find(says) != std::string::npos, said.text);
    CHECK(said.text.find("Traceback") == std::string::npos);
  };
  check("README.md", "| Joseph W1, ms a pass |", "| Joseph W1, ms a pass, nearly |", "is not what the files say");
  check("README.md", "tube_widths(1, 3, 5, 9, 15) -->", "tube_widths(1, 3, 5, 9, 15) -->0",
        "is not what the files say");
  check("README.md", "tube_widths(1, 3,", "tube_width(1, 3,", "the figure tube_width(1, 3,");
  check("README.md", "\n## What must hold", "\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## What must hold",
        "neither made from a file nor marked as having none");
  check("README.md", "\n## What must hold", "\nToday it took 3.1 ms.\n\n## What must hold",
        "a paragraph has figures that neither a file holds nor its end accounts for: Today it took 3.1 ms.");
  check("listmode.json", "\"measured\"", "\"mesured\"", "benchmark_tables: ");
}

TEST_CASE("results of a changed tree, or of no commit, are not taken in") {
  const auto script = script_or_skip("benchmark_tables");
  if (script.empty()) return;
  const TemporaryFolder folder;
  const auto file = folder / "new.json";
  const auto record = [&](const std::string& commit) {
    std::ofstream(file) << R"({"machine": {"commit": ")" << commit << "\"}}";
    const Copy copy;
    const Said said = run(script, "--folder " + copy.folder.path().string() + " --record " + file.string());
    CHECK(fs::exists(copy.folder / "new.json") == (said.code == 0));
    return said;
  };
  CHECK(record("abc1234").code == 0);
  CHECK(record("abc1234-dirty").text.find("of a changed tree (abc1234-dirty)") != std::string::npos);
  CHECK(record("").text.find("names no commit") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
