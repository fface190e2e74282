// What a gadget waits for outside the program, in words for whoever operates the scan.
#pragma once
#include <string>
#include <string_view>

#include "core/gadget/context.hpp"

namespace tofstream {

// The key under which a gadget's record takes these words; they are no figure of run.json.
inline constexpr std::string_view waiting_key = "waiting";

// Says what the gadget waits for, as a whole line: "waiting for a sender at tcp://127.0.0.1:5555". The progress line,
// `tofstream top` and the live page show it, and a run of which no data has come is called waiting, not running. An
// empty text says that the wait is over. The wait itself is Context::wait_outside.
inline void say_waiting(Context& context, std::string what) {
  context.report(waiting_key, std::move(what));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
