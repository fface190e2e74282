// ZeroMQ endpoints that live streams may use.
#pragma once

#include <string>

namespace tofstream {

/// Throws std::invalid_argument, in one line, unless the endpoint stays on this machine: ipc://PATH, or tcp:// with a
/// loopback address and a port. What patients' events travel over in the open is no more than that.
void require_local_endpoint(const std::string& endpoint);

}  // namespace tofstream
