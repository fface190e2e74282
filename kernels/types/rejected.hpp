// What a reconstruction's data so far did not add to its image.
#pragma once

#include <cstdint>
#include <string>

namespace tofstream {

/// Events that a projector rejected, each counted once however often its subset comes again.
struct Rejected {
  std::uint64_t events = 0;
  std::string reason;

  friend bool operator==(const Rejected&, const Rejected&) = default;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
