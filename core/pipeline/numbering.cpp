#include "core/pipeline/numbering.hpp"

#include <map>
#include <optional>

#include <fmt/format.h>

namespace tofstream {
namespace {

class NumberingCheck {
 public:
  NumberingCheck(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges, Problems& problems)
      : gadgets_(gadgets), edges_(edges), problems_(problems), merge_(gadgets.size()) {}

  void follow(std::size_t at) {
    std::map<std::size_t, std::vector<const PipelineEdge*>> writers;  // by input
    for (const PipelineEdge& edge : edges_)
      if (edge.to == at && !edge.is_feedback) writers[edge.to_port].push_back(&edge);
    const PipelineGadget& gadget = gadgets_[at];
    const PipelineEdge* first = nullptr;
    for (const auto& [port, edges] : writers) {
      if (!first) first = edges.front();
      if (edges.size() > 1 && gadget.merge == MergeOrder::unordered) merge_[at] = at;
      if (gadget.merge == MergeOrder::ordered)
        for (const PipelineEdge* edge : edges) compare(gadget, *edges.front(), *edge, "merge: ordered");
      if (gadget.join == JoinMode::sequence) compare(gadget, *first, *edges.front(), "join: sequence");
    }
    if (first && !merge_[at]) merge_[at] = merge_[first->from];
  }

 private:
  void compare(const PipelineGadget& gadget, const PipelineEdge& a, const PipelineEdge& b, const char* how) {
    if (merge_[a.from] == merge_[b.from]) return;
    const std::size_t merge = merge_[b.from] ? *merge_[b.from] : *merge_[a.from];
    const std::string& name = gadgets_[merge].name;
    problems_.add(b.where, fmt::format("gadgets.{}: {} compares the numbers of its writers' messages, but '{}' merges "
                                       "without order and so numbers some of them anew: set merge: ordered there",
                                       gadget.name, how, name));
  }

  const std::vector<PipelineGadget>& gadgets_;
  const std::vector<PipelineEdge>& edges_;
  Problems& problems_;
  std::vector<std::optional<std::size_t>> merge_;  // the unordered merge whose numbers the gadget's messages have
};

}  // namespace

void check_numbering(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                     const std::vector<std::size_t>& order, Problems& problems) {
  NumberingCheck check(gadgets, edges, problems);
  for (const std::size_t at : order) check.follow(at);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
