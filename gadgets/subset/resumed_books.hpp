// The books of updates that a checkpoint's image has already: no projector sees their data again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/gadget.hpp"
#include "kernels/types/rejected.hpp"

namespace tofstream {

class ResumedBooks {
 public:
  /// `rejected`: of all data that will be booked, as the checkpoint counts them.
  explicit ResumedBooks(Rejected rejected = {}) : rejected_(std::move(rejected)) {}

  /// So many more, each counted once: as rejected while the checkpoint has any left, then as reconstructed.
  void book(std::uint64_t events, Context& context) {
    const std::uint64_t rejected = std::min(events, rejected_.events);
    rejected_.events -= rejected;
    if (rejected > 0) context.books().rejected(rejected, rejected_.reason);
    context.books().reconstructed(events - rejected);
  }

 private:
  Rejected rejected_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
