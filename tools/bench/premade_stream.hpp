// A live stream whose frames are all made beforehand, so that sending costs little and the receiver is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gadgets/io/wire/frame.hpp"

namespace tofstream::command {

struct PremadeStream {
  std::vector<std::vector<std::byte>> frames;  // the header, data, the end
  std::uint64_t events = 0, bytes = 0;
};

/// `events` random coincidences of the scanner (share/scanners, or a YAML file), `frame_events` a frame, as PETSIRD or
/// as records with ToF. A few payloads are drawn and used in turn. Throws std::runtime_error if there is no such
/// scanner.
PremadeStream premade_stream(const std::string& scanner, wire::Schema schema, std::uint64_t events,
                             std::uint64_t frame_events);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
