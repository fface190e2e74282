// Built for another ABI, and fatal were any of it run.
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
