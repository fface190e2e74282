#include "core/version.hpp"

namespace tofstream {

std::string_view version() {
  return TOFSTREAM_VERSION;
}

}  // namespace tofstream
