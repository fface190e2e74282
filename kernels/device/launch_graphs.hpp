// Work that is queued again and again with the same arguments, as one launch in place of many: a CUDA graph for each set
// of arguments.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream {

/// One call at a time.
class LaunchGraphs {
 public:
  /// All that tells one call's work from another's: addresses, sizes. What lies at the addresses is read anew each time.
  using Arguments = std::vector<std::uintptr_t>;

  LaunchGraphs() = default;
  LaunchGraphs(const LaunchGraphs&) = delete;
  LaunchGraphs& operator=(const LaunchGraphs&) = delete;
  ~LaunchGraphs() {
    clear();
    if (capture_) cudaStreamDestroy(capture_);
  }

  /// Queues on `stream` what queue(stream) queues. The first call with its arguments calls it; the second one records
  /// what it queues, which must then be no copy to or from pageable memory, allocation or wait; later ones launch that.
  template <class Queue>
  void run(const Arguments& arguments, Stream stream, const Queue& queue) {
    const auto known = graphs_.find(arguments);
    if (known == graphs_.end()) {
      queue(stream);
      if (graphs_.size() >= most_graphs) forget_oldest();
      graphs_[arguments].used = ++calls_;
      return;
    }
    Graph& graph = known->second;
    graph.used = ++calls_;
    if (!graph.made) graph.made = record(queue);
    check_cuda(cudaGraphLaunch(graph.made, stream), "launch a graph");
  }

  /// For arguments whose work is another one now: memory that it uses was moved.
  void clear() {
    for (auto& [arguments, graph] : graphs_) destroy(graph);
    graphs_.clear();
  }

 private:
  struct Graph {
    cudaGraphExec_t made = nullptr;  // null: not yet asked for a second time
    std::uint64_t used = 0;
  };
  static constexpr std::size_t most_graphs = 64;  // subsets times the images that a run takes turns with

  // One that is under way is freed when it ends.
  static void destroy(Graph& graph) {
    if (graph.made) cudaGraphExecDestroy(graph.made);
  }

  void forget_oldest() {
    auto oldest = graphs_.begin();
    for (auto graph = graphs_.begin(); graph != graphs_.end(); ++graph)
      if (graph->second.used < oldest->second.used) oldest = graph;
    destroy(oldest->second);
    graphs_.erase(oldest);
  }

  template <class Queue>
  cudaGraphExec_t record(const Queue& queue) {
    // The default stream cannot be recorded; and what other threads do must not end the recording.
    if (!capture_) check_cuda(cudaStreamCreateWithFlags(&capture_, cudaStreamNonBlocking), "make a stream");
    check_cuda(cudaStreamBeginCapture(capture_, cudaStreamCaptureModeThreadLocal), "record a graph");
    cudaGraph_t graph = nullptr;
    try {
      queue(capture_);
    } catch (...) {
      cudaStreamEndCapture(capture_, &graph);
      if (graph) cudaGraphDestroy(graph);
      throw;
    }
    check_cuda(cudaStreamEndCapture(capture_, &graph), "record a graph");
    cudaGraphExec_t made = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "make a graph");
    return made;
  }

  std::map<Arguments, Graph> graphs_;
  std::uint64_t calls_ = 0;
  cudaStream_t capture_ = nullptr;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
