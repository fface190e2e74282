// `tofstream-bench`: the benchmarks that have registered, each a subcommand.
#include "tools/bench/bench.hpp"
#include "tools/command/freed_memory.hpp"
#include "tools/command/run_app.hpp"

namespace tofstream::command {

std::vector<Bench>& benches() {
  static std::vector<Bench> all;
  return all;
}

}  // namespace tofstream::command

int main(int argc, char** argv) {
  using namespace tofstream::command;
  const FreedMemory freed_memory;
  Program program("tofstream-bench", "tofstream-bench measures this machine.");
  program.footer("tofstream-bench BENCHMARK --help shows each benchmark's options and an example.");
  std::ranges::sort(benches(), {}, [](const Bench& bench) { return std::string_view(bench.name); });
  for (const Bench& bench : benches()) {
    Command& command = program.add_command(bench.name, bench.words);
    command.on_run(bench.declare(command));
  }
  return run_app(program, argc, argv);
}
// SPDX-License-Identifier: Apache-2.0
