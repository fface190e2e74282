// Estimates of blobs: sampled as the parameters say, and refused by gadgets that read voxels.
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/analysis/roi.hpp"
#include "kernels/blob/blob.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

std::shared_ptr<const Estimate> estimate(int iteration, bool ends_iteration, float value) {
  Grid grid = Grid::centred(10, 10, 10, {8, 8, 8});
  grid.blob = {uniform_blob_radius_mm(8, 8.3689f), 8.3689f};
  return std::make_shared<const Estimate>(Estimate{{.iteration = iteration, .ends_iteration = ends_iteration},
                                                   std::make_shared<const Image>(Image::filled(grid, value))});
}

}  // namespace

TEST_CASE("blob_to_voxels samples every estimate, or the start, each iteration's and the last one") {
  for (const auto& [every, values] :
       {std::pair{"update", std::vector<float>{1, 2, 3, 4, 5}}, std::pair{"iteration", std::vector<float>{1, 3, 5}},
        std::pair{"final", std::vector<float>{1, 5}}}) {
    RegisteredGadgetTest<Estimate> gadget("blob_to_voxels",
                                          fmt::format("{{voxel_mm: [4, 4, 4], size: [8, 8, 6], every: {}}}", every));
    gadget.send(estimate(0, false, 1));
    gadget.send(estimate(1, false, 2));
    gadget.send(estimate(1, true, 3));
    gadget.send(estimate(2, false, 4));
    gadget.send(estimate(2, false, 5));
    gadget.finish();
    REQUIRE(gadget.out.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Image& image = *gadget.out[i].image;
      CHECK(image.grid == Grid::centred(8, 8, 6, {4, 4, 4}));
      CHECK(statistics(image, Cylinder{{0, 0, 0}, 12, 16}).mean ==
            approx(static_cast<double>(values[i])).epsilon(2e-3));
    }
  }
}

TEST_CASE("blob_to_voxels refuses a size of two numbers and an image of voxels") {
  CHECK_THROWS_WITH(RegisteredGadgetTest<Estimate>("blob_to_voxels", "{size: [4, 4]}"), doctest::Contains("three"));
  RegisteredGadgetTest<Estimate> gadget("blob_to_voxels");
  const Grid voxels = Grid::centred(3, 3, 3, {4, 4, 4});
  CHECK_THROWS_WITH(gadget.send(Estimate{{}, std::make_shared<const Image>(Image::zeros(voxels))}),
                    doctest::Contains("image.basis"));
}

TEST_CASE("what reads voxels refuses blobs when the start image comes") {
  for (const char* name : {"nifti_writer", "png_writer"}) {
    RegisteredGadgetTest<void> writer(name);
    CHECK_THROWS_WITH(writer.send(estimate(0, false, 1)), doctest::Contains("blob_to_voxels"));
  }
  RegisteredGadgetTest<Estimate> blur("gaussian_psf");
  CHECK_THROWS_WITH(blur.send(estimate(0, false, 1)), doctest::Contains("blob_to_voxels"));
}
// SPDX-License-Identifier: Apache-2.0
