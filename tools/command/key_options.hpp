// `--key`, `--server-key` and `--allowed-keys` of commands that talk over ZeroMQ.
#pragma once

#include "gadgets/wire/socket_guard.hpp"
#include "tools/command/command_line.hpp"

namespace tofstream::command {

/// Options that fill `keys`; `can_bind` and `can_connect` say which ends the command may be.
inline void add_key_options(Command& command, KeyParams& keys, bool can_bind, bool can_connect) {
  command.add_option("--key", keys.own, "This end's secret key, NAME.secret.yaml of 'tofstream keys new'");
  if (can_connect)
    command.add_option("--server-key", keys.server,
                       "The public key of the other side, to which this connects: NAME.public.yaml");
  if (can_bind)
    command.add_option("--allowed-keys", keys.allowed,
                       "The public key, or a folder of them, of those who may connect here");
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
