// NVIDIA's NCCL: numbers go from one GPU's memory to another's over NVLink, PCIe or a network, without the hosts. It is
// loaded when it is first asked for, and need not be there.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "kernels/collective/rank_transport.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream {

/// Empty where NCCL can be used; otherwise why not and what to install, in one line.
std::string why_no_nccl();
/// As NCCL counts: 22809 is 2.28.9. 0 where there is none.
int nccl_version();
/// 22809 in words: "2.28.9"; 2708, as it was counted until 2.8: "2.7.8".
std::string nccl_version_text(int version);
/// Empty where that version will do; otherwise which one is needed.
std::string why_nccl_is_too_old(int version);

/// By which ranks find each other: one makes it and tells the others. It names a port of this host, where all must be
/// able to connect; their connections are neither encrypted nor authenticated. Of which device of the host's, the variable
/// NCCL_SOCKET_IFNAME of all processes says.
struct NcclId {
  std::array<char, 128> bytes{};
};
/// Throws std::runtime_error.
NcclId new_nccl_id();

/// Joins the ranks, each of which calls it on a thread whose current device is its own; waits until all have. What is
/// queued runs on a stream of its own, which waits for no other. Throws std::runtime_error, and NotInTime
/// (made_in_time.hpp) where not all have joined within `patience`: then a thread may be left in NCCL, and the process is
/// to end.
std::unique_ptr<RankTransport> make_nccl_transport(const NcclId& id, int rank, int ranks,
                                                   std::chrono::milliseconds patience = std::chrono::seconds(60));

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
