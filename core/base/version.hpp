// The version of this program, and what it was built from.
#pragma once
#include <string_view>

namespace tofstream {

std::string_view version();

// The commit that was checked out, with -dirty where files differed from it; "unknown" where there was no repository.
std::string_view commit();

// "Release, -O3 -DNDEBUG, CUDA"
std::string_view build_flags();

}  // namespace tofstream
