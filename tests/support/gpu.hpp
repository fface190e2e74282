// How a test asks for a GPU: without one it says so and returns, or fails where TOFSTREAM_REQUIRE_GPU=1.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "kernels/types/memory.hpp"

namespace tofstream {

/// True where a CUDA device can be used. Otherwise prints 'skipped: no CUDA device' and returns false.
inline bool gpu_or_skip() {
  const std::string reason = why_no_cuda();
  if (reason.empty()) return true;
  const char* demanded = std::getenv("TOFSTREAM_REQUIRE_GPU");
  if (demanded && std::string(demanded) == "1") FAIL("TOFSTREAM_REQUIRE_GPU=1, but: ", reason);
  std::puts("skipped: no CUDA device");
  return false;
}

}  // namespace tofstream
