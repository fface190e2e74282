// Exceptions to statuses: see guard.hpp.
#include "tools/c/guard.hpp"

#include <filesystem>
#include <mutex>
#include <new>
#include <unordered_set>

#include <fmt/format.h>

#include "core/base/log.hpp"
#include "core/base/version.hpp"
#include "core/value/value.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/memory/pointer_place.hpp"

namespace tofstream::c_api {
namespace {

thread_local std::string last_error;

class Handles {
 public:
  void add(const void* handle) {
    const std::lock_guard lock(mutex_);
    live_.insert(handle);
  }
  bool remove(const void* handle) {
    const std::lock_guard lock(mutex_);
    return live_.erase(handle) > 0;
  }
  bool has(const void* handle) {
    const std::lock_guard lock(mutex_);
    return live_.contains(handle);
  }

 private:
  std::mutex mutex_;
  std::unordered_set<const void*> live_;
};

// Never destroyed: a host drops handles while it ends.
Handles& live_handles() {
  static Handles& handles = *new Handles;
  return handles;
}

tof_status noted(tof_status status, std::string_view text) noexcept {
  try {
    last_error = one_line(text);
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return status;
}

}  // namespace

tof_status note_exception() noexcept {
  try {
    throw;
  } catch (const Wrong& error) {
    return noted(TOF_INVALID, error.what());
  } catch (const RunFailed& error) {
    return noted(TOF_FAILED, error.what());
  } catch (const OutOfMemory& error) {
    return noted(TOF_NO_MEMORY, error.what());
  } catch (const std::bad_alloc&) {
    return noted(TOF_NO_MEMORY, "the host's memory is exhausted");
  } catch (const std::filesystem::filesystem_error& error) {
    return noted(TOF_FILE, error.what());
  } catch (const std::system_error& error) {
    return noted(TOF_FILE, error.what());
  } catch (const std::logic_error& error) {  // std::invalid_argument too
    return noted(TOF_INVALID, error.what());
  } catch (const std::runtime_error& error) {  // a missing GPU, a file that is wrong
    return noted(why_no_cuda() == error.what() ? TOF_NO_DEVICE : TOF_FILE, error.what());
  } catch (const std::exception& error) {
    return noted(TOF_INTERNAL, error.what());
  } catch (...) {
    return noted(TOF_INTERNAL, "an exception of an unknown kind");
  }
}

void note_handle(const void* made) {
  live_handles().add(made);
}

bool is_handle(const void* handle) {
  return live_handles().has(handle);
}

bool forget_handle(const void* handle) {
  return live_handles().remove(handle);
}

void require_handle(const void* handle, const char* argument) {
  require_given(handle, argument);
  if (!is_handle(handle)) throw Wrong(fmt::format("{} is no handle of this library, or was dropped before", argument));
}

void require_given(const void* pointer, const char* argument) {
  if (!pointer) throw Wrong(fmt::format("{} is null", argument));
}

void require_size(std::size_t size, std::size_t first, std::size_t known, const char* argument) {
  if (size >= first && size <= known) return;
  throw Wrong(
      fmt::format("{}.size is {}, and this library ({}) knows {}: set it to sizeof, and use one version of header "
                  "and library",
                  argument, size, version(), known));
}

void require_memory(const void* pointer, bool on_device, const char* argument) {
  if (!pointer) return;
  const PointerPlace place = place_of(pointer);
  if (place == PointerPlace::other_device)
    throw Wrong(fmt::format("{} lies on another CUDA device than the current one", argument));
  if ((place == PointerPlace::device) == on_device) return;
  throw Wrong(
      fmt::format("{} lies in {} memory, and the operator works {}: give it an array there, or make it with the "
                  "other backend",
                  argument, on_device ? "the host's" : "the GPU's", on_device ? "on the GPU" : "on the CPU"));
}

}  // namespace tofstream::c_api

using namespace tofstream;

extern "C" {

int32_t tof_api_version(void) {
  return TOF_API_VERSION;
}

const char* tof_version(void) {
  static const std::string text(version());
  return text.c_str();
}

const char* tof_error(void) {
  return c_api::last_error.c_str();
}

const char* tof_why_no_cuda(void) {
  static const std::string why = why_no_cuda();
  return why.c_str();
}

}  // extern "C"
// SPDX-License-Identifier: Apache-2.0
