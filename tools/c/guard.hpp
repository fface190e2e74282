// What every call of the C interface goes through: an exception becomes a status and one line of text.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include <cxxabi.h>

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

/// Makes a call of the host's; false where an exception of C++ left it. The end of its thread goes on its way.
template <class Call>
bool returns(Call&& call) {
  try {
    call();
    return true;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return false;
  }
}

/// Handles that this library gave and that were not dropped yet: a handle that is used again after that is an error, not
/// a crash.
void note_handle(const void* made);
bool is_handle(const void* handle);
/// Whether it was one.
bool forget_handle(const void* handle);
/// Throws Wrong where a handle is null or was dropped.
void require_handle(const void* handle, const char* argument);

/// Throws Wrong where a pointer is null.
void require_given(const void* pointer, const char* argument);
/// Throws Wrong unless a struct's `size` is between that of its first version and the one that this library knows.
void require_size(std::size_t size, std::size_t first, std::size_t known, const char* argument);

/// The caller's struct as this library knows it: members that the caller's version has not are 0. `first`: its size in
/// its first version. Throws Wrong for another size.
template <class Struct>
Struct adopted(const Struct& given, const char* argument, std::size_t first = sizeof(Struct)) {
  require_size(given.size, first, sizeof(Struct), argument);
  Struct known{};
  std::memcpy(&known, &given, given.size);
  return known;
}

/// Throws Wrong unless the array, where there is one, lies in the backend's memory.
void require_memory(const void* pointer, bool on_device, const char* argument);

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
