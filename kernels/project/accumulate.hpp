// Back projection on several cores without atomics: each slot of events adds into an image of its
// own, and the slots are then summed in a fixed order. Same input and same number of slots give the
// same image, bit for bit.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tofstream {

/// Scratch images that survive from call to call and are zero between calls.
class SlotImages {
 public:
  /// For images of `voxels` floats. The number of slots is that of TBB's threads, fewer where slots
  /// would take more than `budget_bytes` (at least one).
  explicit SlotImages(std::int64_t voxels, std::int64_t budget_bytes = std::int64_t{8} << 30);

  int slots() const { return slots_; }

  /// Cuts [0, count) into blocks that `slots()` slots take in turn, runs work(slot, begin, end,
  /// image) for each block, slots in parallel, then adds all slots' images into `target` and zeroes
  /// them. With one slot, work adds straight into `target`.
  void accumulate(std::int64_t count, float* target,
                  const std::function<void(int slot, std::int64_t begin, std::int64_t end,
                                           float* image)>& work);

 private:
  std::int64_t voxels_;
  int slots_;
  std::vector<std::vector<float>> images_;
};

}  // namespace tofstream
