// Data by views: what a camera recorded at each of its places (SPECT), or events deposited by their direction
// (histo-images). A view is a small image; views of one scan have one size. The twin of events.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/math/vec3.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

struct Scanner;

enum class ViewKind { camera, histo_image };

struct EnergyWindow {
  float low_keV = 0, high_keV = 0;
  friend bool operator==(const EnergyWindow&, const EnergyWindow&) = default;
};

/// Whence one view looks. A camera at angle t lies in the direction n = (sin t, cos t, 0) from the axis, as DICOM
/// counts angles; its columns run along u = (-cos t, sin t, 0), its rows along w = z.
struct ViewPlace {
  float angle_deg = 0;                     // of a histo-image: azimuth
  float tilt_deg = 0;                      // of a histo-image: co-polar angle; 0 for a camera
  float radius_mm = 0;                     // of a camera: from the axis to the collimator's face
  float centre_u_mm = 0, centre_w_mm = 0;  // where the view's middle lies, from the axis and from z = 0
  double start_s = 0, duration_s = 0;
  int head = 0;
  friend bool operator==(const ViewPlace&, const ViewPlace&) = default;
};

/// What histo-images say of themselves beside their size.
struct HistoImages {
  bool lie_along_view = false;  // their lattice; else it is the image's
  Vec3 centre_mm;               // of the image that they are for
  float tof_sigma_mm = 0;       // of the events' ToF about its deposit; 0: not known
  float acceptance_deg = 0;     // co-polar angles of their lines go so far either way; 0: not known
  float deposit_variance = 0;  // of counts about their event's point along each axis, in spacings squared; 0: not known
  std::shared_ptr<const Scanner> scanner = nullptr;  // that recorded the events; null: not known
  friend bool operator==(const HistoImages&, const HistoImages&) = default;
};

/// The views of a scan, as it was planned: of some of them data may not have come. What a Scanner is to events.
struct ViewSet {
  std::string name, collimator;  // of the camera; may be empty
  ViewKind kind = ViewKind::camera;
  int size[3] = {0, 0, 1};  // pixels along u and w; of a histo-image x, y, z
  Vec3 pixel_mm;
  std::vector<ViewPlace> places;
  std::vector<EnergyWindow> windows;  // the first one is reconstructed; empty: not known
  HistoImages histo = {};             // of ViewKind::histo_image

  /// Pixels of a view.
  std::int64_t pixels() const { return std::int64_t{size[0]} * size[1] * size[2]; }
  /// Whether each point has an efficiency of its own, as histo-images have: the sensitivity of all views is then known
  /// only with the `multiplicative` of each. A camera's views are alike.
  bool has_own_efficiencies() const { return kind == ViewKind::histo_image; }
  /// Throws std::invalid_argument, in one line, that names the first value that cannot be: no view, no pixel, a
  /// number that is not finite, a camera's radius that is not positive, or two views at one place.
  void validate() const;
  friend bool operator==(const ViewSet&, const ViewSet&) = default;
};

/// One view that data came of.
struct ViewRecord {
  std::int32_t view = 0;     // number in the set
  double exposure = 1;       // mean over the view's time of what scales all its pixels alike: decay and live time
  std::uint64_t counts = 0;  // the sum of the view's pixels, rounded once, where it entered the program
};

/// What kernels read of a batch of views, passed by value. Arrays lie in the data's memory, [view][w][u], but for
/// `set` and `records`, which the host reads.
struct Views {
  std::int64_t count = 0;  // pixels of all views
  int views = 0;
  const ViewSet* set = nullptr;
  const ViewRecord* records = nullptr;    // of each view
  const std::int32_t* index = nullptr;    // of each view: its number in the set
  const float* weight = nullptr;          // of each view, w_v of y = w m A x + b; null: 1
  const float* counts = nullptr;          // y; null: none were measured
  const float* multiplicative = nullptr;  // m; null: 1
  const float* additive = nullptr;        // b, in counts; null: 0
};

/// Owned views, all in one kind of memory. Empty arrays stand for what Views says of null pointers. A view may come
/// twice (frames of a view that grows): these are separate data of one geometry.
struct ViewBatch {
  std::int64_t count = 0;  // pixels of all views
  std::shared_ptr<const ViewSet> set;
  std::vector<ViewRecord> records;
  int window = 0;                            // index into set->windows; only views of the first one are reconstructed
  double reference_s = 1;                    // an estimate counts the decays of so much time
  std::shared_ptr<const Quantity> quantity;  // as EventBatch has it
  Buffer<std::int32_t> index;
  Buffer<float> weight, counts, multiplicative, additive;
  Buffer<std::uint16_t> whole_counts;  // in place of counts, half as large: float_counts.hpp makes these of them

  Memory memory() const { return index.memory(); }
  bool has_counts() const { return !counts.empty() || !whole_counts.empty(); }
  /// Pointers for kernels; they hold as long as the batch. Whole counts are not among them. Throws std::logic_error if
  /// arrays disagree in size or memory with the records, or records with the set.
  Views view() const;
  /// A copy in the given memory, queued on the stream.
  ViewBatch to(Memory memory, Stream stream = nullptr) const;
  /// All that the batch says but its arrays; the count stays.
  ViewBatch without_arrays() const;
  /// The counts of all views; 0 of a window that is not reconstructed.
  std::uint64_t event_count() const;
  std::size_t bytes() const;
  /// Sets `reference_s`, and in host memory `index` and `weight` = duration x exposure / reference_s of each record;
  /// a view without a duration has the weight of its exposure.
  void weigh(double reference_s);
  /// As EventBatch has it.
  void note_rejecting(const std::string& gadget) { quantity = with_rejecting(quantity, gadget); }
};

/// Calls visit(array of a, array of b) for each array of two batches that has a number a view.
template <class BatchA, class BatchB, class Visit>
void for_each_record_array_pair(BatchA& a, BatchB& b, Visit&& visit) {
  visit(a.index, b.index);
  visit(a.weight, b.weight);
}

/// Calls visit(array of a, array of b) for each array of two batches that has a number a pixel.
template <class BatchA, class BatchB, class Visit>
void for_each_pixel_array_pair(BatchA& a, BatchB& b, Visit&& visit) {
  visit(a.counts, b.counts);
  visit(a.whole_counts, b.whole_counts);
  visit(a.multiplicative, b.multiplicative);
  visit(a.additive, b.additive);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
