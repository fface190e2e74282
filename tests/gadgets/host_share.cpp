// Which cores and GPUs groups take, whoever has started them where.
#include "gadgets/ranks/host_share.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace tofstream;

namespace {

RankIdentity group_on(const std::string& host, const std::string& cores, int gpus = 0,
                      const std::string& devices = "") {
  RankIdentity identity;
  identity.host = host;
  identity.cores = cores;
  identity.gpus = gpus;
  identity.devices = devices;
  return identity;
}

using Part = std::tuple<int, int, int, int>;

std::vector<Part> parts_of(const std::vector<RankIdentity>& groups, std::optional<int> gpus) {
  std::vector<Part> parts;
  for (const HostShare& share : shares_of_hosts(groups, gpus))
    parts.emplace_back(share.part, share.parts, share.first_gpu, share.gpus);
  return parts;
}

std::string refusal(const std::vector<RankIdentity>& groups, std::optional<int> gpus) {
  try {
    static_cast<void>(shares_of_hosts(groups, gpus));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("groups of a host divide the cores that all of them may use, and leave those that a launcher has bound") {
  CHECK(parts_of({group_on("a", "0,1,2,3"), group_on("b", "0,1,2,3"), group_on("a", "0,1,2,3")}, {}) ==
        std::vector<Part>{{0, 2, 0, 0}, {0, 1, 0, 0}, {1, 2, 0, 0}});
  CHECK(parts_of({group_on("a", "0,1"), group_on("a", "2,3"), group_on("a", "2,3")}, {}) ==
        std::vector<Part>{{0, 1, 0, 0}, {0, 2, 0, 0}, {1, 2, 0, 0}});
}

TEST_CASE("groups of a host take as many GPUs as their ranks, or divide all of them, of those that they see alike") {
  const std::vector<RankIdentity> two_hosts = {group_on("a", "0", 4), group_on("a", "0", 4), group_on("b", "0", 4)};
  CHECK(parts_of(two_hosts, 1) == std::vector<Part>{{0, 2, 0, 1}, {1, 2, 1, 1}, {0, 1, 0, 1}});
  CHECK(parts_of(two_hosts, 2) == std::vector<Part>{{0, 2, 0, 2}, {1, 2, 2, 2}, {0, 1, 0, 2}});
  CHECK(parts_of(two_hosts, 0) == std::vector<Part>{{0, 2, 0, 2}, {1, 2, 2, 2}, {0, 1, 0, 4}});
  CHECK(parts_of({group_on("a", "0", 1, "2"), group_on("a", "0", 1, "3")}, 1) ==
        std::vector<Part>{{0, 2, 0, 1}, {1, 2, 0, 1}});
  CHECK(parts_of(two_hosts, {}) == std::vector<Part>{{0, 2, 0, 0}, {1, 2, 0, 0}, {0, 1, 0, 0}});
  // Without a GPU an automatic backend is the CPU.
  CHECK(parts_of({group_on("a", "0"), group_on("a", "0")}, 1) == std::vector<Part>{{0, 2, 0, 0}, {1, 2, 0, 0}});
}

TEST_CASE("more groups on a host than it has GPUs for are refused, with the host and what to do") {
  const std::vector<RankIdentity> groups = {group_on("a", "0", 4), group_on("b", "0", 1), group_on("b", "0", 1)};
  CHECK(refusal(groups, 1) ==
        "groups: 2 groups on b need 2 GPUs, and 1 can be seen there: start fewer groups there, or write --backend cpu");
  CHECK(refusal(groups, 0) == refusal(groups, 1));
  CHECK(refusal({group_on("a", "0", 4)}, 5) ==
        "groups: 1 group on a needs 5 GPUs, and 4 can be seen there: start fewer groups there, or write --backend cpu");
  CHECK(refusal(groups, {}).empty());
}

TEST_CASE("parts of what does not divide evenly differ by one") {
  CHECK(part_of(0, 3, 8) == std::pair(0, 2));
  CHECK(part_of(1, 3, 8) == std::pair(2, 5));
  CHECK(part_of(2, 3, 8) == std::pair(5, 8));
}
// SPDX-License-Identifier: Apache-2.0
