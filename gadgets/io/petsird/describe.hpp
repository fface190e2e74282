// What a PETSIRD stream holds, found by decoding all of it: for `tofstream inspect` and for comparisons.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gadgets/io/petsird/decoder.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream::petsird {

/// Sums over the prompts, or over the delayeds, that were delivered.
struct EventSums {
  std::uint64_t events = 0;
  std::uint64_t bin1 = 0;  ///< sums, as checksums
  std::uint64_t bin2 = 0;
  std::uint64_t tof = 0;
  bool operator==(const EventSums&) const = default;
};

struct Summary {
  std::string schema_sha256;
  Version version = Version::unknown;
  Header header;  ///< without the tables of module pair efficiencies, which may be GBs
  std::size_t efficiency_tables = 0;
  Quantity quantity;  ///< of an image of the events, before any correction
  StreamCounts counts;
  std::uint64_t bytes = 0;
  EventSums prompts;
  EventSums delayeds;
  std::uint64_t smaller_bin_first = 0;  ///< events of equal types against the standard's order
  std::uint64_t fewest_prompts = std::numeric_limits<std::uint64_t>::max();  ///< in an event block
  std::uint64_t most_prompts = 0;
  std::uint32_t first_start_ms = std::numeric_limits<std::uint32_t>::max();  ///< of any block
  std::uint32_t last_stop_ms = 0;
  std::vector<CoincidenceEvent> first_prompts;  ///< up to five
  std::vector<std::string> warnings;
};

/// A handler that fills a summary.
class Summariser final : public Handler {
 public:
  void on_schema(const Schema& schema) override;
  void on_header(Header&& header) override;
  void on_block_begin(BlockKind kind, TimeInterval interval) override;
  void on_list_begin(EventKind kind, TypePair types, std::uint64_t events) override;
  void on_events(EventKind kind, TypePair types, std::span<const CoincidenceEvent> events) override;
  void on_block_end(BlockKind kind) override;
  void on_warning(std::string_view text) override;

  /// The summary of what `decoder`, which drove this handler, has read.
  Summary summary(const Decoder& decoder) const;

 private:
  Summary summary_;
  std::uint64_t prompts_in_block_ = 0;
};

/// Decodes a file. Throws Error if it cannot be opened or is not a good stream.
Summary summarise_file(const std::filesystem::path& path);

/// The time that the stream's events cover, in s.
double seconds_of(const Summary& summary);

/// "demo_ring, 820 mm in diameter, 145 mm long; 9,216 crystals of 4 x 4 x 20 mm, 36 rings, 32 modules"
std::string scanner_in_words(const ScannerInformation& scanner);
/// "636 ps FWHM (95.3 mm), 161 bins", of the pair of types of modules that resolves best; or "none".
std::string time_of_flight_in_words(const ScannerInformation& scanner);

/// What people ask of a scan: the scanner's size, its ToF, window, duration, counts and rates, and what the file says
/// of corrections. A line each, ended by '\n'.
std::string in_words(const Summary& summary);

/// Keys: format, schema_sha256, time_blocks, prompts, delayeds, detection_bins, tof_bins (a number, or
/// rows [type1][type2] for several types of modules), and more.
nlohmann::json to_json(const Summary& summary);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
