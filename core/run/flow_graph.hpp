// The oneTBB flow graph behind a small interface: a function node a gadget, which is told by tickets that there is
// work. What the work is, the scheduler keeps under its own lock.
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

  // From any thread.
  void put(std::size_t node);
  // Takes part in the work until release() was called and no work is left.
  void wait();
  void release();

 private:
  struct Nodes;
  std::unique_ptr<Nodes> nodes_;
};

}  // namespace tofstream
