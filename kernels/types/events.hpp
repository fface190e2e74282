// List-mode events as a structure of arrays: each event's two detectors (or free endpoints), ToF in
// mm and corrections. ToF follows PETSIRD: t_mm = c (t1 - t2) / 2 from the LOR's midpoint, positive
// towards detector 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

struct LivePattern;
struct RigidPose;
struct Scanner;
struct SinglesCounts;

/// A point at which a photon is taken as detected, padded so that a GPU fetches it in one 16-byte
/// load. A layer of a depth-of-interaction detector is a detector of its own.
struct alignas(16) Detector {
  Vec3 position_mm;
  float unused = 0;
};

/// The detectors of a scanner, with a copy on each CUDA device, which is made at first use and kept. Thread-safe.
class DetectorTable {
 public:
  explicit DetectorTable(std::span<const Vec3> positions_mm);
  std::int64_t size() const { return host_.size(); }
  Vec3 position(std::uint32_t detector) const { return host_[detector].position_mm; }
  /// The table in the given memory, of the current device; the copy to a device is complete on return.
  const Detector* on(Memory memory) const;

 private:
  Buffer<Detector> host_;
  mutable std::mutex mutex_;
  mutable std::map<int, Buffer<Detector>> on_devices_;
};

/// The Gaussian ToF response of a pair of detectors: sigma (not FWHM) in mm along the LOR; sigma 0
/// is non-ToF.
struct TofModel {
  float sigma_mm = 0;
  float bin_width_mm = 0;  // one ToF bin; 0: unbinned, the response is then a density per mm (a bin of 1 mm)
  float window_mm = 0;     // all ToF that a coincidence may have, from end to end; 0: not known
  friend constexpr bool operator==(const TofModel&, const TofModel&) = default;
};

/// A line of response with the centre of its ToF bin, in mm from the midpoint towards `end2`.
struct Lor {
  Vec3 end1, end2;
  float tof_mm = 0;
};

/// What kernels read of a batch: pointers into one kind of memory, passed by value. A null pointer has the meaning that
/// the comment beside it gives.
struct EventView {
  std::int64_t count = 0;
  const Detector* detectors = nullptr;  // table for detector1 and detector2; null: free endpoints
  const std::uint32_t* detector1 = nullptr;
  const std::uint32_t* detector2 = nullptr;
  const float* ends[6] = {};              // x1 y1 z1 x2 y2 z2 (mm), where detectors is null
  const float* tof_mm = nullptr;          // null: non-ToF
  const float* tof_width_mm = nullptr;    // null: every bin is tof.bin_width_mm wide
  const float* multiplicative = nullptr;  // null: 1
  const float* additive = nullptr;        // additive / multiplicative, as EM needs it; null: 0
  const float* counts = nullptr;          // y of EM: a histogram's bin is an event with all of its counts; null: 1
  const std::uint32_t* bin = nullptr;     // its number among Scanner::lines, whose lines are spread; null: they are not
  TofModel tof;

  TOFSTREAM_HOST_DEVICE Lor lor(std::int64_t i) const {
    const float t = tof_mm ? tof_mm[i] : 0.0f;
    if (detectors) return {detectors[detector1[i]].position_mm, detectors[detector2[i]].position_mm, t};
    return {{ends[0][i], ends[1][i], ends[2][i]}, {ends[3][i], ends[4][i], ends[5][i]}, t};
  }
#ifdef __CUDACC__
  /// Prefetches event i's entries into the caches.
  __device__ void prefetch(std::int64_t i) const {
    const auto call = [](const void* address) { asm volatile("prefetch.global.L1 [%0];" ::"l"(address)); };
    if (detectors) {
      call(detector1 + i);
      call(detector2 + i);
    } else {
      for (const float* end : ends) call(end + i);
    }
    if (tof_mm) call(tof_mm + i);
  }
#endif
  TOFSTREAM_HOST_DEVICE bool has_tof() const {
    return tof_mm != nullptr && tof.sigma_mm > 0;
  }
  /// Width of event i's ToF bin in mm; 1 where events are unbinned.
  TOFSTREAM_HOST_DEVICE float bin_width_mm(std::int64_t i) const {
    const float width = tof_width_mm ? tof_width_mm[i] : tof.bin_width_mm;
    return width > 0 ? width : 1.0f;
  }
  /// Events [begin, begin + n) of this view.
  TOFSTREAM_HOST_DEVICE EventView slice(std::int64_t begin, std::int64_t n) const {
    EventView part = *this;
    part.count = n;
    if (detectors) {
      part.detector1 += begin;
      part.detector2 += begin;
    } else {
      for (auto& end : part.ends) end += begin;
    }
    if (tof_mm) part.tof_mm += begin;
    if (tof_width_mm) part.tof_width_mm += begin;
    if (multiplicative) part.multiplicative += begin;
    if (additive) part.additive += begin;
    if (counts) part.counts += begin;
    if (bin) part.bin += begin;
    return part;
  }
};

/// Owned events, all in one kind of memory, of one pair of module types (so of one ToF model).
/// Empty arrays stand for what EventView says of null pointers.
struct EventBatch {
  std::int64_t count = 0;
  std::shared_ptr<const Scanner> scanner;          // null for events of an unknown scanner
  std::shared_ptr<const DetectorTable> detectors;  // null for free endpoints
  TofModel tof;
  double start_s = 0;     // scanner time at which the batch begins
  double duration_s = 0;  // scanner time it stands for (a share of a time block that was cut)
  double exposure = 1;    // mean over that time of what scales all LORs alike: decay and live time; sensitivity is
                          // weighted with duration_s * exposure
  bool delayed = false;   // delayed coincidences, which estimate randoms and are never reconstructed
  std::shared_ptr<const Quantity> quantity;  // what an image of them shows, and how corrected; null: nobody says
  // Live fractions of pairs of modules over that time, relative to the mean in `exposure`; null: all alike.
  std::shared_ptr<const LivePattern> live;
  // It takes the scanner to the object, and has moved `detectors`, not those of `scanner`; null: nobody speaks of
  // movement.
  std::shared_ptr<const RigidPose> pose;
  std::shared_ptr<const SinglesCounts> singles;  // only of a batch without events, which brings them; else null
  Buffer<std::uint32_t> detector1, detector2;
  Buffer<float> ends[6];
  Buffer<float> tof_mm, tof_width_mm, multiplicative, additive;
  Buffer<float> counts;           // of each event, whole and not negative; empty: 1
  Buffer<std::uint32_t> bin;      // of a histogram whose bins' lines are projected one by one: see RecordedLines
  Buffer<std::uint32_t> arrival;  // rank at which each event arrived, once a sort has moved it; else empty
  std::int64_t axis_begin[4] = {
      0, 0, 0, 0};  // events of predominant axis a are [axis_begin[a], axis_begin[a + 1]), once partitioned

  Memory memory() const;
  /// Pointers for kernels. Throws std::logic_error when arrays
  /// disagree in size or memory with `count`.
  EventView view() const;
  /// A copy in the given memory, queued on the stream.
  EventBatch to(Memory memory, Stream stream = nullptr) const;
  /// All that the batch says but its events: the arrays are empty, the count stays.
  EventBatch without_arrays() const;
  /// Coincidences that the batch stands for, as books count them: its counts, else its events.
  std::uint64_t event_count() const;
  std::size_t bytes() const;
  /// The runtime's note that a gadget gave fewer events than it took: what is reconstructed is no longer all that the
  /// sensitivity counts on.
  void note_rejecting(const std::string& gadget) { quantity = with_rejecting(quantity, gadget); }
};

/// Calls visit(array) for each of the batch's per-event arrays: what a sort, a cut or a copy must
/// treat alike.
template <class Batch, class Visit>
void for_each_array(Batch& batch, Visit&& visit) {
  visit(batch.detector1);
  visit(batch.detector2);
  for (auto& end : batch.ends) visit(end);
  visit(batch.tof_mm);
  visit(batch.tof_width_mm);
  visit(batch.multiplicative);
  visit(batch.additive);
  visit(batch.counts);
  visit(batch.bin);
  visit(batch.arrival);
}

/// Calls visit(array of a, array of b) for each of the per-event arrays of two batches.
template <class BatchA, class BatchB, class Visit>
void for_each_array_pair(BatchA& a, BatchB& b, Visit&& visit) {
  visit(a.detector1, b.detector1);
  visit(a.detector2, b.detector2);
  for (int e = 0; e < 6; ++e) visit(a.ends[e], b.ends[e]);
  visit(a.tof_mm, b.tof_mm);
  visit(a.tof_width_mm, b.tof_width_mm);
  visit(a.multiplicative, b.multiplicative);
  visit(a.additive, b.additive);
  visit(a.counts, b.counts);
  visit(a.bin, b.bin);
  visit(a.arrival, b.arrival);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
