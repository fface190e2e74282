// `tofstream`: the command. Runs one subcommand; exit code 0 done, 1 failed while running, 2 wrong input, 130 aborted.
#include <csignal>

#include "tools/command/commands.hpp"
#include "tools/command/freed_memory.hpp"
#include "tools/command/rank_command.hpp"
#include "tools/command/run_app.hpp"

int main(int argc, char** argv) {
  using namespace tofstream::command;
  const FreedMemory freed_memory;
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on files' sizes is told as a full disk is, by what cannot be written
  Program app("tofstream", "tofstream reconstructs PET images from a stream of list-mode events.");
  app.footer(
      "Example: tofstream run simulate_osem --out results\n"
      "tofstream COMMAND --help shows each command's options and examples.");
  add_run(app);
  add_check(app);
  add_control(app);
  add_top(app);
  add_gadgets(app);
  add_graph(app);
  add_schema(app);
  add_list(app);
  add_docs(app);
  add_simulate(app);
  add_record(app);
  add_replay(app);
  add_keys(app);
  add_serve(app);
  add_dispatch(app);
  add_send(app);
  add_inspect(app);
  add_compare(app);
  add_analyse(app);
  add_view(app);
  add_profile(app);
  add_phantom(app);
  add_mu_map(app);
  add_normalise(app);
  add_header(app);
  add_kappa(app);
  add_psf(app);
  add_convert(app);
  add_bench(app);
  add_new_gadget(app);
  add_completion(app);
  add_complete(app);
  add_reference(app);
  add_plugins(app);
  return run_app(app, argc, argv, collectives_in_words);
}
// SPDX-License-Identifier: Apache-2.0
