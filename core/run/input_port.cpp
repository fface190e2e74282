#include "core/run/input_port.hpp"

#include <algorithm>
#include <limits>

namespace tofstream {

Edge* InputPort::next_of_several() const {
  return order_ == MergeOrder::ordered ? next_in_order() : next_in_turn();
}

Edge* InputPort::next_in_turn() const {
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    Edge* edge = edges_[(turn_ + i) % edges_.size()];
    if (edge->has_message()) return edge;
  }
  return nullptr;
}

// The edge with the smallest origin; of equal ones the first that is written. An edge without a message holds it up,
// unless all that this edge may still bring comes later.
Edge* InputPort::next_in_order() const {
  const auto first = std::ranges::min_element(edges_, {}, &Edge::least_origin);
  return first != edges_.end() && (*first)->has_message() ? *first : nullptr;
}

Message InputPort::pop() {
  Edge* edge = next();
  if (edges_.size() > 1)
    turn_ = (static_cast<std::size_t>(std::ranges::find(edges_, edge) - edges_.begin()) + 1) % edges_.size();
  return edge->pop();
}

Message InputPort::discard() {
  Edge* edge = next();
  edge->count_drop(edge->head());
  return pop();
}

std::size_t InputPort::size() const {
  std::size_t sum = 0;
  for (const Edge* edge : edges_) sum += edge->size();
  return sum;
}

bool InputPort::is_over() const {
  return std::ranges::all_of(edges_, &Edge::is_over);
}

std::uint64_t InputPort::least_origin() const {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Edge* edge : edges_) least = std::min(least, edge->least_origin());
  return least;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
