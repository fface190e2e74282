// Whether an address stays on this machine: what listens without keys or passwords must.
#pragma once

#include <string>

namespace tofstream {

/// True for localhost, 127.x.x.x and ::1, with or without brackets; false for anything else, names of hosts included.
bool is_loopback(std::string host);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
