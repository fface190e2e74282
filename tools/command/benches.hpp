// What the benchmarks of `tofstream bench` share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace tofstream::command {

void add_bench_runtime(CLI::App& bench);
void add_bench_ingest(CLI::App& bench);
void add_bench_jpet(CLI::App& bench);
void add_bench_python(CLI::App& bench);
void add_bench_listmode(CLI::App& bench);
void add_bench_longlist(CLI::App& bench);
void add_bench_tor(CLI::App& bench);
void add_bench_sensitivity(CLI::App& bench);

/// The middle of several measurements; not empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Prints the report as JSON where asked for, and writes it to `output` unless that is empty. Throws
/// std::runtime_error.
void write_report(const nlohmann::ordered_json& report, bool print, const std::string& output);

}  // namespace tofstream::command
