// The door of Octave: its own tests pass, its numbers are Python's, and its examples do what they say.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/command/command.hpp"
#include "tests/support/python.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

const std::filesystem::path octave_root = std::filesystem::current_path();

std::filesystem::path libraries() {
  return program().parent_path().parent_path() / "lib";
}

// True, and the test must return, without an interpreter, the MEX file or the sources. TOFSTREAM_REQUIRE_OCTAVE=1 makes
// that a failure.
bool skip_without_octave() {
  if (!std::filesystem::exists(octave_root / "tools/octave"))
    skip_test("sources beside the tests", "");
  else if (std::system("octave-cli --version >/dev/null 2>&1") != 0)
    skip_test("Octave", "TOFSTREAM_REQUIRE_OCTAVE");
  else if (!std::filesystem::exists(libraries() / "tofstream/octave/tofstream_mex.mex"))
    skip_test("tofstream_mex, which is built where Octave's mkoctfile is (octave-dev)", "TOFSTREAM_REQUIRE_OCTAVE");
  else
    return false;
  return true;
}

CommandResult octave(const std::string& script, const std::string& argument = "") {
  return run_line("octave-cli --norc --quiet --path " + (octave_root / "tools/octave").string() + " --path " +
                  (libraries() / "tofstream/octave").string() + " " + (octave_root / script).string() + " " + argument);
}

}  // namespace

TEST_CASE("operators in Octave: adjoint, subsets, the paper's functions, wrong arrays, runs and what is cleared") {
  if (skip_without_octave()) return;
  const auto ran = octave("tests/octave/operators.m");
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK_MESSAGE(ran.out.find("all passed") != std::string::npos, ran.err);
}

TEST_CASE("operators in Octave give the bits that they give in Python, OSEM too") {
  if (skip_without_octave() || skip_without_numpy()) return;
  const TemporaryFolder folder;
  const auto kept = run_line("PYTHONPATH=" + (octave_root / "tools/python").string() + " TOFSTREAM_LIBRARY=" +
                             (libraries() / "libtofstream.so.0").string() + " " + python_with_numpy() + " " +
                             (octave_root / "tests/octave/from_python.py").string() + " " + folder.path().string());
  REQUIRE_MESSAGE(kept.code == 0, kept.err);
  const auto ran = octave("tests/octave/same_as_python.m", folder.path().string());
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK_MESSAGE(ran.out.find("same bits") != std::string::npos, ran.err);
}

TEST_CASE("the examples in Octave find their ball, and the likelihood of the paper's rises") {
  if (skip_without_octave()) return;
  const std::string found = "in the ball 9";  // more than nine tenths of 1000
  const auto ran = octave("share/examples/octave/mlem.m");
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK_MESSAGE(ran.out.starts_with(found), ran.out);
  const auto paper = octave("share/examples/octave/paper_mlem.m");
  CHECK_MESSAGE(paper.code == 0, paper.err);
  CHECK_MESSAGE(paper.out.starts_with(found), paper.out);
  CHECK_MESSAGE(paper.out.find("the likelihood rose 19 times of 19") != std::string::npos, paper.out);
}
// SPDX-License-Identifier: Apache-2.0
