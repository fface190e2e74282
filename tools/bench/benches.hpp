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

/// Where a row does not hold (verdict.hpp), names them on stderr and throws ExitWith{1}.
void end_by_verdict(const nlohmann::ordered_json& rows, const std::vector<std::string>& name_keys);

/// --wrong SHARE, which no help shows: results too large by that share, for tests of what a benchmark says to it.
void add_wrong_option(CLI::App& command, double& share);

}  // namespace tofstream::command
