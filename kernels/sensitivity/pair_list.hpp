// All pairs of detectors that a scanner can record, numbered module pair after module pair, and
// their efficiencies with every look-up hoisted out of the loop over pairs. Internal to the
// sensitivity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/types/scanner.hpp"

namespace tofstream::detail {

class PairList {
 public:
  /// Keeps a reference to the scanner.
  explicit PairList(const Scanner& scanner);

  std::int64_t size() const { return total_; }

  struct Pair {
    std::uint32_t detector1, detector2;
  };

  /// Walks through pairs whose numbers do not decrease.
  class Walk {
   public:
    Walk(const PairList& list, std::int64_t first_number);
    /// The pair of a number, in the order of events (detector1 > detector2).
    Pair pair(std::int64_t number);
    /// Scanner::efficiency of the pair that pair() gave last.
    float efficiency(Pair pair) const;

   private:
    void enter_block();

    const PairList& list_;
    std::size_t block_ = 0;
    std::int64_t begin_ = 0, end_ = 0;  // numbers of the pairs in this block
    std::uint32_t module1_ = 0, module2_ = 0, first1_ = 0, first2_ = 0, elements2_ = 1;
    const ModuleType *type1_ = nullptr, *type2_ = nullptr;
    const ModulePairTable* table_ = nullptr;
  };

 private:
  /// The pairs between two modules, module1 >= module2.
  struct Block {
    std::int64_t first_number;
    std::uint32_t module1, module2;
  };
  const ModuleType& type_of_module(std::uint32_t module) const;

  const Scanner& scanner_;
  std::vector<Block> blocks_;
  std::vector<float> detector_efficiency_;  // summed over energy bins; empty: 1
  std::int64_t total_ = 0;
};

}  // namespace tofstream::detail
