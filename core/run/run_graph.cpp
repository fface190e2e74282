#include "core/run/run_graph.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/run/run_error.hpp"

namespace tofstream {
namespace {

// In its own code, and not in an Emit that waits.
bool is_in_code(const Node& node) {
  return node.in_code > 0 && node.waiting == Node::Waiting::no;
}

}  // namespace

RunGraph::RunGraph(const Pipeline& pipeline, const std::filesystem::path& output_dir, RunState& state,
                   RunControl& control)
    : state_(state) {
  for (const PipelineGadget& gadget : pipeline.gadgets)
    nodes_.push_back(std::make_unique<Node>(nodes_.size(), gadget, output_dir, state.cancel_source.get_token(), control,
                                            state.stop_source.get_token()));
  make_edges(pipeline);
  for (const auto& node : nodes_) {
    const auto merges = [](const InputPort& port) { return port.edges().size() > 1; };
    node->numbers_messages = node->info().kind == GadgetKind::source || (node->gadget->merge == MergeOrder::unordered &&
                                                                         std::ranges::any_of(node->inputs, merges));
    any_idles_ = any_idles_ || node->info().has_idle;
    goes_by_origin_ =
        goes_by_origin_ || node->gadget->join == JoinMode::sequence || node->gadget->merge == MergeOrder::ordered;
    node->tell_ports();
  }
  state.alive = nodes_.size();
}

void RunGraph::make_edges(const Pipeline& pipeline) {
  for (const PipelineEdge& description : pipeline.edges) {
    Node& writer = *nodes_[description.from];
    Node& reader = *nodes_[description.to];
    const PayloadType& type = *writer.info().outputs[description.from_port].payload;
    edges_.push_back(std::make_unique<Edge>(description, type, writer, reader));
    writer.outputs[description.from_port].push_back(edges_.back().get());
    reader.inputs[description.to_port].add(*edges_.back());
  }
}

RunGraph::~RunGraph() {
  // What a gadget refers to was made before it: sources first, so sinks go first. A thread of a gadget's own may ask
  // for figures until its gadget is gone, so all nodes stay until then.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) (*node)->instance.reset();
  while (!nodes_.empty()) nodes_.pop_back();
}

std::vector<RunError> RunGraph::construct() {
  std::vector<RunError> errors;
  for (const auto& node : nodes_) {
    if (state_.cancelled) return {};
    try {
      node->instance = node->info().construct(node->gadget->params, node->context);
    } catch (...) {
      if (!state_.cancelled) errors.push_back(error_of(*node, std::current_exception()));
    }
  }
  for (const auto& edge : edges_) {
    try {
      if (edge->spill()) edge->spill()->open();
    } catch (const std::exception& error) {
      errors.push_back(spill_error(*edge, error));
    }
  }
  return errors;
}

std::vector<std::string> RunGraph::in_code() const {
  std::vector<std::string> names;
  for (const auto& node : nodes_)
    if (is_in_code(*node)) names.push_back(node->name());
  for (const auto& edge : edges_)
    if (edge->is_moving()) names.push_back(fmt::format("the disk of {}", edge->description().name));
  return names;
}

std::vector<std::string> RunGraph::who_waits() const {
  std::vector<std::string> words;
  for (const auto& node : nodes_) {
    if (node->phase == Node::Phase::ended) continue;
    for (const InputPort& port : node->inputs)
      for (const Edge* edge : port.edges())
        if (!port.has_message() && !edge->has_message() && !edge->is_over())
          words.push_back(fmt::format("'{}' waits for {}", node->name(), edge->description().name));
    for (std::size_t port = 0; port < node->outputs.size(); ++port) {
      const bool waits_here = node->waiting == Node::Waiting::for_room && port == node->waiting_port;
      for (const Edge* edge : node->outputs[port])
        if (!edge->has_room() || (waits_here && !edge->has_ample_room()))
          words.push_back(fmt::format("'{}' is held up by the full edge {}", node->name(), edge->description().name));
    }
  }
  return words;
}

std::string RunGraph::state_in_words() const {
  std::vector<std::string> words;
  const auto now = std::chrono::steady_clock::now();
  for (const auto& node : nodes_)
    if (is_in_code(*node))
      words.push_back(fmt::format("'{}' has been in its own code for {:.1f} s", node->name(),
                                  std::chrono::duration<double>(now - node->in_code_since).count()));
  for (std::string& line : who_waits()) words.push_back(std::move(line));
  return fmt::format("{}", fmt::join(words, "; "));
}

bool RunGraph::waits_outside() const {
  const auto is_outside = [](const auto& node) { return node->record.waits_outside(); };
  const auto is_kept = [&](const auto& node) { return is_in_code(*node) && !is_outside(node); };
  return std::ranges::any_of(nodes_, is_outside) && std::ranges::none_of(nodes_, is_kept);
}

std::uint64_t RunGraph::progress_changes() const {
  std::uint64_t changes = 0;
  for (const auto& node : nodes_) changes += node->record.progress_changes();
  return changes;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
