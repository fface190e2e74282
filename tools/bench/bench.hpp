// What benchmarks share: their registration, and the output of their results. Each is a file bench_NAME.cpp, which
// nothing lists.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/gadget/registry.hpp"
#include "tools/command/command_line.hpp"

namespace tofstream::command {

/// Adds the options of a benchmark; the returned function is called when they have been read.
using DeclareBench = std::function<void()> (*)(Command&);

struct Bench {
  const char* name;
  const char* words;
  DeclareBench declare;
};

/// All registered benchmarks, to which a registration adds.
std::vector<Bench>& benches();

struct BenchRegistration {
  explicit BenchRegistration(const Bench& bench) { benches().push_back(bench); }
};

inline double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// The middle of several measurements; not empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Prints the report as JSON if asked for, and writes it to `output` unless that is empty. Throws std::runtime_error.
void write_report(const nlohmann::ordered_json& report, bool print, const std::string& output);

/// If rows do not hold (verdict.hpp), names them on stderr and throws ExitWith{1}.
void end_by_verdict(const nlohmann::ordered_json& rows, const std::vector<std::string>& name_keys);

/// --wrong SHARE, hidden in help: makes results too large by that share, to test that a benchmark notices.
void add_wrong_option(Command& line, double& share);

}  // namespace tofstream::command

/// Registers `tofstream-bench NAME` with a line of documentation and the function that declares its options.
#define TOFSTREAM_BENCH(name, words, declare)                                               \
  const ::tofstream::command::BenchRegistration TOFSTREAM_UNIQUE_NAME(                      \
      bench_registration_, __COUNTER__)(::tofstream::command::Bench{name, words, declare}); \
  static_assert(true, "TOFSTREAM_BENCH is followed by a semicolon")
// SPDX-License-Identifier: Apache-2.0
