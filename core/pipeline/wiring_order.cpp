// Cycles of a pipeline, and the order of its gadgets: see wiring.hpp.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/pipeline/wiring.hpp"

namespace tofstream {
namespace {

std::vector<bool> reachable_from(std::size_t start, std::size_t count, const std::vector<PipelineEdge>& edges) {
  std::vector<bool> reached(count);
  std::vector<std::size_t> open{start};
  reached[start] = true;
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const PipelineEdge& edge : edges)
      if (edge.from == at && !reached[edge.to]) {
        reached[edge.to] = true;
        open.push_back(edge.to);
      }
  }
  return reached;
}

// A cycle among `left`, as names: "a -> b -> a".
std::string cycle_in_words(const std::vector<UnwiredGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                           const std::vector<std::size_t>& left, std::size_t& closing) {
  // Every gadget that is left has a predecessor that is left: walking back must come round.
  std::vector<std::size_t> walk{left.front()};
  while (true) {
    const auto edge = std::ranges::find_if(edges, [&](const PipelineEdge& e) {
      return e.to == walk.back() && !e.is_feedback && std::ranges::find(left, e.from) != left.end();
    });
    const auto seen = std::ranges::find(walk, edge->from);
    if (seen == walk.end()) {
      walk.push_back(edge->from);
      continue;
    }
    closing = static_cast<std::size_t>(edge - edges.begin());
    std::string words = gadgets[edge->from].gadget.name;
    for (auto at = walk.end(); at != seen;) words += " -> " + gadgets[*--at].gadget.name;
    return words;
  }
}

void check_feedback(const std::vector<UnwiredGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                    Problems& problems) {
  for (const PipelineEdge& edge : edges) {
    if (!edge.is_feedback) continue;
    const std::vector<bool> after_reader = reachable_from(edge.to, gadgets.size(), edges);
    if (!after_reader[edge.from]) continue;  // no cycle through this edge
    bool opened = false;
    for (std::size_t i = 0; i < gadgets.size(); ++i)
      opened = opened || (gadgets[i].gadget.info->has_start && after_reader[i] &&
                          reachable_from(i, gadgets.size(), edges)[edge.from]);
    if (!opened)
      problems.add(edge.where, fmt::format("gadgets.{}: the cycle through {} never begins: no gadget on it has a first "
                                           "message (a start function)",
                                           gadgets[edge.to].gadget.name, edge.name));
  }
}

}  // namespace

std::vector<std::size_t> topological_order(const std::vector<UnwiredGadget>& gadgets,
                                           const std::vector<PipelineEdge>& edges, Problems& problems) {
  std::vector<std::size_t> writers(gadgets.size());  // that are not in the order yet
  for (const PipelineEdge& edge : edges)
    if (!edge.is_feedback) ++writers[edge.to];
  std::vector<std::size_t> left(gadgets.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::vector<std::size_t> order;
  while (!left.empty()) {
    const auto next = std::ranges::find_if(left, [&](std::size_t gadget) { return writers[gadget] == 0; });
    if (next == left.end()) {
      std::size_t closing = 0;
      const std::string words = cycle_in_words(gadgets, edges, left, closing);
      problems.add(edges[closing].where, fmt::format("the gadgets form a cycle without a feedback input: {}", words));
      return order;
    }
    for (const PipelineEdge& edge : edges)
      if (edge.from == *next && !edge.is_feedback) --writers[edge.to];
    order.push_back(*next);
    left.erase(next);
  }
  check_feedback(gadgets, edges, problems);
  return order;
}

}  // namespace tofstream
