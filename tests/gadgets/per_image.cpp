// What is made from images once: kept while the image is sent, and no more of it than there is room for.
#include "gadgets/per_image.hpp"

#include <doctest/doctest.h>

using namespace tofstream;

namespace {

std::shared_ptr<const Image> one_voxel(float value) {
  return std::make_shared<const Image>(Image::filled(Grid::centred(1, 1, 1, {1, 1, 1}), value));
}

}  // namespace

TEST_CASE("what is made from an image is made once, and anew where there was no room to keep it") {
  PerImage<float> doubled;
  int made = 0;
  const auto of = [&](const std::shared_ptr<const Image>& image, std::size_t most) {
    return doubled.of(
        image,
        [&] {
          ++made;
          return 2 * image->voxels[0];
        },
        most);
  };
  const auto a = one_voxel(1), b = one_voxel(2), c = one_voxel(3);
  CHECK(of(a, 2) == 2);
  CHECK(of(b, 2) == 4);
  CHECK(of(a, 2) == 2);
  CHECK(made == 2);
  CHECK(of(c, 2) == 6);  // the oldest goes
  CHECK(of(b, 2) == 4);
  CHECK(made == 3);
  CHECK(of(a, 2) == 2);
  CHECK(made == 4);
}

TEST_CASE("what was made from an image goes with it") {
  PerImage<int> numbers;
  int made = 0;
  for (int n = 0; n < 3; ++n) {
    const auto image = one_voxel(1);  // perhaps where the last one lay
    numbers.of(image, [&] { return ++made; });
  }
  CHECK(made == 3);
}
// SPDX-License-Identifier: Apache-2.0
