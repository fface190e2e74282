// What nearly every source of the tools includes, compiled once a program. Sources include what they need all the same.
#pragma once
#include <nlohmann/json.hpp>

#include "cmake/precompiled.hpp"
// SPDX-License-Identifier: Apache-2.0
