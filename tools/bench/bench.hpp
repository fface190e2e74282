// What benchmarks share: a line of options that needs no CLI11, their registration, and what becomes of their results.
// Each is a file bench_NAME.cpp, which nothing lists.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/gadget/registry.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tofstream::command {

/// An option that was added, to which limits may be given: what is outside is told to the user, and ends with 2.
class BenchOption {
 public:
  explicit BenchOption(CLI::Option& option) : option_(option) {}

  BenchOption& within(std::int64_t low, std::int64_t high);
  BenchOption& within(double low, double high);
  template <std::integral Low, std::integral High>
  BenchOption& within(Low low, High high) {
    return within(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
  }
  BenchOption& one_of(const std::vector<std::string>& values);
  BenchOption& expected(int values);  // so many, no fewer and no more
  BenchOption& shows_default();
  BenchOption& hide();  // no help shows it

 private:
  CLI::Option& option_;
};

/// The line of a benchmark. Values that options are added for hold their defaults, and live as long as the line.
class BenchLine {
 public:
  explicit BenchLine(CLI::App& command) : command_(command) {}

  BenchOption add_option(const char* names, std::string& value, const char* words);
  BenchOption add_option(const char* names, std::vector<std::string>& values, const char* words);
  BenchOption add_option(const char* names, std::vector<int>& values, const char* words);
  BenchOption add_option(const char* names, int& value, const char* words);
  BenchOption add_option(const char* names, std::int64_t& value, const char* words);
  BenchOption add_option(const char* names, std::uint64_t& value, const char* words);
  BenchOption add_option(const char* names, float& value, const char* words);
  BenchOption add_option(const char* names, double& value, const char* words);
  BenchOption add_flag(const char* names, bool& value, const char* words);
  /// Examples and exit codes, below the options.
  void footer(const char* words);

 private:
  CLI::App& command_;
};

/// Adds the options of a benchmark; what it returns is called when they have been read.
using DeclareBench = std::function<void()> (*)(BenchLine&);

struct Bench {
  const char* name;
  const char* words;
  DeclareBench declare;
};

/// All that have been registered, to which a registration adds.
std::vector<Bench>& benches();

struct BenchRegistration {
  explicit BenchRegistration(const Bench& bench) { benches().push_back(bench); }
};

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
void add_wrong_option(BenchLine& line, double& share);

}  // namespace tofstream::command

/// Registers `tofstream-bench NAME` with a line of documentation and what declares its options.
#define TOFSTREAM_BENCH(name, words, declare)                                               \
  const ::tofstream::command::BenchRegistration TOFSTREAM_UNIQUE_NAME(                      \
      bench_registration_, __COUNTER__)(::tofstream::command::Bench{name, words, declare}); \
  static_assert(true, "TOFSTREAM_BENCH is followed by a semicolon")
