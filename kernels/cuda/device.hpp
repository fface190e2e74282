// What the current CUDA device has.
#pragma once

namespace tofstream {

/// Its streaming multiprocessors. Throws std::runtime_error with why_no_cuda() where there is no device.
int multiprocessors();

}  // namespace tofstream
