// Gadgets by the end of a stream that they are: see stream_ends.hpp.
#include "gadgets/stream_ends.hpp"

#include "core/gadget/registry.hpp"

namespace tofstream {

std::string gadgets_at(std::string_view stream_end) {
  std::string names;
  for (const GadgetInfo* gadget : registry().all())
    if (gadget->stream_end == stream_end) names += (names.empty() ? "" : " or ") + gadget->name;
  return names;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
