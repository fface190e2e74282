// Parts of hosts: see host_share.hpp.
#include "gadgets/ranks/host_share.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <tuple>

#include <fmt/format.h>

namespace tofstream {

namespace {

// Among the groups of its host that are alike in `member`: its number, and how many there are.
std::pair<int, int> place_among_alike(std::span<const RankIdentity> groups, std::size_t group,
                                      std::string RankIdentity::*member) {
  const auto is_alike = [&](const RankIdentity& other) {
    return other.host == groups[group].host && other.*member == groups[group].*member;
  };
  return {static_cast<int>(std::ranges::count_if(groups.first(group), is_alike)),
          static_cast<int>(std::ranges::count_if(groups, is_alike))};
}

}  // namespace

std::pair<int, int> part_of(int part, int parts, int all) {
  return {all * part / parts, all * (part + 1) / parts};
}

std::vector<HostShare> shares_of_hosts(std::span<const RankIdentity> groups, std::optional<int> gpus_of_each) {
  std::vector<HostShare> shares;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    HostShare& share = shares.emplace_back();
    std::tie(share.part, share.parts) = place_among_alike(groups, group, &RankIdentity::cores);
    const int there = groups[group].gpus;
    if (!gpus_of_each || there == 0) continue;
    const auto [number, sharers] = place_among_alike(groups, group, &RankIdentity::devices);
    const int each = std::max(*gpus_of_each, 1);
    if (sharers * each > there)
      throw std::invalid_argument(
          fmt::format("groups: {} {} on {} {} GPUs, and {} can be seen there: start fewer groups there, or "
                      "write --backend cpu",
                      sharers, sharers > 1 ? "groups" : "group", groups[group].host,
                      fmt::format("{} {}", sharers > 1 ? "need" : "needs", sharers * each), there));
    const auto [from, to] =
        *gpus_of_each > 0 ? std::pair(number * each, (number + 1) * each) : part_of(number, sharers, there);
    share.first_gpu = from;
    share.gpus = to - from;
  }
  return shares;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
