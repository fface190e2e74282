// Slot images: see accumulate.hpp.
#include "kernels/project/accumulate.hpp"

#include <algorithm>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace tofstream {

SlotImages::SlotImages(std::int64_t voxels, bool deterministic, std::int64_t budget_bytes)
    : voxels_(voxels), deterministic_(deterministic) {
  const std::int64_t image_bytes = std::max<std::int64_t>(voxels, 1) * static_cast<std::int64_t>(sizeof(float));
  slots_ = static_cast<int>(std::clamp<std::int64_t>(
      budget_bytes / image_bytes, 1, deterministic ? deterministic_slots : tbb::this_task_arena::max_concurrency()));
}

std::int64_t SlotImages::bytes(std::int64_t voxels, bool deterministic, std::int64_t events) {
  const SlotImages like(voxels, deterministic);
  return (like.slots_for(events) - 1) * voxels * static_cast<std::int64_t>(sizeof(float));
}

int SlotImages::slots_for(std::int64_t count) const {
  if (!deterministic_) return count < voxels_ / voxels_an_event ? 1 : slots_;
  const std::int64_t images =
      count * voxels_an_event / 4 / std::max<std::int64_t>(voxels_, 1);  // a quarter of the work
  return static_cast<int>(std::min<std::int64_t>(1 + images, slots_));
}

void SlotImages::accumulate(std::int64_t count, float* target,
                            const std::function<void(int, std::int64_t, std::int64_t, float*)>& work) {
  const int slots = slots_for(count);
  if (slots == 1) {
    work(0, 0, count, target);
    return;
  }
  images_.resize(static_cast<std::size_t>(slots_ - 1));  // those that are not used stay empty
  const auto image_of = [&](int slot) -> float* {
    if (slot == 0) return target;
    auto& image = images_[static_cast<std::size_t>(slot - 1)];
    image.resize(static_cast<std::size_t>(voxels_), 0.0f);
    return image.data();
  };
  try {
    // Slots take blocks in turn, so that events sorted by cost spread evenly and which slot an
    // event goes to does not depend on timing.
    tbb::parallel_for(
        0, slots, 1,
        [&](int slot) {
          float* image = image_of(slot);
          constexpr std::int64_t block = 4096;
          for (std::int64_t begin = slot * block; begin < count; begin += slots * block)
            work(slot, begin, std::min(begin + block, count), image);
        },
        tbb::simple_partitioner());
  } catch (...) {
    images_.clear();  // half-filled images must not reach the next call
    throw;
  }
  add_images(target, slots - 1);
}

void SlotImages::add_images(float* target, int images) {
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, voxels_, 1 << 14), [&](const auto& range) {
    for (int i = 0; i < images; ++i) {
      float* from = images_[static_cast<std::size_t>(i)].data();
      for (std::int64_t v = range.begin(); v < range.end(); ++v) {
        target[v] += from[v];
        from[v] = 0;
      }
    }
  });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
