// How a test asks for a GPU: without one it says so and returns, or fails if TOFSTREAM_REQUIRE_GPU=1.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "kernels/memory/memory.hpp"
#include "tests/support/skip.hpp"

namespace tofstream {

/// True where a CUDA device can be used; otherwise the test must return.
inline bool gpu_or_skip() {
  const std::string reason = why_no_cuda();
  uses_gpu() = reason.empty();
  if (uses_gpu()) return true;
  MESSAGE(reason);
  skip_test("CUDA device", "TOFSTREAM_REQUIRE_GPU");
  return false;
}

/// While it lives, commands that a test runs find no GPU.
class WithoutGpu {
 public:
  WithoutGpu() {
    if (const char* set = std::getenv(name)) before_ = set;
    ::setenv(name, "", 1);
  }
  ~WithoutGpu() {
    if (before_)
      ::setenv(name, before_->c_str(), 1);
    else
      ::unsetenv(name);
  }
  WithoutGpu(const WithoutGpu&) = delete;
  WithoutGpu& operator=(const WithoutGpu&) = delete;

 private:
  static constexpr const char* name = "CUDA_VISIBLE_DEVICES";
  std::optional<std::string> before_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
