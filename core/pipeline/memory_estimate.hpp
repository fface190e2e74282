// Estimates how much host and GPU memory a checked pipeline needs, before anything is constructed: what gadgets hold,
// and the messages that may wait on its edges.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/pipeline/pipeline.hpp"

namespace tofstream {

// Bytes that are needed in any case, and when every edge is full.
struct MemoryBounds {
  std::size_t at_least = 0;
  std::size_t at_most = 0;
};

struct GadgetMemory {
  std::string name;
  std::string use;
  bool says = false;      // the gadget declares its need
  bool is_limit = false;  // the data decide, and it is at most this
  MemoryNeed need;
  std::size_t host_bytes = 0;  // held, with what its parallel calls take at a time
  std::size_t kept_bytes = 0;  // where there is room; 0: none, or not known
};

// At most min(bytes, messages x bytes of a message); if a message's size is unknown, the edge's limit in bytes.
struct EdgeMemory {
  std::string name;
  std::string reader;
  std::string input;  // empty where the reader has one
  std::size_t message_bytes = 0;
  std::size_t at_most = 0;
  bool is_known = false;
  bool on_device = false;
  bool spills = false;
};

struct MemoryEstimate {
  std::string pipeline;
  std::vector<GadgetMemory> gadgets;
  std::vector<EdgeMemory> edges;
  MemoryBounds host, device;
};

// The memory that there is; no device if there is none or it cannot be asked.
struct MachineMemory {
  std::size_t host_bytes = 0;
  std::optional<std::size_t> device_bytes;
};

// One message of each writer is needed in any case, since it exists before it is read.
MemoryEstimate estimate_memory(const Pipeline& pipeline);

// The machine's memory, or the control group's limit if that is lower.
std::size_t host_memory_bytes();

// Whether it fits. It is an error if it certainly does not, a warning if it may not once edges are full. Each says
// which gadget or edge needs most and what to lower.
struct MemoryVerdict {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};
MemoryVerdict compare_memory(const MemoryEstimate& estimate, const MachineMemory& machine);

// "1.5 GiB"
std::string bytes_in_words(std::size_t bytes);

// For people: a line for each gadget and each edge, and the totals.
std::string memory_table(const MemoryEstimate& estimate, const MachineMemory& machine);
// The same for programs: {"gadgets", "edges", "host": {at_least, at_most}, "device", "machine"}, in bytes.
nlohmann::ordered_json memory_json(const MemoryEstimate& estimate, const MachineMemory& machine);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
