// The caller's arrays of events: see event_arrays.hpp.
#include "tools/c/event_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "tools/c/guard.hpp"

namespace tofstream::c_api {

RecordedBy recorded_by(const char* name) {
  if (!name || !*name) {
    auto none = std::make_shared<Scanner>();
    none->detectors = std::make_shared<const DetectorTable>(std::span<const Vec3>());
    return {std::move(none), nullptr};
  }
  const petsird::Header header = formats::petsird_header_of(find_shared("scanners", name), 0).header;
  return {petsird::to_scanner(header.scanner), std::make_shared<const Quantity>(petsird::quantity_of(header))};
}

namespace {

// The values on the host, copied where they lie on a device.
template <class T>
std::vector<T> on_host_of(const T* values, std::int64_t count, Memory memory) {
  std::vector<T> host(static_cast<std::size_t>(count));
  detail::copy(host.data(), Memory::host, values, memory, host.size() * sizeof(T), nullptr);
  synchronize(nullptr);
  return host;
}

void check_floats(const float* values, std::int64_t count, Memory memory, const char* argument) {
  if (!values) return;
  const auto host = on_host_of(values, count, memory);
  const auto bad = std::ranges::find_if_not(host, [](float value) { return std::isfinite(value); });
  if (bad != host.end())
    throw Wrong(fmt::format("events.{}[{}] is {}: only finite numbers are taken", argument, bad - host.begin(), *bad));
}

// What multiplies or is added to an expectation.
void check_terms(const float* values, std::int64_t count, Memory memory, const char* argument) {
  check_floats(values, count, memory, argument);
  if (!values) return;
  const auto host = on_host_of(values, count, memory);
  if (const auto bad = std::ranges::find_if(host, [](float value) { return value < 0; }); bad != host.end())
    throw Wrong(fmt::format("events.{}[{}] is {}: it must be at least 0", argument, bad - host.begin(), *bad));
}

void check_detectors(const std::uint32_t* values, std::int64_t count, Memory memory, std::int64_t detectors,
                     const char* argument) {
  const auto host = on_host_of(values, count, memory);
  const auto bad = std::ranges::find_if(host, [&](std::uint32_t value) { return value >= detectors; });
  if (bad != host.end())
    throw Wrong(fmt::format("events.{}[{}] is {}, and the scanner has {} detectors (from 0)", argument,
                            bad - host.begin(), *bad, detectors));
}

TofModel tof_of(const tof_events& events, const Scanner& scanner) {
  const auto is_given = [](float mm) { return mm >= 0 && std::isfinite(mm); };
  if (!is_given(events.tof_sigma_mm) || !is_given(events.tof_bin_mm))
    throw Wrong(fmt::format("events.tof_sigma_mm and tof_bin_mm are {} and {}: give lengths, or 0", events.tof_sigma_mm,
                            events.tof_bin_mm));
  if (!events.tof_mm) return {};
  if (events.tof_sigma_mm > 0) return {.sigma_mm = events.tof_sigma_mm, .bin_width_mm = events.tof_bin_mm};
  if (scanner.tof.size() == 1 && events.tof_bin_mm > 0)
    throw Wrong(fmt::format("events.tof_bin_mm is {}, and tof_sigma_mm is 0: give both, or neither for the scanner's",
                            events.tof_bin_mm));
  if (scanner.tof.size() == 1) return scanner.tof.front();
  throw Wrong(scanner.tof.empty()
                  ? "events.tof_mm is given, and neither tof_sigma_mm nor a scanner says how sharp it is"
                  : "events.tof_mm is given, and the scanner's modules differ: set tof_sigma_mm and tof_bin_mm");
}

void check_arrays(const tof_events& events, const EventView& view, const Scanner& scanner, Memory memory) {
  const std::pair<const void*, const char*> pointers[] = {{view.detector1, "events.detector1"},
                                                          {view.detector2, "events.detector2"},
                                                          {view.ends[0], "events.x1"},
                                                          {view.ends[1], "events.y1"},
                                                          {view.ends[2], "events.z1"},
                                                          {view.ends[3], "events.x2"},
                                                          {view.ends[4], "events.y2"},
                                                          {view.ends[5], "events.z2"},
                                                          {view.tof_mm, "events.tof_mm"},
                                                          {view.tof_width_mm, "events.tof_width_mm"},
                                                          {view.multiplicative, "events.multiplicative"},
                                                          {view.additive, "events.additive"}};
  for (const auto& [pointer, name] : pointers) require_memory(pointer, memory == Memory::device, name);
  if (events.detector1) {
    check_detectors(events.detector1, events.count, memory, scanner.detectors->size(), "detector1");
    check_detectors(events.detector2, events.count, memory, scanner.detectors->size(), "detector2");
  }
  constexpr const char* ends[] = {"x1", "y1", "z1", "x2", "y2", "z2"};
  for (std::size_t i = 0; i < 6; ++i) check_floats(view.ends[i], events.count, memory, ends[i]);
  check_floats(events.tof_mm, events.count, memory, "tof_mm");
  check_floats(events.tof_width_mm, events.count, memory, "tof_width_mm");
  check_terms(events.multiplicative, events.count, memory, "multiplicative");
  check_terms(events.additive, events.count, memory, "additive");
}

}  // namespace

tof_events events_of(const tof_events& given) {
  return adopted(given, "events", offsetof(tof_events, multiplicative));
}

EventView view_of(const tof_events& events, const Scanner& scanner, Memory memory) {
  if (events.count < 1) throw Wrong(fmt::format("events.count is {}: give at least one event", events.count));
  EventView view;
  view.count = events.count;
  if (events.detector1 || events.detector2) {
    if (!events.detector1 || !events.detector2) throw Wrong("events.detector1 and detector2 come together");
    if (!events.scanner || !*events.scanner)
      throw Wrong("events have detectors, and events.scanner is null: name the scanner");
    view.detector1 = events.detector1;
    view.detector2 = events.detector2;
    view.detectors = scanner.detectors->on(memory);
  } else {
    const float* const ends[] = {events.x1, events.y1, events.z1, events.x2, events.y2, events.z2};
    if (std::ranges::find(ends, nullptr) != std::end(ends))
      throw Wrong("events need detector1 and detector2, or all of x1 y1 z1 x2 y2 z2");
    std::ranges::copy(ends, view.ends);
  }
  view.tof_mm = events.tof_mm;
  view.tof_width_mm = events.tof_width_mm;
  view.multiplicative = events.multiplicative;
  view.additive = events.additive;
  view.tof = tof_of(events, scanner);
  check_arrays(events, view, scanner, memory);
  return view;
}

namespace {

template <class T>
Buffer<T> copy_of_part(const T* values, std::int64_t count) {
  if (!values) return {};
  return Buffer<T>::from(std::span(values, static_cast<std::size_t>(count)));
}

}  // namespace

EventBatch batch_of(const EventView& events, const RecordedBy& by) {
  EventBatch batch{.count = events.count, .tof = events.tof, .quantity = by.quantity};
  if (by.quantity) batch.scanner = by.scanner;
  if (events.detectors) batch.detectors = by.scanner->detectors;
  batch.detector1 = copy_of_part(events.detector1, events.count);
  batch.detector2 = copy_of_part(events.detector2, events.count);
  for (std::size_t end = 0; end < 6; ++end) batch.ends[end] = copy_of_part(events.ends[end], events.count);
  batch.tof_mm = copy_of_part(events.tof_mm, events.count);
  batch.tof_width_mm = copy_of_part(events.tof_width_mm, events.count);
  batch.multiplicative = copy_of_part(events.multiplicative, events.count);
  batch.additive = copy_of_part(events.additive, events.count);
  return batch;
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
