// Every CUDA call is checked: an error becomes an exception that names the call's purpose, the
// place and CUDA's reason.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

namespace tofstream {

/// Throws std::runtime_error unless `status` is cudaSuccess. `purpose` completes the sentence
/// "cannot ...".
inline void check_cuda(cudaError_t status, const char* purpose,
                       std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  const std::string file = where.file_name();
  throw std::runtime_error(std::string("CUDA: cannot ") + purpose + ": " + cudaGetErrorString(status) + " (" +
                           file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line()) + ")");
}

/// Checks the launch that was made just before.
inline void check_launch(const char* kernel, std::source_location where = std::source_location::current()) {
  check_cuda(cudaGetLastError(), kernel, where);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
