// What a journal holds, by reading all of it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gadgets/io/journal/reader.hpp"
#include "gadgets/io/wire/frame.hpp"
#include "gadgets/io/wire/stream_order.hpp"

namespace tofstream::journal {

struct StreamSummary {
  wire::StreamOrder order;
  std::uint64_t bytes = 0;
  std::uint64_t end_ns = 0;  // of the scan, as far as the frames that came say
};

struct Summary {
  std::size_t segments = 0;
  std::uint64_t bytes = 0;
  std::uint64_t frames = 0;                    // sound or not
  std::map<std::string, std::uint64_t> notes;  // by name
  std::uint64_t first_ingress_ns = 0, last_ingress_ns = 0;
  std::map<std::uint64_t, StreamSummary> streams;                              // by number
  std::array<std::uint64_t, std::size(wire::frame_fault_names)> bad_frames{};  // by FrameFault
  Reader::Counts counts;
};

/// Sums up a journal's folder, or one of its segments. Throws as Reader does.
Summary summarise(const std::filesystem::path& journal);

/// Times in seconds; streams as an array in the order of their numbers.
nlohmann::ordered_json to_json(const Summary& summary);

}  // namespace tofstream::journal
// SPDX-License-Identifier: Apache-2.0
