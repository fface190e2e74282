// What ends a command with another code than 0: exceptions, which run_app turns into a line and an exit code.
#pragma once

#include <exception>
#include <stdexcept>

namespace tofstream::command {

/// What the user gave is wrong: exit 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A run that ended with another code than 0, already reported.
struct ExitWith {
  int code;
};

/// Runs `read` and turns whatever it throws into an InputError: for commands that do nothing but read what they are
/// given.
template <class Read>
auto from_input(Read&& read) {
  try {
    return read();
  } catch (const std::exception& error) {
    throw InputError(error.what());
  }
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
