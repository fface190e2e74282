// Records of events between detectors: two arrays of their numbers (uint32), as petsird::to_scanner numbers them, and,
// with ToF, the centre of the ToF bin in mm (float32). Schemas 2 and 3 of share/doc/wire.md, of every family whose
// events are pairs of detectors.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "gadgets/io/wire/record_arrays.hpp"
#include "gadgets/io/wire/record_kinds.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::wire {
namespace {

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

void write_detectors(const EventBatch& batch, std::span<std::byte> payload) {
  write_array(batch.detector1, batch.count, payload);
  write_array(batch.detector2, batch.count, payload);
  if (!batch.tof_mm.empty()) write_array(batch.tof_mm, batch.count, payload);
}

bool has_detectors_alone(const EventBatch& batch) {
  return batch.detectors && batch.tof_mm.empty();
}

bool has_detectors_and_tof(const EventBatch& batch) {
  return batch.detectors && !batch.tof_mm.empty();
}

TOFSTREAM_RECORDS(Schema::coincidences, 8, .names_detectors = true, .holds = has_detectors_alone,
                  .encode = write_detectors, .decode = read_detectors);
TOFSTREAM_RECORDS(Schema::tof_coincidences, 12, .names_detectors = true, .holds = has_detectors_and_tof,
                  .encode = write_detectors, .decode = read_detectors);

}  // namespace
}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
