#include "core/version.hpp"

#include "core/abi.hpp"

namespace tofstream {

static_assert(header_version == TOFSTREAM_VERSION, "core/abi.hpp names another version than CMakeLists.txt");

std::string_view version() {
  return TOFSTREAM_VERSION;
}

}  // namespace tofstream
