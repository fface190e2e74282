// The graph of a run: its gadgets as nodes, and the edges between them. What changes while it runs is guarded by the
// run's one lock (core/run/run_state.hpp), which whoever calls a function here holds, but for construct().
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/pipeline/pipeline.hpp"
#include "core/report/report.hpp"
#include "core/run/edge.hpp"
#include "core/run/node.hpp"
#include "core/run/run_control.hpp"
#include "core/run/run_state.hpp"

namespace tofstream {

class RunGraph {
 public:
  // All of them outlive the graph. The gadgets find the run at `control`.
  RunGraph(const Pipeline& pipeline, const std::filesystem::path& output_dir, RunState& state, RunControl& control);
  ~RunGraph();
  RunGraph(const RunGraph&) = delete;
  RunGraph& operator=(const RunGraph&) = delete;

  // In the pipeline's order.
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<Edge>>& edges() const { return edges_; }
  // Some gadget has an idle function.
  bool any_idles() const { return any_idles_; }
  // Some gadget merges in order or joins by sequence: promises are kept.
  bool goes_by_origin() const { return goes_by_origin_; }

  // Constructs every gadget; what could not be constructed is returned. After an abort the rest is left out.
  std::vector<RunError> construct();

  // Gadgets in their own code, and edges at their disk.
  std::vector<std::string> in_code() const;
  // Who waits for what.
  std::vector<std::string> who_waits() const;
  // Both, with how long each gadget has been in its own code: the report of a stall.
  std::string state_in_words() const;
  // Whether nothing but the outside keeps it: see Context::wait_outside.
  bool waits_outside() const;
  // Grows whenever a gadget's progress changes.
  std::uint64_t progress_changes() const;

 private:
  void make_edges(const Pipeline& pipeline);

  const RunState& state_;
  bool any_idles_ = false;
  bool goes_by_origin_ = false;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Edge>> edges_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
