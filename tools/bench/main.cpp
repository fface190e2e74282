// `tofstream-bench`: the benchmarks that have registered, each a subcommand; and their options by CLI11, which is
// compiled here alone.
#include <CLI/CLI.hpp>

#include "tools/bench/bench.hpp"
#include "tools/command/freed_memory.hpp"
#include "tools/command/run_app.hpp"

namespace tofstream::command {

BenchOption& BenchOption::within(std::int64_t low, std::int64_t high) {
  option_.check(CLI::Range(low, high));
  return *this;
}

BenchOption& BenchOption::within(double low, double high) {
  option_.check(CLI::Range(low, high));
  return *this;
}

BenchOption& BenchOption::one_of(const std::vector<std::string>& values) {
  option_.check(CLI::IsMember(values));
  return *this;
}

BenchOption& BenchOption::expected(int values) {
  option_.expected(values);
  return *this;
}

BenchOption& BenchOption::shows_default() {
  option_.capture_default_str();
  return *this;
}

BenchOption& BenchOption::hide() {
  option_.group("");
  return *this;
}

BenchOption BenchLine::add_option(const char* names, std::string& value, const char* words) {
  return BenchOption(*command_.add_option(names, value, words));
}

BenchOption BenchLine::add_option(const char* names, std::vector<std::string>& values, const char* words) {
  return BenchOption(*command_.add_option(names, values, words));
}

BenchOption BenchLine::add_option(const char* names, std::vector<int>& values, const char* words) {
  return BenchOption(*command_.add_option(names, values, words));
}

BenchOption BenchLine::add_option(const char* names, int& value, const char* words) {
  return BenchOption(*command_.add_option(names, value, words));
}

BenchOption BenchLine::add_option(const char* names, std::int64_t& value, const char* words) {
  return BenchOption(*command_.add_option(names, value, words));
}

BenchOption BenchLine::add_option(const char* names, std::uint64_t& value, const char* words) {
  return BenchOption(*command_.add_option(names, value, words));
}

BenchOption BenchLine::add_option(const char* names, float& value, const char* words) {
  return BenchOption(*command_.add_option(names, value, words));
}

BenchOption BenchLine::add_option(const char* names, double& value, const char* words) {
  return BenchOption(*command_.add_option(names, value, words));
}

BenchOption BenchLine::add_flag(const char* names, bool& value, const char* words) {
  return BenchOption(*command_.add_flag(names, value, words));
}

void BenchLine::footer(const char* words) {
  command_.footer(words);
}

std::vector<Bench>& benches() {
  static std::vector<Bench> all;
  return all;
}

namespace {

void add(CLI::App& app, const Bench& bench) {
  CLI::App* command = app.add_subcommand(bench.name, bench.words);
  BenchLine line(*command);
  command->callback(bench.declare(line));
}

}  // namespace

}  // namespace tofstream::command

int main(int argc, char** argv) {
  using namespace tofstream::command;
  const FreedMemory freed_memory;
  CLI::App app{"tofstream-bench measures this machine.", "tofstream-bench"};
  app.require_subcommand(1);
  app.footer("tofstream-bench BENCHMARK --help shows each benchmark's options and an example.");
  std::ranges::sort(benches(), {}, [](const Bench& bench) { return std::string_view(bench.name); });
  for (const Bench& bench : benches()) add(app, bench);
  return run_app(app, argc, argv);
}
