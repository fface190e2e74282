// Expected counts of every crystal, by sums over the pairs that see the source. Where pairs are too many, the partners
// of a crystal are taken in groups of neighbours: one of a group stands for all of them, weighted with the sum of their
// efficiencies. Internal to the normalisation.
#pragma once

#include <cstdint>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/ring/normalise/crystal_tree.hpp"
#include "kernels/ring/normalise/pair_expectation.hpp"

namespace tofstream::detail {

class FanSums {
 public:
  /// Evaluates about as many lines as `most_lines` at most; keeps the weights of those that see the source, 8 bytes
  /// each. Keeps a reference to the expectation.
  FanSums(PairExpectation& expectation, std::int64_t most_lines);

  /// For each crystal i the sum over its partners j of w_ij e_j, w_ij as PairExpectation::of().
  std::vector<double> fans(const std::vector<double>& e) const;
  /// The RMS over some crystals of the relative error of their sums, by comparison with the sums over all partners by
  /// other lines.
  double relative_error(const std::vector<double>& e) const;

  std::uint32_t crystals_a_group() const { return most_; }
  /// Lines that were kept.
  std::int64_t lines() const;

  /// Multiplies every weight by factor(module of the crystal, module of its partners).
  template <class Factor>
  void scale(const Factor& factor) {
    for_each_row([&](std::uint32_t i) {
      Row& row = rows_[i];
      for (std::size_t k = 0; k < row.group.size(); ++k)
        row.weight[k] *= static_cast<float>(factor(module_of_[i], group_module_[row.group[k]]));
    });
  }
  /// Sums of one number a crystal over each group of crystals.
  std::vector<double> group_sums(const std::vector<double>& e) const;
  /// A line that is kept: between crystal i and one of a group of its partners.
  struct Line {
    DetectorPair pair;
    std::uint32_t group, module1, module2;  // of partners; of crystal i and of them
    float weight;
  };
  /// Calls visit(line) for each line of crystal i.
  template <class Visit>
  void visit(std::uint32_t i, const Visit& visit) const {
    const Row& row = rows_[i];
    for (std::size_t k = 0; k < row.group.size(); ++k)
      visit(Line{pair(i, row.group[k]), row.group[k], module_of_[i], group_module_[row.group[k]], row.weight[k]});
  }
  std::uint32_t module_of(std::uint32_t crystal) const { return module_of_[crystal]; }

 private:
  struct Row {
    std::vector<std::uint32_t> group;
    std::vector<float> weight;
  };
  template <class Do>
  void for_each_row(const Do& what) const {
    tbb::parallel_for(tbb::blocked_range<std::uint32_t>(0, static_cast<std::uint32_t>(rows_.size()), 64),
                      [&](const auto& range) {
                        for (std::uint32_t i = range.begin(); i != range.end(); ++i) what(i);
                      });
  }
  void list_partners();
  std::uint32_t choose_group(std::int64_t most_lines) const;
  void number_groups(std::size_t node);
  /// Calls visit(node) for the nodes with at most `most` crystals, of modules in coincidence with crystal i's, that it
  /// may see the source with.
  template <class Visit>
  void walk(std::uint32_t i, std::uint32_t most, const Visit& visit) const;
  template <class Visit>
  void descend(std::uint32_t i, std::size_t node, std::uint32_t most, const Visit& visit) const;
  DetectorPair pair(std::uint32_t i, std::uint32_t group) const;
  void fill();

  const PairExpectation& expectation_;
  CrystalTree tree_;
  std::vector<std::uint32_t> module_of_;              // of each crystal
  std::vector<std::vector<std::uint32_t>> partners_;  // of each module
  std::uint32_t most_ = 1;                            // crystals of a group
  std::vector<std::uint32_t> group_of_node_;
  std::vector<std::uint32_t> group_node_, group_module_;
  std::vector<Row> rows_;
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
