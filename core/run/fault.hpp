// The fault that `fault: {...}` asks for, at one message of one gadget.
#pragma once
#include <cstdint>
#include <functional>

#include "core/pipeline/pipeline.hpp"

namespace tofstream {

enum class Fate { pass, drop, duplicate };

// What happens to message `number` of a gadget. It first delays, as long as `go_on` returns true; then throws
// std::runtime_error at throw_at, and does not return at kill_at.
Fate meet_fault(const FaultSettings& fault, std::uint64_t number, const std::function<bool()>& go_on);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
