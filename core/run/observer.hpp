// Watches a run as it happens, for traces, profilers and metrics. The engine calls it from many threads, outside its
// lock; a run without an observer pays nothing.
#pragma once
#include <chrono>
#include <cstddef>
#include <string_view>

#include "core/gadget/context.hpp"
#include "core/pipeline/pipeline.hpp"

namespace tofstream {

class Observer {
 public:
  using Clock = std::chrono::steady_clock;
  enum class CallKind { start, process, idle, flush, run };
  enum class WaitKind { for_input, for_room };

  virtual ~Observer() = default;

  // Before anything else. `gadget` below is an index into pipeline.gadgets, which outlives the run.
  virtual void run_begins(const Pipeline& /*pipeline*/) {}
  virtual void run_ends() {}
  // Around every call of a gadget's own code, both on the thread that runs it.
  virtual void call_begins(std::size_t /*gadget*/, CallKind, const MessageInfo&) {}
  virtual void call_ends(std::size_t /*gadget*/, CallKind, const MessageInfo&, Clock::time_point /*began*/,
                         Clock::time_point /*ended*/) {}
  // A gadget with its own thread waited; a wait for room lies between call_begins and call_ends.
  virtual void waited(std::size_t /*gadget*/, WaitKind, Clock::time_point /*began*/, Clock::time_point /*ended*/) {}
  // A stretch that a gadget itself reports by Context::span, such as its work on a GPU stream.
  virtual void span(std::size_t /*gadget*/, std::string_view /*track*/, std::string_view /*name*/,
                    Clock::time_point /*began*/, Clock::time_point /*ended*/) {}
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
