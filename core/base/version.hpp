// The version of this program, and what it was built from.
#pragma once
#include <string>
#include <string_view>

namespace tofstream {

// The version that the headers belong to; version.cpp compares it with CMake's.
inline constexpr std::string_view header_version = "0.1.0";

std::string_view version();

// The commit that was checked out, with -dirty if files differed from it; "unknown" if there was no repository.
std::string_view commit();

// "Release, kernels -O3 -DNDEBUG, CUDA 13.0.48"
std::string_view build_flags();

// "GCC 12.2.0", "Clang 14.0.6"
std::string compiler();

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
