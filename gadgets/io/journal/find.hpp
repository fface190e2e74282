// Where in a journal a stream begins, an event or a moment of the scan lies: what a replay looks for.
#pragma once

#include <cstdint>
#include <optional>

#include "gadgets/io/journal/reader.hpp"
#include "gadgets/io/wire/frame.hpp"

namespace tofstream::journal {

/// What a replay begins at: an event of the stream (from 0), or a time of the scan. Neither: the first frame.
struct ReplayFrom {
  std::uint64_t event = 0;
  double seconds = 0;
};

struct ReplayBegin {
  Position header;          // of the stream's header
  Position data;            // of the first frame that holds what was looked for, or comes after it
  wire::FrameHeader first;  // that frame's header
};

/// Looks through the journal for the first stream's header and for the first sound frame of data at or behind `from`.
/// None where the journal has no such frame. The reader is left anywhere, its counts meaningless: use one of its own.
std::optional<ReplayBegin> find_begin(Reader& reader, const ReplayFrom& from);

}  // namespace tofstream::journal
