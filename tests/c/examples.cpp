// The examples of the doors do what they say, and Python's own tests pass.
#include <cstdlib>

#include "tests/command/command.hpp"
#include "tests/support/python.hpp"

using namespace tofstream;

namespace {

const std::filesystem::path root = std::filesystem::current_path();

std::string library_folder() {
  return (program().parent_path().parent_path() / "lib").string();
}

CommandResult python(const std::string& script) {
  const std::string library = library_folder() + "/libtofstream.so.0";
  return run_line("PYTHONPATH=" + (root / "tools/python").string() + " TOFSTREAM_LIBRARY=" + library + " " +
                  python_with_numpy() + " " + (root / script).string());
}

constexpr const char* found = "in the ball 9";  // more than nine tenths of 1000

}  // namespace

TEST_CASE("the example in C compiles as C99 and finds its ball") {
  if (std::system("cc --version >/dev/null 2>&1") != 0) return skip_test("C compiler", "TOFSTREAM_REQUIRE_COMPILER");
  if (!std::filesystem::exists(root / "tools/c/tofstream.h")) return skip_test("sources beside the tests", "");
  const TemporaryFolder folder;
  const std::string lib = library_folder();
  const auto compiled = run_line("cc -std=c99 -Wall -Wextra -Werror -pedantic -I" + (root / "tools/c").string() + " " +
                                 (root / "share/examples/c/mlem.c").string() + " -o " + (folder / "mlem").string() +
                                 " -L" + lib + " -ltofstream -Wl,-rpath," + lib + " -lm");
  REQUIRE_MESSAGE(compiled.code == 0, compiled.err);
  const auto ran = run_line((folder / "mlem").string());
  CHECK(ran.code == 0);
  CHECK_MESSAGE(ran.out.starts_with(found), ran.out);
}

TEST_CASE("the example in Python finds its ball, with the numbers of the one in C") {
  if (skip_without_numpy()) return;
  if (!std::filesystem::exists(root / "tools/python")) return skip_test("sources beside the tests", "");
  const auto ran = python("share/examples/python/mlem.py");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK_MESSAGE(ran.out.starts_with(found), ran.out);
}

TEST_CASE("operators in Python: adjoint, subsets, SciPy, wrong arrays, threads and forks") {
  if (skip_without_numpy()) return;
  if (!std::filesystem::exists(root / "tools/python")) return skip_test("sources beside the tests", "");
  const auto ran = python("tests/c/operators.py");
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("all passed") != std::string::npos);
}

TEST_CASE("runs, feeds, sinograms and sensitivities in Python, and what goes wrong with them") {
  if (skip_without_numpy()) return;
  if (!std::filesystem::exists(root / "tools/python")) return skip_test("sources beside the tests", "");
  const auto ran = python("tests/c/runs.py");
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("all passed") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
