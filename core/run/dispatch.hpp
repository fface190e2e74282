// Decides which gadget can be called, when it has ended, and when the run has. Every function is called with the run's
// lock held, which the Section proves (core/run/section.hpp).
#pragma once
#include <exception>
#include <optional>

#include "core/report/report.hpp"
#include "core/run/flow_graph.hpp"
#include "core/run/node.hpp"
#include "core/run/run_graph.hpp"
#include "core/run/run_state.hpp"

namespace tofstream {

class Section;

class Dispatch {
 public:
  // Both outlive it.
  Dispatch(RunState& state, RunGraph& graph) : state_(state), graph_(graph) {}

  RunState& state() { return state_; }
  // Where tickets go: workers begin with a job when they get one. Set before the launch.
  void set_flow(FlowGraph& flow) { flow_ = &flow; }
  FlowGraph& flow() { return *flow_; }

  // Puts tickets for as many jobs as the gadget can do now, and wakes its own thread if that can go on.
  void examine(Section& section, Node& node);
  // Ends the run when nothing is left to do. When nothing can ever be done again it fails the run instead of hanging.
  void check_progress(Section& section);

  // The node's next call has all its inputs.
  bool ready(Section& section, Node& node);
  // Every input has ended and was consumed, so that nothing but a flush is left to do.
  bool inputs_over(const Node& node) const;
  // One input of a join in order has ended while another goes on: the run is cancelled.
  bool joins_unevenly(Section& section, Node& node);
  // What a gadget with its own thread waits for is there.
  bool can_go_on(const Node& node) const;
  // The gadget will do nothing more: its readers come to the end of their input, its writers need not wait.
  void end(Section& section, Node& node);

  // Drops everything; `error` says why, and is kept if it is the first. An abort has none.
  void cancel(Section& section, std::optional<RunError> error);
  // As cancel: the node's code threw `cause`, in `call` if it is not null.
  void fail(Section& section, const Node& node, const Call* call, std::exception_ptr cause);

 private:
  void put_tickets(Section& section, Node& node);
  void discard_unpaired(Section& section, Node& node);
  void pass_promises_on(Section& section, Node& node);
  bool anyone_was_woken() const;
  bool wake_one_for_any_room();

  RunState& state_;
  RunGraph& graph_;
  FlowGraph* flow_ = nullptr;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
