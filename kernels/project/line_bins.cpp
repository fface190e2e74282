// Sinogram bins as events: see line_bins.hpp.
#include "kernels/project/line_bins.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream {

LineBins::LineBins(const EventView& lines, int bins, const TofModel& tof, Memory memory)
    : lines_(lines), bins_(bins), tof_(tof), memory_(memory) {}

template <class T>
Buffer<T>& LineBins::room(Buffer<T>& array, std::int64_t count, Stream stream) {
  if (array.size() < count) array = Buffer<T>(memory_, count, stream);
  return array;
}

EventView LineBins::events(std::int64_t first, std::int64_t lines, Stream stream) {
  detail::LineStretch stretch{
      .lines = lines_.slice(first, lines), .bins = bins_, .width_mm = tof_.bin_width_mm, .count = lines * bins_};
  EventView events{.count = stretch.count, .detectors = lines_.detectors, .tof = tof_};
  if (lines_.detectors) {
    events.detector1 = stretch.detector1 = room(detector1_, stretch.count, stream).data();
    events.detector2 = stretch.detector2 = room(detector2_, stretch.count, stream).data();
  } else {
    for (int end = 0; end < 6; ++end)
      events.ends[end] = stretch.ends[end] = room(ends_[end], stretch.count, stream).data();
  }
  events.tof_mm = stretch.tof_mm = room(tof_mm_, stretch.count, stream).data();
  if (!on_host(memory_)) {
    detail::write_cuda(stretch, stream);
  } else {
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, stretch.count, 1 << 14), [&](const auto& range) {
      for (std::int64_t event = range.begin(); event != range.end(); ++event) stretch.write(event);
    });
  }
  return events;
}

#ifndef TOFSTREAM_HAVE_CUDA
void detail::write_cuda(const LineStretch&, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
