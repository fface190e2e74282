// Back projection on several cores without atomics: the first slot of events adds into the target, each other slot into
// an image of its own, which are then added in a fixed order. The same input and the same number of slots give the same
// image, bit for bit. Where that number does not depend on the number of threads, neither does the image.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tofstream {

/// Scratch images that survive from call to call and are zero between calls.
class SlotImages {
 public:
  /// For images of `voxels` floats. The number of slots is that of TBB's threads; `deterministic`: 16, fewer where
  /// adding their images would cost more than a quarter of projecting the events. Fewer where slots would take more
  /// than `budget_bytes` (at least one).
  explicit SlotImages(std::int64_t voxels, bool deterministic = false,
                      std::int64_t budget_bytes = std::int64_t{8} << 30);

  /// The bytes of the scratch images once a call has had so many events, without making any.
  static std::int64_t bytes(std::int64_t voxels, bool deterministic, std::int64_t events);

  /// The most that a call may have.
  int slots() const { return slots_; }

  /// Cuts [0, count) into blocks that slots take in turn, runs work(slot, begin, end, image) for each block, slots in
  /// parallel, then adds the slots' images into `target` and zeroes them. Where there are few events for the size of
  /// the image, one slot does all the work: adding images would cost more.
  void accumulate(std::int64_t count, float* target,
                  const std::function<void(int slot, std::int64_t begin, std::int64_t end, float* image)>& work);

 private:
  /// Adding a slot's image costs about as much as projecting an event for so many voxels.
  static constexpr std::int64_t voxels_an_event = 256;
  static constexpr int deterministic_slots = 16;
  int slots_for(std::int64_t count) const;
  void add_images(float* target, int images);

  std::int64_t voxels_;
  bool deterministic_;
  int slots_;
  std::vector<std::vector<float>> images_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
