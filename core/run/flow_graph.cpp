#include "core/run/flow_graph.hpp"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>

namespace tofstream {

namespace flow = oneapi::tbb::flow;

namespace {
struct Ticket {};
}  // namespace

struct FlowGraph::Nodes {
  flow::graph graph;
  std::vector<std::unique_ptr<flow::function_node<Ticket>>> nodes;
};

FlowGraph::FlowGraph(const std::vector<unsigned>& parallel, Worker& worker)
    : worker_(worker), nodes_(std::make_unique<Nodes>()) {
  nodes_->nodes.resize(parallel.size());
  for (std::size_t i = 0; i < parallel.size(); ++i) {
    if (parallel[i] == 0) continue;
    nodes_->nodes[i] = std::make_unique<flow::function_node<Ticket>>(nodes_->graph, parallel[i], [&worker, i](Ticket) {
      // A gadget that waits for its own parallel loop must not be given another gadget's work meanwhile.
      oneapi::tbb::this_task_arena::isolate([&] { worker.work(i); });
      return flow::continue_msg{};
    });
  }
  nodes_->graph.reserve_wait();
}

FlowGraph::~FlowGraph() = default;

void FlowGraph::put(std::size_t node) {
  nodes_->nodes[node]->try_put({});
}
void FlowGraph::wait() {
  nodes_->graph.wait_for_all();
}
void FlowGraph::release() {
  nodes_->graph.release_wait();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
