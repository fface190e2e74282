// Whether the program runs under a sanitizer. The linker knows, not the compiler: tests that were compiled without one
// are linked with sanitized libraries (TOFSTREAM_TESTS_OF in cmake/TofstreamCompiler.cmake).
#pragma once

extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __tsan_init();
}

namespace tofstream {

inline bool runs_under_address_sanitizer() {
  return __asan_init != nullptr;
}

inline bool runs_under_thread_sanitizer() {
  return __tsan_init != nullptr;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
