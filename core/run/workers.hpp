// The threads of a run: workers of the oneTBB flow graph call gadgets that have messages and room, others block on
// threads of their own, and each edge with `policy: spill` has a thread that moves its messages between memory and
// disk, so that neither gadgets nor workers wait for a disk.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/run/calls.hpp"
#include "core/run/delivery.hpp"
#include "core/run/dispatch.hpp"
#include "core/run/flow_graph.hpp"
#include "core/run/observer.hpp"
#include "core/run/run_graph.hpp"
#include "core/run/run_state.hpp"
#include "core/run/section.hpp"

namespace tofstream {

class Workers final : public FlowGraph::Worker {
 public:
  // All of them outlive it; the observer may be null.
  Workers(RunState& state, RunGraph& graph, Dispatch& dispatch, Delivery& delivery, Observer* observer)
      : state_(state),
        graph_(graph),
        dispatch_(dispatch),
        delivery_(delivery),
        observer_(observer),
        calls_(state, dispatch, delivery, observer) {}

  // Calls the start functions, then lets data flow; a gadget with a thread of its own begins there with its start.
  // Every thread holds `run`, so that whatever it works with outlives it.
  void launch(const std::shared_ptr<void>& run);
  // Joins the threads after the run has ended; or lets them go for good where it has not.
  void join();
  void abandon();

  // Called by the flow graph: runs a job of the node, and what can be run after it.
  void work(std::size_t node) override;

 private:
  void launch_flow_graph(const std::shared_ptr<void>& run);
  bool starts_on_own_thread(const Node& node) const;
  void start_gadgets();
  void launch_threads(Section& section, const std::shared_ptr<void>& run);

  std::optional<Job> job_of_ticket(Node& node, Section::Tickets& behind);
  void serve_gadget(Node& node);
  std::optional<Job> next_own_job(Node& node);
  void serve_disk(Edge& edge);
  std::shared_ptr<SpillChunk> next_move(Edge& edge);

  RunState& state_;
  RunGraph& graph_;
  Dispatch& dispatch_;
  Delivery& delivery_;
  Observer* const observer_;
  Calls calls_;
  std::unique_ptr<FlowGraph> flow_;
  std::vector<std::jthread> threads_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
