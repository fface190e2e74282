// Takes messages from edges into a gadget's jobs, and puts what came out of them on edges. Every function is called
// with the run's lock held, which the Section proves (core/run/section.hpp).
#pragma once
#include <cstddef>

#include "core/run/dispatch.hpp"
#include "core/run/message.hpp"
#include "core/run/node.hpp"
#include "core/run/run_graph.hpp"
#include "core/run/run_state.hpp"

namespace tofstream {

class Delivery {
 public:
  // All of them outlive it.
  Delivery(RunState& state, const RunGraph& graph, Dispatch& dispatch)
      : state_(state), graph_(graph), dispatch_(dispatch) {}

  // A job of a gadget that is ready: as many calls as are worth one; a single one of a gadget with its own thread.
  Job take(Section& section, Node& node);
  // A job without inputs: its one call is that of flush (or run), or of idle.
  Job take_flush(Node& node);
  Job take_idle(Node& node);

  // Puts a message on every edge of the output. `job` is the one that gave it; null in a gadget's start.
  void publish(Section& section, Node& node, std::size_t port, Message message, Job* job);
  // After the last call of a job: publishes what it kept, when it is its turn, and ends the gadget after a flush.
  void finish(Section& section, Node& node, Job job);

 private:
  void take_call(Section& section, Node& node, Job& job);
  Job job_without_input(Node& node);
  void number(Section& section, Node& node, std::size_t port, Message& message, const Job* job);
  void publish_outputs(Section& section, Node& node, Job& job);
  void publish_in_order(Section& section, Node& node, Job job);

  RunState& state_;
  const RunGraph& graph_;
  Dispatch& dispatch_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
