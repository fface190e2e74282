// Displacement fields in NIfTI: components, their frame, and files that are none.
#include <cmath>
#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "gadgets/io/nifti/displacement.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/displacement_file.hpp"

using namespace tofstream;

namespace {

std::filesystem::path field_path() {
  return std::filesystem::temp_directory_path() / fmt::format("tofstream-field-{}.nii", ::getpid());
}

}  // namespace

TEST_CASE("a displacement field is read into our frame, from components in either frame") {
  const auto path = field_path();
  DisplacementFile().write(path);
  const DisplacementField lps = read_displacement(path, DisplacementFrame::lps);
  const DisplacementField ras = read_displacement(path, DisplacementFrame::ras);
  std::filesystem::remove(path);
  const Grid& grid = lps[0].grid;
  CHECK(grid.size[0] == 3);
  CHECK(grid.origin_mm == Vec3{-20, -30, -5});
  CHECK(grid.voxel_mm == Vec3{10, 10, 10});
  for (std::size_t c = 0; c < 3; ++c)
    for (std::int64_t v = 0; v < 12; ++v) {
      CHECK(lps[c].voxels[v] == approx(static_cast<double>(c) + 0.01 * static_cast<double>(v)));
      CHECK(ras[c].voxels[v] == (c < 2 ? -1.0f : 1.0f) * lps[c].voxels[v]);
    }
}

TEST_CASE("a file that is no displacement field in mm is refused in one line") {
  const auto path = field_path();
  const auto refused = [&](const DisplacementFile& file, const char* words) {
    file.write(path);
    CHECK_THROWS_WITH(read_displacement(path, DisplacementFrame::lps), doctest::Contains(words));
    CHECK_THROWS_WITH(read_displacement(path, DisplacementFrame::lps), doctest::Contains(path.c_str()));
  };
  refused({.intent = 1001}, "its intent is");
  refused({.intent = 2006}, "not Vector or Displacement vector");
  refused({.units = 0}, "its unit of length is Unknown, not mm");
  refused({.units = 1}, "not mm: convert its displacements");
  refused({.dims = {4, 3, 2, 2, 3, 1, 1, 1}}, "three components along its fifth axis");
  refused({.dims = {5, 3, 2, 2, 1, 2, 1, 1}}, "three components along its fifth axis");
  refused({.value = [](std::size_t, std::size_t) { return 100.0f; }}, "is longer than the field's diagonal");
  refused({.value = [](std::size_t, std::size_t v) { return v == 7 ? std::nanf("") : 1.0f; }}, "not a finite number");
  std::filesystem::remove(path);
  CHECK_THROWS_WITH(read_displacement("none.nii", DisplacementFrame::lps), doctest::Contains("none.nii"));
}
// SPDX-License-Identifier: Apache-2.0
