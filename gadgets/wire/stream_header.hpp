// The payload of a stream's header frame, for those who send simulated scans.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gadgets/io/petsird/header.hpp"

namespace tofstream {

/// The header for a scanner of share/scanners or of a YAML file; `delayeds`: the stream has those too. Throws
/// std::runtime_error where there is no such scanner.
petsird::Header stream_header(const std::string& scanner, double crystal_efficiency_spread, bool delayeds);

/// A PETSIRD stream up to the end of its header.
std::vector<std::byte> encode_stream_header(petsird::Header header);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
