// What nearly every test includes, compiled once.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
// SPDX-License-Identifier: Apache-2.0
