// `--key`, `--server-key` and `--allowed-keys` of commands that talk over ZeroMQ.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "gadgets/wire/socket_guard.hpp"

namespace tofstream::command {

/// Options that fill `keys`; `can_bind` and `can_connect` say which ends the command may be.
inline void add_key_options(CLI::App& command, KeyParams& keys, bool can_bind, bool can_connect) {
  command.add_option("--key", keys.own, "This end's secret key, NAME.secret.yaml of 'tofstream keys new'");
  if (can_connect)
    command.add_option("--server-key", keys.server, "The public key of whom this connects to, NAME.public.yaml");
  if (can_bind)
    command.add_option("--allowed-keys", keys.allowed,
                       "The public key, or a folder of them, of those who may connect here");
}

/// The same as `--set` of a gadget that has them.
inline std::vector<std::string> key_sets(const std::string& gadget, const KeyParams& keys) {
  std::vector<std::string> sets;
  const auto add = [&](const char* name, const std::filesystem::path& file) {
    if (!file.empty()) sets.push_back(gadget + ".keys." + name + "=" + file.string());
  };
  add("own", keys.own);
  add("server", keys.server);
  add("allowed", keys.allowed);
  return sets;
}

}  // namespace tofstream::command
