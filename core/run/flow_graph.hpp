// The oneTBB flow graph behind a small interface: a function node a gadget, which is told by tickets that there is
// work. What the work is, the dispatch knows (core/run/dispatch.hpp).
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

namespace tofstream {

class FlowGraph {
 public:
  class Worker {
   public:
    // One call for each put(node), on some thread of the arena.
    virtual void work(std::size_t node) = 0;

   protected:
    ~Worker() = default;
  };

  // `parallel[i]`: how many calls of work(i) may run at a time; 0 where gadget i has no node. The
  // constructing thread's task arena is the graph's.
  FlowGraph(const std::vector<unsigned>& parallel, Worker& worker);
  ~FlowGraph();
  FlowGraph(const FlowGraph&) = delete;
  FlowGraph& operator=(const FlowGraph&) = delete;

  Worker& worker() { return worker_; }
  // From any thread.
  void put(std::size_t node);
  // Takes part in the work until release() was called and no work is left.
  void wait();
  void release();

 private:
  struct Nodes;
  Worker& worker_;
  std::unique_ptr<Nodes> nodes_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
