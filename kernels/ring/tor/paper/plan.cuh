// The lines of a batch on one lattice as Cui et al.'s scheme keeps them for all iterations: partitioned by predominant
// direction (II.B.3) and sorted by ToF centre along it (II.B.7), once.
#pragma once

#include "kernels/ring/tor/paper/line.hpp"
#include "kernels/ring/tor/paper/scheme.hpp"
#include "kernels/ring/tor/tor_model.hpp"

namespace tofstream::tor::paper {

class LinePlan {
 public:
  /// Queued on the stream. Throws std::length_error for more than 2^32 - 1 events.
  LinePlan(const Pass& pass, const PaperScheme& scheme, Stream stream);

  std::size_t bytes() const { return words_.bytes() + order_.bytes(); }
  const std::int64_t* axis_begin() const { return axis_begin_; }
  const Lines& lines() const { return lines_; }
  /// order()[i] is the event that line i stems from; null where line i is event i.
  const std::uint32_t* order() const { return order_.empty() ? nullptr : order_.data(); }

 private:
  void partition(const Pass& pass, bool sort, Stream stream);

  std::int64_t count_;
  Buffer<std::uint32_t> words_, order_;
  Lines lines_;  // over the words
  std::int64_t axis_begin_[4] = {};
};

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
