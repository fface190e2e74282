// A shared library whose functions are looked up by name.
#pragma once

#include <stdexcept>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>

namespace tofstream::command {

class SharedLibrary {
 public:
  /// Throws std::runtime_error if it cannot be loaded. It is never unloaded (RTLD_NODELETE), since its OpenMP threads
  /// or GPU objects may outlive every call.
  explicit SharedLibrary(const std::string& path)
      : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (!handle_) throw std::runtime_error(::dlerror());
  }
  ~SharedLibrary() { ::dlclose(handle_); }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  bool has(const char* name) const { return ::dlsym(handle_, name) != nullptr; }
  /// The function of that name, which must have the given type. Throws std::runtime_error if there is none.
  template <class Function>
  Function* function(const char* name) const {
    void* symbol = ::dlsym(handle_, name);
    if (!symbol) throw std::runtime_error(fmt::format("it has no function {}", name));
    return reinterpret_cast<Function*>(symbol);
  }

 private:
  void* handle_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
