// Affine maps as text, and what is refused, with the line.
#include "gadgets/io/affine_file.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "core/base/private_folder.hpp"

using namespace tofstream;

TEST_CASE("an affine map is read from rows of numbers, however they are set apart") {
  const PrivateTemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
  std::ofstream(folder / "a.txt") << "# CT to PET\n1 0\t0  10\n\n0, 0.8, -0.6, -20 # y\r\n0 6e-1 0.8 3.5\n0 0 0 1\n";
  const Affine affine = formats::read_affine(folder / "a.txt");
  CHECK(affine.matrix == std::array<double, 9>{1, 0, 0, 0, 0.8, -0.6, 0, 0.6, 0.8});
  CHECK(affine.shift_mm == Vec3d{10, -20, 3.5});
  std::ofstream(folder / "b.txt") << "1 0 0 10\n0 0.8 -0.6 -20\n0 0.6 0.8 3.5";
  CHECK(formats::read_affine(folder / "b.txt").matrix == affine.matrix);
}

TEST_CASE("what is no affine map is refused in a line that says where") {
  const PrivateTemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
  const auto refused = [&](const std::string& text, const std::string& why) {
    std::ofstream(folder / "a.txt") << text;
    try {
      (void)formats::read_affine(folder / "a.txt");
      FAIL("taken: " << text);
    } catch (const std::runtime_error& error) {
      const std::string words = error.what();
      CAPTURE(words);
      CHECK(words.find("a.txt: " + why) != std::string::npos);
      CHECK(words.find('\n') == std::string::npos);
    }
  };
  refused("", "0 rows of numbers, but an affine map is a matrix of 4 rows of 4 numbers");
  refused("1 0 0 0\n0 1 0\n", "line 2: 3 numbers, but an affine map");
  refused("1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n0 0 0 1\n", "line 5: a fifth row");
  refused("1 0 0 0\n0 one 0 0\n", "line 2: a number of the matrix is 'one', which is no number");
  refused("1 0 0 nan\n", "line 1: a number of the matrix is 'nan'");
  refused("1 0 0 0\n0 1 0 0\n0 0 1 0\n10 20 30 1\n", "its last row is 10 20 30 1 and not 0 0 0 1: is it transposed?");
  refused("1 0 0 0\n0 1 0 0\n1 1 0 0\n", "the matrix is singular");
  CHECK_THROWS_AS((void)formats::read_affine(folder / "none.txt"), std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
