// What nearly every source of the tools includes, compiled once a program. Sources include what they need all the same.
#pragma once
#include "cmake/precompiled.hpp"

#include <nlohmann/json.hpp>
// SPDX-License-Identifier: Apache-2.0
