#include "core/base/version.hpp"

#include "core/commit.hpp"  // generated

namespace tofstream {

static_assert(header_version == TOFSTREAM_VERSION, "core/base/version.hpp names another version than CMakeLists.txt");

std::string_view version() {
  return TOFSTREAM_VERSION;
}

std::string_view commit() {
  constexpr std::string_view checked_out = TOFSTREAM_COMMIT;
  return checked_out.empty() ? "unknown" : checked_out;
}

std::string_view build_flags() {
  return TOFSTREAM_BUILD_FLAGS;
}

std::string compiler() {
#ifdef __clang__
  return __VERSION__;  // it names itself
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
