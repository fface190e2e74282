// What a server says of itself to who hands runs out: whether it takes more, how many it has, and what memory is left.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tofstream::serve {

/// Where runs go: a server's process, with the GPU that it uses.
struct Place {
  std::string name = {};         // "GPU 1"; empty where the address has one place
  std::string why_not = {};      // it takes no new runs: "it is stopping"; empty: it takes them
  std::size_t at_once = 1;       // runs
  std::size_t running = 0;       // runs now
  std::size_t waiting = 0;       // clients whose run has not begun
  std::size_t memory_bytes = 0;  // of the host, that its runs may need together
  std::size_t memory_free = 0;   // what its runs leave of that
  std::size_t gpu_bytes = 0;     // the same of its GPU; 0: it has none
  std::size_t gpu_free = 0;

  bool takes() const { return why_not.empty(); }
};

struct Health {
  std::string version = {};   // of the program
  std::string identity = {};  // of the process: two addresses of one server have the same
  std::vector<Place> places = {};
};

nlohmann::ordered_json to_json(const Health& health);
/// Throws BadMessage where the JSON is no health.
Health read_health(const nlohmann::ordered_json& json);

/// The sum of its places, as one.
Place sum_of(const std::vector<Place>& places);

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
