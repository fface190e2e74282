// `tofstream bench`: says where the benchmarks are, a program of their own.
#include "tools/command/commands.hpp"

namespace tofstream::command {

void add_bench(CLI::App& app) {
  auto* command = app.add_subcommand("bench", "Where the benchmarks are");
  command->group("");  // not in the list of commands
  command->fallthrough(false);
  command->allow_extras();
  command->callback([] {
    throw InputError(
        "benchmarks are a program of their own, tofstream-bench, which a build has beside tofstream and an "
        "installation lacks: tofstream-bench --help");
  });
}

}  // namespace tofstream::command
