// ZeroMQ endpoints that live streams may use.
#pragma once

#include <string>

namespace tofstream {

/// Throws std::invalid_argument, in one line, unless the endpoint is tcp://HOST:PORT or ipc://PATH, and stays on this
/// machine (a loopback address, or ipc) where there are no keys: patients' events go no further in the open.
void require_endpoint(const std::string& endpoint, bool has_keys);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
