// The subcommands of `tofstream`. Each add_* declares its options and, as its callback, what it does; errors are
// exceptions.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/command/errors.hpp"

namespace tofstream::command {

void add_run(CLI::App& app);
void add_check(CLI::App& app);
void add_control(CLI::App& app);
void add_top(CLI::App& app);
void add_gadgets(CLI::App& app);
void add_graph(CLI::App& app);
void add_schema(CLI::App& app);
void add_simulate(CLI::App& app);
void add_record(CLI::App& app);
void add_replay(CLI::App& app);
void add_keys(CLI::App& app);
void add_serve(CLI::App& app);
void add_send(CLI::App& app);
void add_inspect(CLI::App& app);
void add_compare(CLI::App& app);
void add_analyse(CLI::App& app);
void add_view(CLI::App& app);
void add_profile(CLI::App& app);
void add_phantom(CLI::App& app);
void add_bench(CLI::App& app);
void add_new_gadget(CLI::App& app);
void add_completion(CLI::App& app);
void add_reference(CLI::App& app);

/// `--plugins DIR` of every command; loads plug-ins before a command that uses gadgets runs, and warns of each that is
/// skipped. Called after all other add_*.
void add_plugins(CLI::App& app);
/// `gadgets --plugins [DIR]`.
CLI::Option* add_plugin_list(CLI::App& command);
/// What `gadgets --plugins` prints: every plug-in found, loaded with its gadgets or skipped and why.
void print_plugins(bool json);

}  // namespace tofstream::command
