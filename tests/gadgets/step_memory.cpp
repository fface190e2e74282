// What a projector's gadget keeps on a GPU gives way where others need the memory.
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "core/testing.hpp"
#include "gadgets/additive.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/ring/simulate/random_pairs.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

const Grid image = Grid::centred(200, 200, 80, {2, 2, 2});
constexpr int of_a_subset = 3;
constexpr std::int64_t of_a_batch = 2'000'000;

/// On the GPU, for the first of many iterations: what is prepared of it is worth keeping.
std::shared_ptr<const EventSubset> subset_on_gpu(const std::shared_ptr<const Scanner>& scanner, std::uint64_t number) {
  EventSubset subset{.step = {.iteration = 1, .iterations = 9, .subsets = 1}, .batches = {}};
  for (std::uint64_t k = 0; k < of_a_subset; ++k)
    subset.batches.push_back(std::make_shared<const EventBatch>(
        random_pairs(scanner, image, of_a_batch, of_a_subset * number + k).to(Memory::device)));
  synchronize(nullptr);
  return std::make_shared<const EventSubset>(std::move(subset));
}

struct Projector {
  RegisteredGadgetTest<Projected> gadget{
      "joseph_projector",
      "{backend: cuda, deterministic: true, sensitivity: {cache: false, sampled_pairs: 1000, exact_pairs: 0}}"};
  std::shared_ptr<const Estimate> estimate = std::make_shared<const Estimate>(
      Estimate{{.iteration = 0}, std::make_shared<const Image>(Image::filled(image, 1, Memory::device))});

  std::vector<float> project(const std::shared_ptr<const EventSubset>& subset) {
    gadget.send(subset, estimate, std::shared_ptr<const Additive<EventBatch>>());
    return gadget.out.all().back()->back_projection->voxels.to_vector();
  }
};

}  // namespace

TEST_CASE("deterministic sums go on where others have taken the GPU's memory since plans were kept there") {
  if (!gpu_or_skip()) return;
  const auto scanner = make_scanner({.modules_transaxial = 60,
                                     .modules_axial = 10,
                                     .crystals_transaxial = 10,
                                     .crystals_axial = 4,
                                     .module_pitch_axial_mm = 16});
  const auto first = subset_on_gpu(scanner, 1), second = subset_on_gpu(scanner, 2);
  const std::vector<float> expected = Projector().project(second);
  Projector crowded;
  const std::vector<float> before = crowded.project(first);
  synchronize(nullptr);
  constexpr std::size_t left = std::size_t{400} << 20;
  REQUIRE(free_device_bytes() > left);
  const Buffer<char> taken(Memory::device, static_cast<std::int64_t>(free_device_bytes() - left));
  CHECK(crowded.project(second) == expected);
  CHECK(crowded.project(first) == before);
}
// SPDX-License-Identifier: Apache-2.0
