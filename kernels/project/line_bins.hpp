// The bins of a time-of-flight sinogram as events: all bins of a line, line after line.
#pragma once

#include <cstdint>

#include "kernels/types/events.hpp"

namespace tofstream {

/// Centre in mm of bin `bin` of so many of this width about a line's middle, towards its second end.
TOFSTREAM_HOST_DEVICE inline float bin_centre_mm(int bin, int bins, float width_mm) {
  return (static_cast<float>(bin) - 0.5f * static_cast<float>(bins - 1)) * width_mm;
}

/// Events of lines, made a stretch at a time.
class LineBins {
 public:
  /// `lines`: one event a line, without ToF; its arrays outlive this. `tof`: the bins' model, with a bin width.
  LineBins(const EventView& lines, int bins, const TofModel& tof, Memory memory);

  /// Event i * bins + bin lies in that bin of line first + i. Holds until the next call, which is to be queued on the
  /// same stream.
  EventView events(std::int64_t first, std::int64_t lines, Stream stream = nullptr);

 private:
  template <class T>
  Buffer<T>& room(Buffer<T>& array, std::int64_t count, Stream stream);

  const EventView lines_;
  const int bins_;
  const TofModel tof_;
  const Memory memory_;
  Buffer<std::uint32_t> detector1_, detector2_;
  Buffer<float> ends_[6], tof_mm_;
};

namespace detail {

/// Writes the events of lines [first, first + count / bins) into the arrays that `to` points to.
struct LineStretch {
  EventView lines;  // from the first line on
  int bins = 1;
  float width_mm = 0;
  std::int64_t count = 0;                                    // events
  std::uint32_t *detector1 = nullptr, *detector2 = nullptr;  // null: free end points
  float* ends[6] = {};
  float* tof_mm = nullptr;

  TOFSTREAM_HOST_DEVICE void write(std::int64_t event) const {
    const std::int64_t line = event / bins;
    if (lines.detectors) {
      detector1[event] = lines.detector1[line];
      detector2[event] = lines.detector2[line];
    } else {
      for (int end = 0; end < 6; ++end) ends[end][event] = lines.ends[end][line];
    }
    tof_mm[event] = bin_centre_mm(static_cast<int>(event % bins), bins, width_mm);
  }
};
/// Queued on the stream. Throws where there is no CUDA.
void write_cuda(const LineStretch& stretch, Stream stream);

}  // namespace detail

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
