// The size of nlohmann::ordered_map as GCC sees it, for libraries by clang that meet tests by GCC (TOFSTREAM_TESTS_OF):
// version 3.11 asks __has_attribute for [[no_unique_address]], to which clang says no, though it knows it.
#pragma once

#include <nlohmann/detail/macro_scope.hpp>

#undef JSON_NO_UNIQUE_ADDRESS
#define JSON_NO_UNIQUE_ADDRESS [[no_unique_address]]
// SPDX-License-Identifier: Apache-2.0
