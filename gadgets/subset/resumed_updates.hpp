// The updates of a run that was killed which its checkpoint's image has already: they are passed and not made again.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/resumed_books.hpp"

namespace tofstream {

class ResumedUpdates {
 public:
  explicit ResumedUpdates(CheckpointStep resumed) : resumed_(std::move(resumed)), books_(resumed_.rejected) {}

  /// The number of the last update that the image has; 0: it has none.
  std::int64_t last() const { return resumed_.update; }
  bool has(const UpdateStep& step) const { return step.update <= resumed_.update; }

  /// Books data of an update that the image has. An update's data may be passed in several parts: `ends_update` with the
  /// last of them. Throws std::runtime_error where the checkpoint is of other data or updates than came here.
  void pass(const UpdateStep& step, std::uint64_t events, bool ends_update, Context& context) {
    books_.book(events, context);
    passed_ += events;
    if (step.update < resumed_.update || !ends_update) return;
    if (step.iteration != resumed_.iteration) refuse(fmt::format("that is one of iteration {}", step.iteration));
    if (resumed_.events > 0 && passed_ != resumed_.events)
      refuse(fmt::format("so far there are {} events in place of {}", passed_, resumed_.events));
  }

  /// Throws std::runtime_error where fewer updates were to be made than the image has.
  void finish(std::int64_t updates) const {
    if (updates < resumed_.update) refuse(fmt::format("there are {} in all", updates));
  }

 private:
  void refuse(const std::string& because) const {
    throw std::runtime_error(fmt::format(
        "resume_from: the checkpoint is of update {} in iteration {}, and here {}: resume with the data and "
        "settings of the run that was killed, or leave resume_from out",
        resumed_.update, resumed_.iteration, because));
  }

  CheckpointStep resumed_;
  ResumedBooks books_;
  std::uint64_t passed_ = 0;  // events
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
