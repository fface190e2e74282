// Finds the place in a journal where a stream begins, or where an event or a moment of the scan lies, for a replay.
#pragma once

#include <cstdint>
#include <optional>

#include "gadgets/io/journal/reader.hpp"
#include "gadgets/io/wire/frame.hpp"

namespace tofstream::journal {

/// Where a replay begins: at an event of the stream (from 0) or a time of the scan. Neither: at the first frame.
struct ReplayFrom {
  std::uint64_t event = 0;
  double seconds = 0;
};

struct ReplayBegin {
  Position header;          // of the stream's header
  Position data;            // of the first frame that has what was looked for, or follows it
  wire::FrameHeader first;  // that frame's header
};

/// Looks through the journal for the first stream's header and the first sound frame of data at or after `from`. None
/// if the journal has no such frame. Afterwards the reader's position and counts mean nothing: use a separate one.
std::optional<ReplayBegin> find_begin(Reader& reader, const ReplayFrom& from);

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
