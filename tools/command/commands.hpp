// The subcommands of `tofstream`. Each add_* declares its options and, as its callback, what it does; errors are
// exceptions.
#pragma once

#include "tools/command/command_line.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

void add_run(Command& app);
void add_check(Command& app);
void add_control(Command& app);
void add_top(Command& app);
void add_gadgets(Command& app);
void add_graph(Command& app);
void add_schema(Command& app);
void add_list(Command& app);
void add_docs(Command& app);
void add_simulate(Command& app);
void add_record(Command& app);
void add_replay(Command& app);
void add_keys(Command& app);
void add_serve(Command& app);
void add_dispatch(Command& app);
void add_send(Command& app);
void add_inspect(Command& app);
void add_compare(Command& app);
void add_analyse(Command& app);
void add_view(Command& app);
void add_profile(Command& app);
void add_phantom(Command& app);
void add_mu_map(Command& app);
void add_normalise(Command& app);
void add_header(Command& app);
void add_kappa(Command& app);
void add_psf(Command& app);
void add_convert(Command& app);
void add_bench(Command& app);
void add_new_gadget(Command& app);
void add_completion(Command& app);
void add_complete(Command& app);
void add_reference(Command& app);

/// `--plugins DIR` of every command; loads plug-ins before a command that uses gadgets runs, and warns of each that is
/// skipped. Called after all other add_*.
void add_plugins(Program& program);
/// `gadgets --plugins [DIR]`.
const Option& add_plugin_list(Command& command);
/// What `gadgets --plugins` prints: every plug-in found, loaded with its gadgets or skipped and why.
void print_plugins(bool json);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
