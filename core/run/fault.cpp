#include "core/run/fault.hpp"

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

namespace tofstream {
namespace {

void delay(double milliseconds, const std::function<bool()>& go_on) {
  using Steady = std::chrono::steady_clock;
  const auto until = Steady::now() + std::chrono::duration_cast<Steady::duration>(
                                         std::chrono::duration<double, std::milli>(milliseconds));
  constexpr std::chrono::milliseconds look_around{5};
  while (go_on() && Steady::now() < until)
    std::this_thread::sleep_until(std::min(until, Steady::now() + Steady::duration(look_around)));
}

}  // namespace

Fate meet_fault(const FaultSettings& fault, std::uint64_t number, const std::function<bool()>& go_on) {
  if (fault.delay_ms > 0 && fault.delay_at.value_or(number) == number) delay(fault.delay_ms, go_on);
  if (fault.kill_at == number) std::raise(SIGKILL);
  if (fault.throw_at == number) throw std::runtime_error(fmt::format("fault: throw_at {}, as asked for", number));
  if (fault.drop_at == number) return Fate::drop;
  return fault.duplicate_at == number ? Fate::duplicate : Fate::pass;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
