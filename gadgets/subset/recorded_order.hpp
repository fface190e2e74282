// The order of updates that an earlier run recorded, to be followed from its beginning or from the update of a
// checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/update_log.hpp"
#include "gadgets/subset/resumed_books.hpp"

namespace tofstream {

inline constexpr auto* follow_words =
    "The file of an order to follow, or its folder: the recording then gives the image of the live run";
inline constexpr auto* resume_words =
    "Folder of a run that was killed: this run continues from its order and checkpoint";

class RecordedOrder {
 public:
  RecordedOrder() = default;
  /// `follow`: an order to follow as a whole. `resume`: a folder with an order whose updates up to the checkpoint's are
  /// in the image already. Both empty: nothing to follow. `require_possible` throws for a record of another kind of data.
  /// Throws std::runtime_error for files that cannot be used.
  RecordedOrder(const std::filesystem::path& follow, const std::filesystem::path& resume,
                void (*require_possible)(const UpdateRecord&)) {
    if (follow.empty() && resume.empty()) return;
    if (!follow.empty() && !resume.empty())
      throw std::invalid_argument(
          "set follow or resume_from, not both: follow reconstructs from the start, resume_from continues a run");
    log_ = read_update_log(follow.empty() ? resume : follow);
    for (const UpdateRecord& record : log_.updates) require_possible(record);
    if (resume.empty()) return;
    checkpoint_ = checkpoint_step(resume);
    books_ = ResumedBooks(checkpoint_.rejected);
    if (checkpoint_.update > static_cast<std::int64_t>(log_.updates.size()))
      throw std::runtime_error(fmt::format(
          "the checkpoint in {} is of update {}, but the order there ends at {}: they belong to different runs",
          resume.string(), checkpoint_.update, log_.updates.size()));
  }

  bool is_over() const { return next_ == log_.updates.size(); }
  /// The run that wrote it ended normally, so no further update follows.
  bool is_whole() const { return log_.has_ended; }
  const UpdateRecord& next() const { return log_.updates[next_]; }
  /// The next update is in the checkpoint's image.
  bool next_is_in_checkpoint() const { return next().update <= checkpoint_.update; }
  void advance() { ++next_; }
  /// The books of the events that are in the checkpoint's image.
  ResumedBooks& books() { return books_; }
  /// What has been advanced over.
  std::span<const UpdateRecord> passed() const { return std::span(log_.updates).first(next_); }

 private:
  UpdateLog log_;
  std::size_t next_ = 0;
  CheckpointStep checkpoint_;
  ResumedBooks books_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
