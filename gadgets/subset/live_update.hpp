// One update of a live reconstruction, whatever kind of data it is with.
#pragma once

#include <vector>

#include "gadgets/io/update_log.hpp"

namespace tofstream {

/// An update with these parts of the scan together. A part is what came at once: a subset of events, a camera's view.
struct LiveUpdate {
  std::vector<UpdateParts> parts;  // ascending, none twice, at least one
  bool is_new = false;             // no update before used the last of them
  int first() const { return parts.front().first; }
  int last() const { return parts.back().first + parts.back().count - 1; }
  friend bool operator==(const LiveUpdate&, const LiveUpdate&) = default;
};

inline LiveUpdate one_stretch(int first, int count, bool is_new) {
  return {{{first, count}}, is_new};
}

/// These parts, ascending, as stretches.
inline std::vector<UpdateParts> parts_of(const std::vector<int>& ascending) {
  std::vector<UpdateParts> parts;
  for (const int k : ascending) {
    if (!parts.empty() && parts.back().first + parts.back().count == k)
      ++parts.back().count;
    else
      parts.push_back({k, 1});
  }
  return parts;
}

/// Calls visit(k) for each part k of an update, or of a record of one.
template <class Update, class Visit>
void for_each_part(const Update& update, Visit&& visit) {
  for (const UpdateParts& stretch : update.parts)
    for (int k = stretch.first; k < stretch.first + stretch.count; ++k) visit(k);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
