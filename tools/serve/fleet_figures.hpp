// What a server or a dispatcher tells Prometheus of the places where runs go.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/serve/health.hpp"

namespace tofstream::serve {

/// A server's address as a dispatcher has it, or a server itself.
struct ServerFigures {
  std::string name = {};  // empty: the server itself
  bool is_there = true;
  std::vector<Place> places = {};
  std::uint64_t begun = 0;     // runs, so far
  std::uint64_t refused = 0;   // clients that it did not take
  std::uint64_t vanished = 0;  // runs that were lost with it
};

/// In Prometheus' text format.
std::string metrics_text(const std::vector<ServerFigures>& servers);

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
