// Sums over the pairs that see the source: see fan_sums.hpp.
#include "kernels/ring/normalise/fan_sums.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <span>

#include "kernels/ring/sensitivity/pair_sample.hpp"

namespace tofstream::detail {

namespace {

constexpr std::uint32_t no_group = ~0u;
constexpr std::uint32_t chunk_of_rows = 512;

DetectorPair ordered(std::uint32_t a, std::uint32_t b) {
  return a > b ? DetectorPair{a, b} : DetectorPair{b, a};
}

/// Crystals spread over the scanner.
std::vector<std::uint32_t> some_crystals(std::size_t all, std::size_t wanted) {
  std::vector<std::uint32_t> result;
  const std::size_t count = std::min(all, wanted);
  for (std::size_t n = 0; n < count; ++n)
    result.push_back(static_cast<std::uint32_t>((n * all + mixed(7, n) % all) / count % all));
  return result;
}

}  // namespace

FanSums::FanSums(PairExpectation& expectation, std::int64_t most_lines)
    : expectation_(expectation), tree_(expectation.scanner()) {
  expectation.prepare(tree_.radii_mm());
  rows_.resize(static_cast<std::size_t>(expectation.scanner().detectors->size()));
  list_partners();
  most_ = choose_group(most_lines);
  group_of_node_.assign(tree_.nodes().size(), no_group);
  for (std::size_t module = 0; module < partners_.size(); ++module) number_groups(module);
  fill();
}

void FanSums::list_partners() {
  const Scanner& scanner = expectation_.scanner();
  const std::uint32_t modules = scanner.modules();
  for (std::uint32_t d = 0; d < rows_.size(); ++d) module_of_.push_back(scanner.module_of(d));
  partners_.resize(modules);
  for (std::uint32_t m1 = 0; m1 < modules; ++m1)
    for (std::uint32_t m2 = 0; m2 < modules; ++m2)
      if (scanner.module_pair.empty() ? m1 != m2
                                      : scanner.module_pair[static_cast<std::size_t>(m1) * modules + m2] >= 0)
        partners_[m1].push_back(m2);
}

template <class Visit>
void FanSums::walk(std::uint32_t i, std::uint32_t most, const Visit& visit) const {
  for (const std::uint32_t module : partners_[module_of_[i]]) descend(i, module, most, visit);
}

template <class Visit>
void FanSums::descend(std::uint32_t i, std::size_t at, std::uint32_t most, const Visit& visit) const {
  const CrystalTree::Node& node = tree_.nodes()[at];
  if (!expectation_.may_meet(i, node.centre_mm, node.depth)) return;
  if (node.detectors.size() <= most) return visit(at);
  descend(i, static_cast<std::size_t>(node.child), most, visit);
  descend(i, static_cast<std::size_t>(node.child) + 1, most, visit);
}

// As few to a group as the lines suffice for.
std::uint32_t FanSums::choose_group(std::int64_t most_lines) const {
  const std::vector<std::uint32_t> sample = some_crystals(rows_.size(), 64);
  for (std::uint32_t most = 1;; most *= 2) {
    std::atomic<std::int64_t> lines = 0;
    tbb::parallel_for(std::size_t{0}, sample.size(), [&](std::size_t n) {
      std::int64_t of_this = 0;
      walk(sample[n], most, [&](std::size_t) { ++of_this; });
      lines += of_this;
    });
    const double all =
        static_cast<double>(lines) * static_cast<double>(rows_.size()) / static_cast<double>(sample.size());
    if (all <= static_cast<double>(most_lines) || most >= rows_.size()) return most;
  }
}

void FanSums::number_groups(std::size_t at) {
  const CrystalTree::Node& node = tree_.nodes()[at];
  if (node.detectors.size() > most_) {
    number_groups(static_cast<std::size_t>(node.child));
    number_groups(static_cast<std::size_t>(node.child) + 1);
    return;
  }
  group_of_node_[at] = static_cast<std::uint32_t>(group_node_.size());
  group_node_.push_back(static_cast<std::uint32_t>(at));
  group_module_.push_back(module_of_[node.detectors.front()]);
}

// One of the group, drawn anew for each crystal so that the errors of a crystal's groups are not alike.
DetectorPair FanSums::pair(std::uint32_t i, std::uint32_t group) const {
  const std::vector<std::uint32_t>& members = tree_.nodes()[group_node_[group]].detectors;
  const std::size_t drawn = members.size() > 1 ? mixed(i, group) % members.size() : 0;
  return ordered(i, members[drawn]);
}

void FanSums::fill() {
  std::vector<std::vector<std::uint32_t>> groups(chunk_of_rows);
  std::vector<DetectorPair> pairs;
  std::vector<float> weights;
  const auto crystals = static_cast<std::uint32_t>(rows_.size());
  for (std::uint32_t begin = 0; begin < crystals; begin += chunk_of_rows) {
    const std::uint32_t count = std::min(chunk_of_rows, crystals - begin);
    tbb::parallel_for(std::uint32_t{0}, count, [&](std::uint32_t r) {
      groups[r].clear();
      walk(begin + r, most_, [&](std::size_t node) { groups[r].push_back(group_of_node_[node]); });
    });
    pairs.clear();
    for (std::uint32_t r = 0; r < count; ++r)
      for (const std::uint32_t group : groups[r]) pairs.push_back(pair(begin + r, group));
    weights.resize(pairs.size());
    expectation_.of(pairs, weights.data());
    const float* next = weights.data();
    for (std::uint32_t r = 0; r < count; ++r) {
      Row& row = rows_[begin + r];
      for (const std::uint32_t group : groups[r])
        if (const float weight = *next++; weight > 0) {
          row.group.push_back(group);
          row.weight.push_back(weight);
        }
      row.group.shrink_to_fit();
      row.weight.shrink_to_fit();
    }
  }
}

std::vector<double> FanSums::group_sums(const std::vector<double>& e) const {
  std::vector<double> sums(group_node_.size());
  for (std::size_t g = 0; g < sums.size(); ++g)
    for (const std::uint32_t d : tree_.nodes()[group_node_[g]].detectors) sums[g] += e[d];
  return sums;
}

std::vector<double> FanSums::fans(const std::vector<double>& e) const {
  const std::vector<double> sums = group_sums(e);
  std::vector<double> result(rows_.size());
  for_each_row([&](std::uint32_t i) {
    const Row& row = rows_[i];
    double sum = 0;
    for (std::size_t k = 0; k < row.group.size(); ++k) sum += static_cast<double>(row.weight[k]) * sums[row.group[k]];
    result[i] = sum;
  });
  return result;
}

double FanSums::relative_error(const std::vector<double>& e) const {
  const std::vector<double> grouped = fans(e);
  double squares = 0;
  std::size_t seen = 0;
  for (const std::uint32_t i : some_crystals(rows_.size(), 100)) {
    std::vector<DetectorPair> pairs;
    std::vector<double> partner;
    walk(i, 1, [&](std::size_t node) {
      const std::uint32_t j = tree_.nodes()[node].detectors.front();
      pairs.push_back(ordered(i, j));
      partner.push_back(e[j]);
    });
    std::vector<float> weights(pairs.size());
    constexpr std::uint64_t other_lines = 1;
    expectation_.of(pairs, weights.data(), other_lines);
    const double sum = std::inner_product(weights.begin(), weights.end(), partner.begin(), 0.0);
    if (!(sum > 0)) continue;
    squares += (grouped[i] / sum - 1) * (grouped[i] / sum - 1);
    ++seen;
  }
  return seen > 0 ? std::sqrt(squares / static_cast<double>(seen)) : 0;
}

std::int64_t FanSums::lines() const {
  std::int64_t lines = 0;
  for (const Row& row : rows_) lines += static_cast<std::int64_t>(row.group.size());
  return lines;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
