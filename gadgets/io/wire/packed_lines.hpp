// The lines of bins that join several, between ranks: these lie in a file of the first one's, which gives each other
// rank those of the bins that it is sent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "gadgets/io/wire/packed.hpp"
#include "kernels/types/recorded_lines.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::wire {

/// What a rank has of them: those of bins that have come.
class ReceivedLines final : public RecordedLines {
 public:
  std::int64_t size() const override { return 0; }
  /// Throws std::logic_error: the first rank reads them.
  EventBatch lines(std::int64_t begin, std::int64_t end) const override;
  bool are_spread() const override { return true; }
  /// Throws std::runtime_error for a bin that did not come.
  BinPairs pairs(std::span<const std::uint32_t> bins) const override;
  std::string key() const override { return "of another rank"; }

  /// Those of a batch's bins, which have as many pairs. Under the batch's number, in place of what had it before.
  void add(std::uint64_t batch, std::span<const std::uint32_t> bins, BinPairs pairs);
  void forget(std::uint64_t batch);

 private:
  struct OfBatch {
    std::vector<std::uint32_t> bins;  // in rising order, and where each lies in `pairs`
    std::vector<std::int64_t> at;
    BinPairs pairs;
  };

  mutable std::mutex mutex_;
  std::map<std::uint64_t, OfBatch> batches_;
};

/// The lines of these bins; nothing where `lines` is null, or its lines are single ones.
void pack_bin_pairs(PackWriter& to, const RecordedLines* lines, std::span<const std::uint32_t> bins);
/// Gives them to the scanner that came, under a batch's number, where it needs them. Throws std::runtime_error for what
/// makes no sense of these bins or this scanner.
void unpack_bin_pairs(PackReader& from, const Scanner& scanner, std::uint64_t batch,
                      std::span<const std::uint32_t> bins);
/// That a batch's lines are not needed any more.
void forget_bin_pairs(const Scanner& scanner, std::uint64_t batch);

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
