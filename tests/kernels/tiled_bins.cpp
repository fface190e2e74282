// The bins that CUDA's projectors sort visits into: in the order of tiles, wide and longest visits first, as many as
// fit.
#include <doctest/doctest.h>

#include "kernels/project/tiled/visit_bins.hpp"

using namespace tofstream;
using tiled::Tiling;
using tiled::VisitBins;

namespace {

void check_bins(const Tiling& tiling, std::int64_t most) {
  const VisitBins bins = VisitBins::make(tiling, most);
  CAPTURE(most);
  CHECK(bins.tiles == tiling.count());
  if (most >= 2 * bins.tiles) CHECK(bins.count() <= most);
  int longest = 0;
  for (const auto& axis : tiling.axes) longest = std::max(longest, axis.core[0]);
  for (int tile = 0; tile < bins.tiles; tile += 7)
    for (const bool wide : {false, true}) {
      int before = bins.bin(tile, wide, longest);
      CHECK(before == tile * bins.a_tile() + (wide ? 0 : bins.lengths));
      for (int planes = longest; planes >= 1; --planes) {
        const int bin = bins.bin(tile, wide, planes), local = bin - tile * bins.a_tile();
        CHECK((bin == before || bin == before + 1));
        CHECK(bin < (tile + 1) * bins.a_tile());
        CHECK(bins.planes_of(local) >= planes);
        CHECK(bins.planes_of(local) < planes + bins.planes_a_length);
        before = bin;
      }
      CHECK(before == tile * bins.a_tile() + (wide ? 1 : 2) * bins.lengths - 1);
    }
}

}  // namespace

TEST_CASE("visits have bins by tile, kind and length, which are as fine as memory allows") {
  const tiled::Reach reach{.low = 0, .high = 1, .margin = 1, .stores_margin = true};
  for (const Grid& grid : {Grid::centred(75, 75, 26, {4, 4, 4}), Grid::centred(200, 200, 300, {2, 2, 2})}) {
    Tiling tiling = tiled::make_tiling(grid, reach, 1e9, 57856);
    for (const int images : {1, 2}) {
      tiling.images = images;
      for (const std::int64_t most : {1, 2000, 57000, 1000000}) check_bins(tiling, most);
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
