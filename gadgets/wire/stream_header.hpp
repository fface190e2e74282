// The payload of a stream's header frame, for those who send simulated scans.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tofstream {

/// A PETSIRD stream up to the end of its header, for a scanner of share/scanners or of a YAML file; `delayeds`: it has
/// those too. Throws std::runtime_error where there is no such scanner.
std::vector<std::byte> stream_header(const std::string& scanner, double crystal_efficiency_spread, bool delayeds);

}  // namespace tofstream
