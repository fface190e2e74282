// Batches of events and the table of detectors: see events.hpp.
#include "kernels/types/events.hpp"

#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>

#include "kernels/memory/devices.hpp"

namespace tofstream {

DetectorTable::DetectorTable(std::span<const Vec3> positions_mm)
    : host_(Memory::host, static_cast<std::int64_t>(positions_mm.size())) {
  std::int64_t i = 0;
  for (const Vec3& position : positions_mm) host_[i++] = {position, 0};
}

const Detector* DetectorTable::on(Memory memory) const {
  if (on_host(memory)) return host_.data();
  const std::lock_guard lock(mutex_);
  Buffer<Detector>& there = on_devices_[current_device()];
  if (there.empty() && !host_.empty()) {
    there = host_.to(Memory::device);  // kept for longer than a caller's stream
    synchronize(nullptr);
  }
  return there.data();
}

Memory EventBatch::memory() const {
  return detectors ? detector1.memory() : ends[0].memory();
}

EventView EventBatch::view() const {
  const Memory where = memory();
  const auto pointer = [&]<class T>(const Buffer<T>& array, bool required) -> const T* {
    if (array.empty() && !(required && count > 0)) return nullptr;
    if (array.size() != count || on_host(array.memory()) != on_host(where))  // some may be pinned, and others not
      throw std::logic_error("the arrays of an event batch disagree in size or memory");
    return array.data();
  };
  EventView view;
  view.count = count;
  view.tof = tof;
  if (detectors) {
    view.detectors = detectors->on(where);
    view.detector1 = pointer(detector1, true);
    view.detector2 = pointer(detector2, true);
  } else {
    for (int e = 0; e < 6; ++e) view.ends[e] = pointer(ends[e], true);
  }
  view.tof_mm = pointer(tof_mm, false);
  view.tof_width_mm = pointer(tof_width_mm, false);
  view.multiplicative = pointer(multiplicative, false);
  view.additive = pointer(additive, false);
  view.counts = pointer(counts, false);
  view.bin = pointer(bin, false);
  return view;
}

EventBatch EventBatch::without_arrays() const {
  EventBatch result;
  result.count = count;
  result.scanner = scanner;
  result.detectors = detectors;
  result.tof = tof;
  result.start_s = start_s;
  result.duration_s = duration_s;
  result.exposure = exposure;
  result.delayed = delayed;
  result.quantity = quantity;
  result.live = live;
  result.pose = pose;
  result.singles = singles;
  for (int a = 0; a < 4; ++a) result.axis_begin[a] = axis_begin[a];
  return result;
}

EventBatch EventBatch::to(Memory memory, Stream stream) const {
  EventBatch result = without_arrays();
  for_each_array_pair(result, *this, [&](auto& to, const auto& from) { to = from.to(memory, stream); });
  return result;
}

std::uint64_t EventBatch::event_count() const {
  if (counts.empty()) return static_cast<std::uint64_t>(count);
  const auto sum_of = [](std::span<const float> all) {
    return static_cast<std::uint64_t>(std::llround(std::accumulate(all.begin(), all.end(), 0.0)));
  };
  return on_host(counts.memory()) ? sum_of(counts.span()) : sum_of(counts.to_vector());
}

std::size_t EventBatch::bytes() const {
  std::size_t sum = 0;
  for_each_array(*this, [&](const auto& array) { sum += array.bytes(); });
  return sum;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
