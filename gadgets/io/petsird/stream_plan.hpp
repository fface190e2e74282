// The plan that reads a whole PETSIRD stream after its schema: the header, then blocks of any kind.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "gadgets/io/petsird/plan.hpp"
#include "gadgets/io/petsird/schema.hpp"
#include "gadgets/io/petsird/time_blocks.hpp"

namespace tofstream::petsird {

/// What a stream held, up to now.
struct StreamCounts {
  std::array<std::uint64_t, block_kind_names.size()> blocks{};  ///< by BlockKind
  std::uint64_t prompts = 0;                                    ///< in the lists, rejected included
  std::uint64_t delayeds = 0;
  std::uint64_t singles = 0;
  std::uint64_t triples = 0;
  std::uint64_t quadruples = 0;
  std::uint64_t rejected = 0;  ///< prompts and delayeds not delivered: out of range, see Decoder
  std::uint64_t ignored = 0;   ///< coincidences in lists of types that the header does not have

  std::uint64_t time_blocks() const;
  bool operator==(const StreamCounts&) const = default;
};

/// Where the plan puts what it reads.
struct StreamState {
  Header header;
  TimeInterval interval;  ///< of the block being read, unless it is in `other`
  OtherBlock other;
  StreamCounts counts;
};

/// Called as things have been read.
struct StreamHooks {
  std::function<void()> header;
  std::function<void(BlockKind)> interval;     ///< of an event block, or an unknown one
  std::function<void(BlockKind)> other_block;  ///< `other` is complete
  std::function<void(BlockKind)> end;          ///< of an event block, or an unknown one
};

/// Matches the schema to our structs. The state, the hooks and the schema must outlive the plan's
/// use; the plan is to be executed with a StreamState as its destination. Throws Error with all
/// that is missing if the schema lacks what a reader of coincidences needs.
const Plan& plan_stream(Planner& planner, const Schema& schema, StreamState& state, const StreamHooks& hooks);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
