// What the PETSIRD reader and writer throw: one line that says where, what, and what to do.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace tofstream::petsird {

/// A stream, schema or header that cannot be used; what() is one line for the user, whatever names a stream holds.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string what) : std::runtime_error(one_line(std::move(what))) {}

 private:
  static std::string one_line(std::string text) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    std::replace_if(text.begin(), text.end(), is_control, ' ');
    return text;
  }
};

/// Bad data, thrown where the place in the stream is not known; the decoder makes it an Error that
/// says.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
