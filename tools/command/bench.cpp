// `tofstream bench`: says where the benchmarks are, a program of their own.
#include "tools/command/commands.hpp"

namespace tofstream::command {

void add_bench(Command& app) {
  auto& command = app.add_command("bench", "Where the benchmarks are");
  command.hide();
  command.takes_anything();
  command.footer("Example: tofstream-bench runtime --help");
  command.on_run([] {
    throw InputError(
        "benchmarks are a program of their own, tofstream-bench, which a build has beside tofstream and an "
        "installation lacks: tofstream-bench --help");
  });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
