// Which events of the stream subsets are of, and when these entered: what an image that is made from them says.
#pragma once

#include <optional>
#include <utility>

#include "core/gadget.hpp"

namespace tofstream {

/// For a message without data, such as what announces the scanner: it comes when these data did, and stems from no event.
inline MessageInfo of_no_event(MessageInfo data) {
  data.first_event = data.end_event = 0;
  return data;
}

/// The data of one subset from its first message to its last.
inline MessageInfo data_between(const MessageInfo& first, MessageInfo last) {
  last.first_event = first.first_event;
  last.ingress = first.ingress;
  return last;
}

/// Tells the data of subsets that messages end, one after the other. The first events of a subset may have come with the
/// message that ended the one before, which was cut there.
class SubsetData {
 public:
  /// The data of the subset that `message` has ended.
  MessageInfo ended_by(const MessageInfo& message) {
    const auto before = std::exchange(last_, message);
    MessageInfo data = data_between(before.value_or(message), message);
    if (!before) data.first_event = 0;
    return data;
  }

 private:
  std::optional<MessageInfo> last_;  // the message that ended the last subset
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
