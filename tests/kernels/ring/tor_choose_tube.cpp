// The tube that is chosen if a pipeline gives none.
#include <vector>

#include <doctest/doctest.h>

#include "kernels/ring/tor/choose_tube.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// Three crystals in a row, so far apart; for 0 a scanner without crystals, as two strips are.
Scanner with_crystals(float pitch_mm) {
  std::vector<Vec3> positions{{100, 0, 0}, {-100, 0, 0}};
  if (pitch_mm > 0) positions.push_back({100, pitch_mm, 0});
  Scanner scanner;
  scanner.types = {{.modules = 1, .elements = static_cast<std::uint32_t>(positions.size())}};
  scanner.detectors = std::make_shared<const DetectorTable>(positions);
  return scanner;
}

void check(const GaussianTube& tube, float width_voxels, float fwhm_mm) {
  CHECK(tube.width_voxels == approx(width_voxels));
  CHECK(tube.fwhm_mm == approx(fwhm_mm));
}

}  // namespace

TEST_CASE("the response is half the crystals' width, and the tube holds it") {
  const Grid grid = Grid::centred(10, 10, 10, {2, 1, 2});
  check(choose_tube(with_crystals(6), grid, 0, 0), 3 / (0.43f * 2), 3);
  check(choose_tube(with_crystals(4), grid, 0, 0), 1 / 0.43f, 2);
  check(choose_tube(with_crystals(1), grid, 0, 0), 1.4145f, 0.43f * 2.829f);  // a voxel's diagonal wide
  check(choose_tube(with_crystals(150), grid, 0, 0), 64, 75);                 // the widest tube
  CHECK(choose_tube(with_crystals(6), grid, 0, 0).crystal_mm == 6);
}

TEST_CASE("a tube whose width or response is given, or whose scanner has no crystals, is 0.43 of its diameter") {
  const Grid grid = Grid::centred(10, 10, 10, {2, 1, 2});
  check(choose_tube(with_crystals(6), grid, 3, 0), 3, 0.43f * 6);
  check(choose_tube(with_crystals(6), grid, 5, 0), 5, 0.43f * 10);
  check(choose_tube(with_crystals(6), grid, 5, 1), 5, 1);
  check(choose_tube(with_crystals(6), grid, 0, 4.3f), 5, 4.3f);
  check(choose_tube(with_crystals(6), grid, 0, 1), 1.4145f, 1);
  check(choose_tube(with_crystals(0), grid, 0, 0), 3, 0.43f * 6);
  CHECK(!choose_tube(with_crystals(0), grid, 0, 0).crystal_mm);
  CHECK(!choose_tube(with_crystals(6), grid, 3, 0).crystal_mm);
}

TEST_CASE("tubes narrower than 3 voxels are normalised by slices unless a user says otherwise") {
  CHECK(usual_normalise(2.9f) == Normalise::slice);
  CHECK(usual_normalise(3) == Normalise::none);
}
// SPDX-License-Identifier: Apache-2.0
