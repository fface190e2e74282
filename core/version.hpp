// The version of this program.
#pragma once
#include <string_view>

namespace tofstream {

std::string_view version();

}  // namespace tofstream
