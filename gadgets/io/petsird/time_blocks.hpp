// The time blocks of a PETSIRD stream as plain structs; times are ms since the start of
// acquisition.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "gadgets/io/petsird/header.hpp"

namespace tofstream::petsird {

struct TimeInterval {
  std::uint32_t start_ms = 0;
  std::uint32_t stop_ms = 0;
  bool operator==(const TimeInterval&) const = default;
};

/// One prompt or delayed coincidence, as in the stream. The ToF bin counts along c*(t1-t2)/2: a
/// larger one is nearer the second detector.
struct CoincidenceEvent {
  std::uint32_t bin1 = 0;
  std::uint32_t bin2 = 0;
  std::uint32_t tof = 0;
  bool operator==(const CoincidenceEvent&) const = default;
};

/// Takes some events, of which the first has this number. Several threads call it at once.
using PutEvents = std::function<void(std::size_t first, std::span<const CoincidenceEvent> events)>;

/// The module types of an event's first and second detection bin; first >= second.
struct TypePair {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  bool operator==(const TypePair&) const = default;
};

/// Where a pair stands in a lower triangular table laid out row by row.
constexpr std::size_t pair_index(TypePair types) {
  return std::size_t{types.first} * (types.first + 1) / 2 + types.second;
}

enum class EventKind { prompt, delayed };

struct ExternalSignalBlock {
  TimeInterval interval;
  std::uint32_t signal_id = 0;
  std::vector<float> values;
  bool operator==(const ExternalSignalBlock&) const = default;
};

/// The bed stands so from this block to the next one; which way it maps is not settled in the
/// standard.
struct BedMovementBlock {
  TimeInterval interval;
  Transform transform{};
  bool operator==(const BedMovementBlock&) const = default;
};

struct GantryMovementBlock {
  TimeInterval interval;
  std::vector<Transform> transforms;  ///< one for each type of module; one for all before v0.10
  bool operator==(const GantryMovementBlock&) const = default;
};

struct AliveTimeFractions {
  std::vector<std::vector<float>> singles;  ///< [type][detection bin]
  Table<Table<float>> module_pairs;         ///< [type1][type2][module1][module2]; empty: 1
  bool operator==(const AliveTimeFractions&) const = default;
};

struct DeadTimeBlock {
  TimeInterval interval;
  AliveTimeFractions fractions;
  bool operator==(const DeadTimeBlock&) const = default;
};

struct SinglesHistogramBlock {
  TimeInterval interval;
  std::vector<std::vector<std::uint64_t>> histograms;  ///< [type][singles detection bin]
  bool operator==(const SinglesHistogramBlock&) const = default;
};

/// Every block but the event block, which is never held as a whole.
using OtherBlock =
    std::variant<ExternalSignalBlock, BedMovementBlock, GantryMovementBlock, DeadTimeBlock, SinglesHistogramBlock>;

/// `unknown` is a kind of block that the standard did not have when this was written.
enum class BlockKind { event, external_signal, bed_movement, gantry_movement, dead_time, singles_histogram, unknown };

inline constexpr std::array<const char*, 7> block_kind_names{
    "event", "external_signal", "bed_movement", "gantry_movement", "dead_time", "singles_histogram", "unknown"};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
