// A slip on the command line is answered by one line with what was typed and what was probably meant.
#include <algorithm>

#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

void check_refused(const std::string& arguments, const std::string& line) {
  CAPTURE(arguments);
  const auto result = run_command(arguments);
  CHECK(result.code == 2);
  CHECK(result.err == line + "\n");
  CHECK(result.out.empty());
}

}  // namespace

TEST_CASE("a command that there is not is answered by the nearest") {
  check_refused("runn", "tofstream: there is no command 'runn', did you mean 'run'? (tofstream --help)");
  check_refused("analyze x --phantom y",
                "tofstream: there is no command 'analyze', did you mean 'analyse'? (tofstream --help)");
  check_refused("keys nwe", "tofstream: keys: there is no command 'nwe', did you mean 'new'? (tofstream keys --help)");
  check_refused("", "tofstream: A subcommand is required (tofstream --help)");
}

TEST_CASE("an option that there is not is answered by the nearest, of the program too") {
  check_refused("run listmode_osem --inptu x",
                "tofstream: run: there is no option '--inptu', did you mean '--input'? (tofstream run --help)");
  check_refused("run listmode_osem --inptu=x",
                "tofstream: run: there is no option '--inptu', did you mean '--input'? (tofstream run --help)");
  check_refused("view a.nii --output b.png",
                "tofstream: view: there is no option '--output', did you mean '--out'? (tofstream view --help)");
  check_refused("check x --plugin y",
                "tofstream: check: there is no option '--plugin', did you mean '--plugins'? (tofstream check --help)");
  check_refused("compare a b c", "tofstream: compare: 'c' is one argument too many (tofstream compare --help)");
}

TEST_CASE("errors of options name the command and what was typed") {
  check_refused("view a.nii", "tofstream: view: --out is required (tofstream view --help)");
  check_refused("view a.nii -o", "tofstream: view: -o: 1 required TEXT missing (tofstream view --help)");
  check_refused("view a.nii -o b.png --width 3",
                "tofstream: view: --width: Value 3 not in range 400 to 8000 (tofstream view --help)");
  check_refused("simulate -o x --events many",
                "tofstream: simulate: --events: 'many' is no whole number (tofstream simulate --help)");
  check_refused("simulate -o x --events 1.5",
                "tofstream: simulate: --events: '1.5' is no whole number (tofstream simulate --help)");
  check_refused("simulate -o x --seconds soon",
                "tofstream: simulate: --seconds: 'soon' is no number (tofstream simulate --help)");
  const auto below = run_command("simulate -o x --events -5");
  CHECK(below.code == 2);
  CHECK_MESSAGE(below.err.starts_with("tofstream: --events -5: "), below.err);
  CHECK_MESSAGE(below.err.find("photons") == std::string::npos, below.err);
}

TEST_CASE("simulate takes events or seconds, and a file, not a folder") {
  check_refused("simulate -o x --events 1000 --seconds 1",
                "tofstream: simulate: --events excludes --seconds (tofstream simulate --help)");
  const TemporaryFolder folder;
  const std::string name = folder.path().string();
  check_refused("simulate -o " + name,
                "tofstream: " + name + " is a folder: name a file, such as -o " + name + "/scan.petsird");
}

TEST_CASE("without tofstream's own files it is said where they were looked for") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "bin");
  std::filesystem::create_directory(folder / "lib");
  std::filesystem::copy_file(program(), folder / "bin/tofstream");
  const auto lib = program().parent_path().parent_path() / "lib";
  std::filesystem::copy_file(lib / "libtofstream_io.so", folder / "lib/libtofstream_io.so");
  const auto alone = run_line("LD_LIBRARY_PATH=" + (folder / "lib").string() + ":" + lib.string() + " " +
                              (folder / "bin/tofstream").string() + " simulate -o " + (folder / "x").string());
  CHECK(alone.code == 2);
  CHECK_MESSAGE(alone.err.find("looked for in " + (folder / "share/tofstream/scanners").string()) != std::string::npos,
                alone.err);
  CHECK_MESSAGE(alone.err.find("TOFSTREAM_SHARE") != std::string::npos, alone.err);
}

TEST_CASE("a count may be written as 2e3") {
  const TemporaryFolder folder;
  const std::string file = (folder / "scan.petsird").string();
  const auto made = run_command("simulate --events 2e3 -o " + file);
  CHECK_MESSAGE(made.out.find("report") == std::string::npos, made.out);  // there is none
  REQUIRE_MESSAGE(made.code == 0, made.err);
  CHECK(run_command("inspect --json " + file).json()["prompts"] == 2000);
}
// SPDX-License-Identifier: Apache-2.0
