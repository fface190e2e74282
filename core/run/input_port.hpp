// The messages that come into one input of a gadget: from one edge, or from several that merge. Guarded by the
// run's lock, like its edges.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/run/edge.hpp"

namespace tofstream {

class InputPort {
 public:
  explicit InputPort(MergeOrder order) : order_(order) {}

  void add(Edge& edge) { edges_.push_back(&edge); }
  const std::vector<Edge*>& edges() const { return edges_; }
  bool is_connected() const { return !edges_.empty(); }
  bool is_feedback() const { return is_connected() && edges_.front()->description().is_feedback; }

  // The edge whose first message is this input's next. Null if there is none; also, if edges merge in order, as long as
  // an earlier message may still come on another edge.
  Edge* next() const {
    if (edges_.size() == 1) return edges_.front()->has_message() ? edges_.front() : nullptr;
    return next_of_several();
  }
  bool has_message() const { return next() != nullptr; }
  Message pop();
  // Takes the next message to throw it away: it counts as dropped by its edge.
  Message discard();
  // Messages that wait, whether or not their turn has come.
  std::size_t size() const;
  // Every writer has ended and every message was taken.
  bool is_over() const;
  // No message that is still to be taken has a smaller MessageInfo::origin.
  std::uint64_t least_origin() const;

 private:
  Edge* next_of_several() const;
  Edge* next_in_turn() const;
  Edge* next_in_order() const;

  std::vector<Edge*> edges_;
  MergeOrder order_;
  std::size_t turn_ = 0;  // the edge that is asked first, so that none of several starves
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
