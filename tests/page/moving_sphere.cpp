// A source for the browser's test: estimates of a sphere that moves, until the run is stopped.
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {
namespace {

struct MovingSphere {
  void run(Emit<Estimate>& emit, std::stop_token stop, Context& context) {
    for (int step = 0; !stop.stop_requested(); ++step) {
      context.books().received(1000);
      context.books().reconstructed(1000);
      emit({.step = {.iteration = step / 4 + 1, .iterations = 0, .subset = step % 4, .subsets = 4},
            .image = std::make_shared<const Image>(sphere_at(40 * std::sin(0.1F * static_cast<float>(step))))});
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

 private:
  static Image sphere_at(float x) {
    Image image = Image::zeros(Grid::centred(40, 40, 16, {4, 4, 6}));
    const Grid& grid = image.grid;
    for (int k = 0; k < grid.size[2]; ++k)
      for (int j = 0; j < grid.size[1]; ++j)
        for (int i = 0; i < grid.size[0]; ++i) {
          const float from_centre = norm(grid.centre(i, j, k) - Vec3{x, 0, 0}) / 30;
          image.voxels.span()[static_cast<std::size_t>(grid.index(i, j, k))] =
              100 * std::exp(-from_centre * from_centre);
        }
    return image;
  }
};

TOFSTREAM_GADGET(MovingSphere, "moving_sphere", "Estimates of a sphere that moves");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
