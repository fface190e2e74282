// What the PETSIRD reader and writer throw: one line that says where, what, and what to do.
#pragma once

#include <stdexcept>

namespace tofstream::petsird {

/// A stream, schema or header that cannot be used; what() is one line for the user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad data, thrown where the place in the stream is not known; the decoder makes it an Error that
/// says.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tofstream::petsird
