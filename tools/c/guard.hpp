// What every call of the C interface goes through: an exception becomes a status and one line of text.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "tools/c/tofstream.h"

namespace tofstream::c_api {

/// An argument that cannot be, in one line that names it.
class Wrong : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A run that began and failed.
class RunFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Notes the exception in flight for tof_error().
tof_status note_exception() noexcept;

template <class Call>
tof_status guarded(Call&& call) noexcept {
  try {
    call();
    return TOF_OK;
  } catch (...) {
    return note_exception();
  }
}

/// Throws Wrong where a pointer is null.
void require_given(const void* pointer, const char* argument);
/// Throws Wrong where a struct's `size` is not one that this library knows.
void require_size(std::size_t size, std::size_t known, const char* type);

/// Throws Wrong unless the array, where there is one, lies in the backend's memory.
void require_memory(const void* pointer, bool on_device, const char* argument);

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
