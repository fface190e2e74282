// Calls the gadgets' own code, outside the run's lock, and hands in what came out of it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/run/delivery.hpp"
#include "core/run/dispatch.hpp"
#include "core/run/fault.hpp"
#include "core/run/node.hpp"
#include "core/run/observer.hpp"
#include "core/run/run_state.hpp"
#include "core/run/section.hpp"

namespace tofstream {

class Calls {
 public:
  // All of them outlive it; the observer may be null.
  Calls(RunState& state, Dispatch& dispatch, Delivery& delivery, Observer* observer)
      : state_(state), dispatch_(dispatch), delivery_(delivery), observer_(observer) {}

  // Calls the gadget's start.
  void start(Node& node);
  // Makes the calls of a job that was taken, and finishes it. `mine`: of a worker of the flow graph, where it finds the
  // tickets that it goes on with.
  void run(Node& node, Job& job, Section::Tickets* mine);

 private:
  class Outlet;

  void make_calls(Node& node, Job& job, std::size_t& call);
  void call_gadget(Node& node, Job& job, std::size_t call, EmitTarget& outlet, Context& context);
  void process(Node& node, Job& job, std::size_t call, EmitTarget& outlet, Context& context);
  Fate meet_fault(Node& node, std::uint64_t number) const;

  RunState& state_;
  Dispatch& dispatch_;
  Delivery& delivery_;
  Observer* const observer_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
