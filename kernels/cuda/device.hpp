// The current CUDA device: what it has, and setting it up.
#pragma once

namespace tofstream {

/// Its streaming multiprocessors. Throws std::runtime_error with why_no_cuda() where there is no device.
int multiprocessors();

/// Begins to set the device up, once, beside what the caller does: that takes some 0.3 s, for which the first to use it
/// would wait. Nothing to do where there is none; what goes wrong is told to who uses it.
void set_up_device_ahead();

}  // namespace tofstream
