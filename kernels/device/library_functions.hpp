// The functions of a library that is loaded when it is first asked for.
#pragma once

#include <stdexcept>
#include <string>

#include <dlfcn.h>

namespace tofstream {

class LibraryFunctions {
 public:
  /// `library`: from dlopen(). `called`: the library, `guess`: what may be wrong with it, as messages have them.
  LibraryFunctions(void* library, const char* called, const char* guess)
      : library_(library), called_(called), guess_(guess) {}

  /// Throws std::runtime_error where the library has no function of this name.
  template <class Function>
  void find(Function*& function, const char* name) const {
    void* const symbol = ::dlsym(library_, name);
    if (!symbol)
      throw std::runtime_error(std::string("this machine's ") + called_ + " has no function " + name + ": " + guess_);
    function = reinterpret_cast<Function*>(symbol);
  }

 private:
  void* library_;
  const char *called_, *guess_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
