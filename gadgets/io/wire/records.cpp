// Records to and from batches: see records.hpp.
#include "gadgets/io/wire/records.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/strip/strip_events.hpp"
#include "kernels/strip/strip_scanner.hpp"

namespace tofstream::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "records are copied as memory holds them");

constexpr double ns_per_s = 1e9;

std::uint64_t nanoseconds(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * ns_per_s));
}

template <class T>
Buffer<T> read_array(std::span<const std::byte>& rest, std::int64_t count) {
  Buffer<T> array(Memory::host, count);
  std::memcpy(array.data(), rest.data(), array.bytes());
  rest = rest.subspan(array.bytes());
  return array;
}

template <class T>
void write_array(const Buffer<T>& array, std::int64_t count, std::span<std::byte>& rest) {
  const auto values = std::as_bytes(array.span().first(static_cast<std::size_t>(count)));
  std::memcpy(rest.data(), values.data(), values.size());
  rest = rest.subspan(values.size());
}

// The loops below are written without a branch, so that the compiler makes vectors of them.
struct Extent {
  std::uint32_t least = 0, most = 0;
};

Extent extent_of(std::span<const std::uint32_t> values) {
  Extent extent{values.front(), values.front()};
  for (const std::uint32_t value : values) {
    extent.least = std::min(extent.least, value);
    extent.most = std::max(extent.most, value);
  }
  return extent;
}

bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t exponent = 0x7f800000;  // all bits set: NaN or infinity
  std::uint32_t bad = 0;
  for (const float value : values) bad |= (std::bit_cast<std::uint32_t>(value) & exponent) == exponent ? 1U : 0U;
  return bad == 0;
}

// The index of the one module type of all the detectors; where there is none, `wrong` says why.
std::uint32_t module_type(const Buffer<std::uint32_t>& detectors, const Scanner& scanner, std::string& wrong) {
  const Extent extent = extent_of(detectors.span());
  if (extent.most >= scanner.detectors->size()) {
    wrong = fmt::format("detector {}, but the scanner has {} (from 0)", extent.most, scanner.detectors->size());
    return 0;
  }
  const std::uint32_t type = scanner.type_index(extent.least);
  if (type != scanner.type_index(extent.most)) wrong = "events of several pairs of module types in one frame";
  return type;
}

// The batch's ToF model; where its detectors or ToF cannot be the scanner's, `wrong` says why.
TofModel tof_model(const EventBatch& batch, std::string& wrong) {
  const Scanner& scanner = *batch.scanner;
  const std::uint32_t type1 = module_type(batch.detector1, scanner, wrong);
  const std::uint32_t type2 = module_type(batch.detector2, scanner, wrong);
  if (!wrong.empty() || batch.tof_mm.empty()) return {};
  const TofModel model = scanner.tof.empty() ? TofModel{} : scanner.tof[type1 * scanner.types.size() + type2];
  if (model.sigma_mm <= 0) wrong = "ToF, but the scanner has none for these detectors";
  if (!all_finite(batch.tof_mm.span())) wrong = "ToF that is not a finite number";
  return model;
}

bool is_of_strips(const EventBatch& batch) {
  return !batch.detectors && !batch.tof_mm.empty() && batch.scanner && batch.scanner->detectors->size() == 2;
}

Schema schema_of(const EventBatch& batch) {
  if (is_of_strips(batch)) return Schema::strip_coincidences;
  return batch.tof_mm.empty() ? Schema::coincidences : Schema::tof_coincidences;
}

EventBatch read_detectors(const Frame& frame, const std::shared_ptr<const Scanner>& scanner, std::string& wrong) {
  EventBatch batch;
  batch.count = static_cast<std::int64_t>(frame.header.events);
  batch.scanner = scanner;
  batch.detectors = scanner->detectors;
  auto rest = frame.payload;
  batch.detector1 = read_array<std::uint32_t>(rest, batch.count);
  batch.detector2 = read_array<std::uint32_t>(rest, batch.count);
  if (frame.header.schema == Schema::tof_coincidences) batch.tof_mm = read_array<float>(rest, batch.count);
  batch.tof = tof_model(batch, wrong);
  return batch;
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

}  // namespace

FrameHeader record_header(const EventBatch& batch) {
  if (!batch.detectors && !is_of_strips(batch)) throw std::invalid_argument("events without detectors cannot be sent");
  if (!batch.multiplicative.empty() || !batch.additive.empty())
    throw std::invalid_argument("corrections of events are not sent: send events before they are corrected");
  if (!batch.tof_width_mm.empty())
    throw std::invalid_argument("events in ToF bins of unequal width cannot be sent as records");
  return {.kind = FrameKind::data,
          .schema = schema_of(batch),
          .flags = batch.delayed ? flag_delayed : std::uint16_t{0},
          .events = batch.event_count(),
          .start_ns = nanoseconds(batch.start_s),
          .duration_ns = nanoseconds(batch.duration_s)};
}

void write_records(const EventBatch& batch, std::span<std::byte> payload) {
  if (payload.size() != record_bytes(schema_of(batch)) * batch.event_count())
    throw std::invalid_argument("a payload of another size");
  if (is_of_strips(batch)) return write_strips(batch, payload);
  write_array(batch.detector1, batch.count, payload);
  write_array(batch.detector2, batch.count, payload);
  if (!batch.tof_mm.empty()) write_array(batch.tof_mm, batch.count, payload);
}

std::variant<EventBatch, BadFrame> read_records(const Frame& frame, const std::shared_ptr<const Scanner>& scanner) {
  const FrameHeader& header = frame.header;
  std::string wrong;
  EventBatch batch = header.schema == Schema::strip_coincidences ? read_strips(frame, scanner, wrong)
                                                                 : read_detectors(frame, scanner, wrong);
  batch.delayed = header.is_delayed();
  batch.start_s = static_cast<double>(header.start_ns) / ns_per_s;
  batch.duration_s = static_cast<double>(header.duration_ns) / ns_per_s;
  if (!wrong.empty())
    return BadFrame{FrameFault::contents, fmt::format("frame {}: {}: mend the sender", header.sequence, wrong)};
  return batch;
}

}  // namespace tofstream::wire
