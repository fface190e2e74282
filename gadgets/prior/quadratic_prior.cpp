// A quadratic prior: neighbouring voxels are expected to be alike.
#include "kernels/prior/quadratic_prior.hpp"

#include <cstddef>
#include <span>

#include "core/gadget.hpp"
#include "gadgets/penalty.hpp"

namespace tofstream {

constexpr auto enum_names(Neighbours) {
  return names(Neighbours::all, "all", Neighbours::faces, "faces");
}

namespace {

struct QuadraticPrior {
  struct Params {
    double beta = 0;
    Neighbours neighbours = Neighbours::all;
  };
  static constexpr auto params = describe(
      param<&Params::beta>("beta", range(0, 1e30), live, required,
                           "Strength: the penalty is beta / 2 times the sum of (difference)^2 w over all pairs of "
                           "neighbours, w = shortest voxel edge / distance, for the reference time"),
      param<&Params::neighbours>("neighbours", "all: the 26 around a voxel; faces: the 6 that share a face with it"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static constexpr bool one_to_one = true;

  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {.message_bytes = inputs[0], .lower = "image.size", .note = "lies where its input does"};
  }

  void process(PriorInput input, Emit<Penalty>& emit, const Params& p) {
    emit(penalty_on(*input.estimate,
                    [&](const Image& image) { return quadratic_gradient(image, p.neighbours, p.beta); }));
  }
};

TOFSTREAM_GADGET(QuadraticPrior, "quadratic_prior",
                 "Penalises differences of neighbouring voxels: smoother images, for an update's input penalty");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
