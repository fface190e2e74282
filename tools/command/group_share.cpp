// A group's part of its host: see group_share.hpp.
#include "tools/command/group_share.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <sched.h>

#include "tools/serve/gpu_servers.hpp"

namespace tofstream::command {

namespace {

constexpr const char* gpus_variable = "CUDA_VISIBLE_DEVICES";

void take_cores(const HostShare& share) {
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

void take_share(const HostShare& share) {
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
