// The program's own memory pools on CUDA devices.
#pragma once

#include <cuda_runtime_api.h>

namespace tofstream::detail {

/// The current device's pool, made when it is first asked for. It is never destroyed: a buffer may live as long as the
/// process. Throws std::runtime_error where CUDA refuses it.
cudaMemPool_t device_pool();

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
