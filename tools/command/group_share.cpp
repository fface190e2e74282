// Parts of hosts: see group_share.hpp.
#include "tools/command/group_share.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sched.h>

#include "tools/command/errors.hpp"
#include "tools/serve/gpu_servers.hpp"

namespace tofstream::command {

namespace {

constexpr const char* gpus_variable = "CUDA_VISIBLE_DEVICES";

// Part `number` of `parts` of so many: from, and to.
std::pair<int, int> part_of(int number, int parts, int all) {
  return {all * number / parts, all * (number + 1) / parts};
}

// Among the groups of its host that are alike in `member`: its number, and how many there are.
std::pair<int, int> place_among_alike(std::span<const RankIdentity> groups, std::size_t group,
                                      std::string RankIdentity::*member) {
  const auto is_alike = [&](const RankIdentity& other) {
    return other.host == groups[group].host && other.*member == groups[group].*member;
  };
  return {static_cast<int>(std::ranges::count_if(groups.first(group), is_alike)),
          static_cast<int>(std::ranges::count_if(groups, is_alike))};
}

void take_cores(const GroupShare& share) {
  cpu_set_t all, own;
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < share.parts) return;
  const auto [from, to] = part_of(share.part, share.parts, CPU_COUNT(&all));
  for (int core = 0, number = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all)) continue;
    if (number >= from && number < to) CPU_SET(core, &own);
    ++number;
  }
  ::sched_setaffinity(0, sizeof(own), &own);
}

}  // namespace

std::optional<int> gpus_of_group(const Pipeline& pipeline) {
  std::optional<int> most;
  for (const PipelineGadget& gadget : pipeline.gadgets) {
    const Value *backend = gadget.resolved.find("backend"), *ranks = gadget.resolved.find("ranks");
    if (!backend || backend->text == "cpu") continue;
    const int own = ranks ? std::atoi(ranks->text.c_str()) : 1;
    most = most == 0 || own == 0 ? 0 : std::max(most.value_or(1), own);
  }
  return most;
}

std::vector<GroupShare> shares_of_groups(std::span<const RankIdentity> groups, std::optional<int> gpus_of_each) {
  std::vector<GroupShare> shares;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    GroupShare& share = shares.emplace_back();
    std::tie(share.part, share.parts) = place_among_alike(groups, group, &RankIdentity::cores);
    const int there = groups[group].gpus;
    if (!gpus_of_each || there == 0) continue;
    const auto [number, sharers] = place_among_alike(groups, group, &RankIdentity::devices);
    const int each = std::max(*gpus_of_each, 1);
    if (sharers * each > there)
      throw InputError(
          fmt::format("groups: {} {} of {} need{} {} each, and see {} there: start fewer there, or write "
                      "--backend cpu",
                      sharers, sharers > 1 ? "groups" : "group", groups[group].host, sharers > 1 ? "" : "s",
                      each > 1 ? fmt::format("{} GPUs", each) : "a GPU", there));
    const auto [from, to] =
        *gpus_of_each > 0 ? std::pair(number * each, (number + 1) * each) : part_of(number, sharers, there);
    share.first_gpu = from;
    share.gpus = to - from;
  }
  return shares;
}

void take_share(const GroupShare& share) {
  if (share.parts > 1) take_cores(share);
  if (share.gpus == 0) return;
  const char* const set = std::getenv(gpus_variable);
  std::vector<int> own(static_cast<std::size_t>(share.gpus));
  std::iota(own.begin(), own.end(), share.first_gpu);
  const std::string devices = serve::visible_devices(own, set ? std::optional<std::string>(set) : std::nullopt);
  ::setenv(gpus_variable, devices.c_str(), 1);
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
