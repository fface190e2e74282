// Gadgets that write a journal, by the same parameters.
#pragma once

#include <filesystem>
#include <memory>

#include "core/gadget/context.hpp"
#include "core/value/param_rules.hpp"
#include "gadgets/io/journal/writer.hpp"

namespace tofstream {

struct JournalOption {
  std::filesystem::path folder;
  bool resume = false;  // a journal that holds entries is continued
  int segment_mib = 1024;
  int sync_ms = 1000;  // fsync so often; 0 after each entry, -1 as the system likes
};

inline constexpr auto journal_is_operators = operators_alone("a server keeps no journal for its clients");
inline constexpr auto* sync_words =
    "How often the journal is written to the disk; 0: after each frame; -1: when the system decides";

/// The folder's writer, shared with the program's other gadgets; says what was cut off. Throws std::runtime_error in
/// one line where it cannot be written, or holds entries and is not to be resumed.
std::shared_ptr<journal::Writer> open_journal(const JournalOption& option, const Context& context);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
