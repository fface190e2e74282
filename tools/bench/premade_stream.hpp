// A live stream whose frames are all made beforehand, so that sending costs little and the receiver is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gadgets/io/wire/frame.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::command {

struct PremadeStream {
  std::vector<std::vector<std::byte>> frames;  // the header, data, the end
  std::uint64_t events = 0, bytes = 0;
};

struct PremadeSettings {
  std::string scanner;                          // of share/scanners, or a YAML file
  wire::Schema schema = wire::Schema::petsird;  // or tof_coincidences
  std::uint64_t events = 0, frame_events = 0;   // of a frame, which stands for 10 ms
  std::optional<Grid> image = {};               // all lines cross it; without, pairs are any two detectors
};

/// Random coincidences. A few payloads are drawn and used in turn. Throws std::runtime_error if there is no such scanner.
PremadeStream premade_stream(const PremadeSettings& settings);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
