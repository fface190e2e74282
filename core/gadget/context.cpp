#include "core/gadget/context.hpp"

#include <numeric>

#include "core/base/log.hpp"
#include "core/base/muted_log.hpp"

namespace tofstream {
namespace {

std::uint64_t total(const std::map<std::string, std::uint64_t>& by_reason) {
  return std::accumulate(by_reason.begin(), by_reason.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

}  // namespace

std::uint64_t BookEntries::rejected_total() const {
  return total(rejected);
}
std::uint64_t BookEntries::lost_total() const {
  return total(lost);
}

void Logger::debug(std::string_view text) const {
  if (!MutedLog::is_on()) program_log().debug("{}: {}", *name_, one_line(text));
}
void Logger::info(std::string_view text) const {
  if (!MutedLog::is_on()) program_log().info("{}: {}", *name_, one_line(text));
}
void Logger::warning(std::string_view text) const {
  if (!MutedLog::is_on()) program_log().warn("{}: {}", *name_, one_line(text));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
