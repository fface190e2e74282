// Built for another ABI; running any of it would be fatal.
#include <cstdlib>

#include "core/plugin/abi.hpp"

namespace {

__attribute__((section(".tofstream"), used)) constexpr tofstream::PluginRecord record = [] {
  tofstream::PluginRecord made = tofstream::plugin_record("plugin_future");
  made.abi = 99;
  return made;
}();

const struct Fatal {
  Fatal() { std::abort(); }
} fatal;

}  // namespace
// SPDX-License-Identifier: Apache-2.0
