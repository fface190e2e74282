// Tests compare numbers by approx(): doctest's own lets any two numbers far below its tolerance pass.
#include "tests/support/approx.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/skip.hpp"

TEST_CASE("approx is relative for small numbers too, and absolute for 0") {
  CHECK(1e-9 == doctest::Approx(2e-9));  // which is why
  CHECK(1e-9 != tofstream::approx(2e-9));
  CHECK(1e-9 != tofstream::approx(1.02e-9).epsilon(0.01));
  CHECK(1e-9 == tofstream::approx(1.02e-9).epsilon(0.03));
  CHECK(-3e20 == tofstream::approx(-3.0001e20).epsilon(1e-4));
  CHECK(1e-6 == tofstream::approx(0));
  CHECK(1e-4 != tofstream::approx(0));
  CHECK(0.0 != tofstream::approx(1e-9));
  CHECK(7 == tofstream::approx(7));
}

TEST_CASE("no test compares by doctest's own tolerance") {
  if (!std::filesystem::is_directory("tests")) return tofstream::skip_test("sources beside the test");
  const std::string own = std::string("doctest::") + "Approx(";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests")) {
    const std::string extension = entry.path().extension();
    if (extension != ".hpp" && extension != ".cpp") continue;
    const std::string name = entry.path().string();
    if (name == "tests/support/approx.hpp" || name == "tests/kernels/approx.cpp") continue;
    ++files;
    std::ifstream source(entry.path());
    for (std::string line; std::getline(source, line);)
      if (line.find(own) != std::string::npos) FAIL_CHECK(name, ": take approx() of tests/support/approx.hpp");
  }
  CHECK(files > 200);
}
// SPDX-License-Identifier: Apache-2.0
