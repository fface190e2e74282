// Events as fixed-size records in a frame's payload, one array after the other, of the kind that holds them
// (record_kinds.hpp): about 10 bytes an event, and no decoding but a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <variant>

#include "gadgets/io/wire/frame.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::wire {

/// What a frame of the batch says of it: kind, schema, flags, number of events, times. Throws std::invalid_argument for
/// what records cannot hold: free endpoints that no kind of record has, corrections, ToF bins of unequal width.
FrameHeader record_header(const EventBatch& batch);

/// Writes the batch's arrays, which lie on the host, into a payload of exactly
/// batch.count * record_bytes(record_header(batch).schema) bytes.
void write_records(const EventBatch& batch, std::span<std::byte> payload);

/// The events of a frame of records (decode_frame), copied to the host, with the scanner's detectors and ToF model. A
/// bad frame where they cannot be the scanner's, by what their kind says: a detector that does not exist, several pairs
/// of module types in one frame, ToF that is not finite or that the scanner does not have.
std::variant<EventBatch, BadFrame> read_records(const Frame& frame, const std::shared_ptr<const Scanner>& scanner);

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
