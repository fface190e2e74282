// The records of strips: see strip_records.hpp.
#include "gadgets/strip/io/strip_records.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/wire/record_arrays.hpp"
#include "gadgets/io/wire/record_kinds.hpp"
#include "kernels/strip/strip_events.hpp"
#include "kernels/strip/strip_scanner.hpp"

namespace tofstream::wire {
namespace {

bool is_of_strips(const EventBatch& batch) {
  return !batch.detectors && !batch.tof_mm.empty() && batch.scanner && batch.scanner->detectors->size() == 2;
}

void write_strips(const EventBatch& batch, std::span<std::byte> payload) {
  write_array(batch.ends[2], batch.count, payload);
  write_array(batch.ends[5], batch.count, payload);
  const EventView events = batch.view();
  Buffer<float> dl(Memory::host, batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) dl[i] = strip_response<float>(events, i).dl_mm;
  write_array(dl, batch.count, payload);
}

EventBatch read_strips(const Frame& frame, const std::shared_ptr<const Scanner>& scanner, std::string& wrong) {
  StripGeometry strips;
  try {
    strips = strip_geometry(*scanner);
  } catch (const std::invalid_argument& error) {
    wrong = error.what();
    return {};
  }
  const auto count = static_cast<std::int64_t>(frame.header.events);
  auto rest = frame.payload;
  const auto up = read_array<float>(rest, count), down = read_array<float>(rest, count),
             dl = read_array<float>(rest, count);
  EventBatch batch = make_strip_batch(scanner, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const StripResponse<float> response{up[i], down[i], dl[i]};
    if (!is_measurable(strips, response) && wrong.empty())
      wrong =
          fmt::format("event {} of ({}, {}, {}) mm, which the strips cannot have measured", i, up[i], down[i], dl[i]);
    set_response(batch, i, response);
  }
  return batch;
}

TOFSTREAM_RECORDS(strip_coincidences, 12, .holds = is_of_strips, .encode = write_strips, .decode = read_strips);

}  // namespace
}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
