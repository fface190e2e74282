// The frames of a journal, one after the other, for a receiver or a socket.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

#include "core/gadget/context.hpp"
#include "gadgets/io/journal/find.hpp"
#include "gadgets/io/journal/reader.hpp"
#include "gadgets/wire/raw_frame.hpp"

namespace tofstream {

class JournalReplay {
 public:
  /// From the first frame, or, where `from` says more than 0, from there: next() then gives the stream's header first.
  /// Entries whose number is `end` or more are left out. Throws std::runtime_error in one line where the folder is no
  /// journal, or holds nothing there.
  explicit JournalReplay(const std::filesystem::path& folder, const journal::ReplayFrom& from = {},
                         std::uint64_t end = std::numeric_limits<std::uint64_t>::max());

  /// The next frame.
  std::optional<RawFrame> next();

  /// The header of the data frame that was begun at; none where nothing was left out.
  const std::optional<wire::FrameHeader>& begun_at() const { return begun_at_; }
  /// The frame that next() gave last is the stream's header, which is sent ahead of what is replayed.
  bool is_ahead() const { return is_ahead_; }
  std::uint64_t notes() const { return notes_; }
  const journal::Reader::Counts& counts() const { return reader_.counts(); }
  std::uint64_t bytes() const { return reader_.bytes(); }

 private:
  journal::Reader reader_;
  const std::uint64_t end_;
  std::optional<wire::FrameHeader> begun_at_;
  std::optional<journal::Position> data_;  // to go to behind the header
  bool is_ahead_ = false, sent_header_ = false;
  std::uint64_t notes_ = 0;
};

/// Puts what the journal lacks into run.json, with a warning where it is damaged.
void report_damage(const JournalReplay& replay, Context& context);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
