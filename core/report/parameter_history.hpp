// Which live parameters were set during a run, and when: a history of bounded size, even if a slider moves for hours.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/value/value.hpp"

namespace tofstream {

// A live parameter that was set during the run.
struct ParameterChange {
  std::chrono::system_clock::time_point when;  // the value holds since
  std::string gadget;
  std::string parameter;
  Value value;
  // How many settings shortly before are one entry with this one, and when the first of them was.
  std::uint64_t joined = 0;
  std::chrono::system_clock::time_point first = when;
};

// Settings of one parameter within a second of the first of them are one entry, with the last value. When there are too
// many entries, that second doubles, also for the entries that are there. An entry's value is always one that held.
class ParameterHistory {
 public:
  explicit ParameterHistory(std::size_t most_entries = 500) : most_(most_entries) {}

  void add(ParameterChange change);
  // In the order of their first settings. There are more than `most_entries` only if as many parameters were set.
  const std::vector<ParameterChange>& changes() const { return changes_; }

 private:
  void join_or_append(ParameterChange change);

  std::size_t most_;
  std::chrono::system_clock::duration interval_ = std::chrono::seconds(1);
  std::vector<ParameterChange> changes_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
