// Scatter estimates and normalisations are read back from their files, and bad files are reported in one line.
#include "gadgets/ring/io/scatter_nifti.hpp"

#include <filesystem>
#include <fstream>

#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

ScatterEstimate counted() {
  ScatterEstimate e{{5, 4, 3, 3, 2}, 20.5f, 30, 50, {}};
  for (int i = 0; i < 5 * 4 * 3 * 3 * 2; ++i) e.values.push_back(static_cast<float>(i));
  return e;
}

/// The bytes of a plain file with one 16- or 32-bit number of its header changed.
template <class T>
void change(const std::filesystem::path& path, std::streamoff offset, T value) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

TEST_CASE("a scatter estimate is read as it was written, plain and compressed") {
  const TemporaryFolder folder;
  for (const char* name : {"scatter.nii", "scatter.nii.gz"}) {
    write_scatter(folder / name, counted());
    const ScatterEstimate back = read_scatter(folder / name);
    CHECK(back.size == counted().size);
    CHECK(back.radial_mm == 20.5f);
    CHECK(back.axial_mm == 30);
    CHECK(back.tof_mm == 50);
    CHECK(back.values == counted().values);
  }
  CHECK_THROWS_WITH(write_scatter(folder / "scatter.img", counted()), doctest::Contains(".nii"));
}

TEST_CASE("a file that is no scatter estimate is refused with its name and what is wrong") {
  const TemporaryFolder folder;
  const auto refused = [&](const char* why, auto offset, auto value) {
    const auto path = folder / "scatter.nii";
    write_scatter(path, counted());
    change(path, offset, value);
    CHECK_THROWS_WITH(read_scatter(path), doctest::Contains(why));
    CHECK_THROWS_WITH(read_scatter(path), doctest::Contains("scatter.nii: "));
  };
  constexpr std::streamoff dim = 40, pixdim = 76, values = 352;
  refused("4 angles over half a turn are 45 degrees", pixdim + 8, 10.0f);
  refused("one spacing, not 30 and 31", pixdim + 16, 31.0f);
  refused("as many axial samples", dim + 8, short{2});
  refused("truncated", dim + 10, short{200});
  refused("samples along its axis radial", dim + 2, short{5000});
  refused("holds -1", values, -1.0f);
  CHECK_THROWS_WITH(read_scatter(folder / "none.nii"), doctest::Contains("no such file"));
}

TEST_CASE("a normalisation's components are read, and mistakes are told with their place") {
  const auto both = formats::parse_normalisation("calibration: 2.5\ncrystal_efficiency: [1, 0.5, 0]\n", "n.yaml");
  CHECK(both.calibration == 2.5f);
  CHECK(both.crystal_efficiency == std::vector<float>{1, 0.5f, 0});
  const auto refused = [](const char* text, const char* why) {
    CHECK_THROWS_WITH(formats::parse_normalisation(text, "n.yaml"), doctest::Contains(why));
  };
  refused("crystal_efficiency: [1, -2]", "n.yaml:1:25: normalisation.crystal_efficiency[1] must be in [0, ");
  refused("crystals: [1]", "unknown key 'crystals'");
  refused("{}", "needs crystal_efficiency");
  refused("calibration: 0", "n.yaml:1:14: normalisation.calibration must be in [1e-12, ");
}

TEST_CASE("a mu map is read in 1/mm, and a negative one refused") {
  const TemporaryFolder folder;
  Image mu = Image::filled(Grid::centred(4, 5, 6, {2, 2, 3}), 0.096f);
  write_nifti(folder / "mu.nii", mu);
  const Image back = read_mu_map(folder / "mu.nii");
  CHECK(back.grid == mu.grid);
  CHECK(back.voxels[7] == approx(0.0096));
  mu.voxels[3] = -0.1f;
  write_nifti(folder / "mu.nii", mu);
  CHECK_THROWS_WITH(read_mu_map(folder / "mu.nii"), doctest::Contains("must not be negative"));
}
// SPDX-License-Identifier: Apache-2.0
