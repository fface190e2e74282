// Frames of a journal: see journal_replay.hpp.
#include "gadgets/wire/journal_replay.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tofstream {

JournalReplay::JournalReplay(const std::filesystem::path& folder, const journal::ReplayFrom& from, std::uint64_t end)
    : reader_(folder), end_(end) {
  if (from.event == 0 && from.seconds <= 0) return;
  journal::Reader looking(folder);
  const auto begin = journal::find_begin(looking, from);
  if (!begin)
    throw std::runtime_error(fmt::format("the journal {} holds no frame from event {} and {} s on: begin earlier",
                                         folder.string(), from.event, from.seconds));
  begun_at_ = begin->first;
  data_ = begin->data;
  reader_.go_to(begin->header);
}

std::optional<RawFrame> JournalReplay::next() {
  if (is_ahead_) reader_.go_to(*data_);
  is_ahead_ = false;
  while (const auto entry = reader_.next()) {
    if (entry->number >= end_) return {};
    if (entry->kind != journal::EntryKind::frame) {
      ++notes_;
      continue;
    }
    is_ahead_ = data_ && !std::exchange(sent_header_, true);
    return RawFrame{.owner = entry->owner, .data = entry->bytes, .ingress_ns = entry->ingress_ns};
  }
  return {};
}

void report_damage(const JournalReplay& replay, Context& context) {
  const auto& counts = replay.counts();
  const auto figure = [&](std::string_view key, std::uint64_t value) {
    if (value > 0) context.report(key, static_cast<std::int64_t>(value));
  };
  figure("journal_damaged_bytes", counts.damaged_bytes);
  figure("journal_missing_entries", counts.missing_entries);
  figure("journal_torn_bytes", counts.torn_bytes);
  if (counts.damaged_places > 0)
    context.log().warning(fmt::format("the journal is damaged in {} places: {} of its entries are lost",
                                      counts.damaged_places, counts.missing_entries));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
