// Fuzzes requests to a run: arbitrary bytes, or a value in an otherwise correct request, must be either a request that
// is read back the same from its own line, or refused in one line.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/watch/control_message.hpp"

using namespace tofstream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > longest_control_request) return 0;
  std::string line(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1)
    line = R"({"version": 1, "do": "set", "gadget": "corrected", "parameter": "low_keV", "value": )" + line + "}";
  ControlRequest request;
  try {
    request = parse_control_request(line);
  } catch (const BadRequest& bad) {
    const std::string why = bad.what();
    if (why.empty() || why.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const std::string again = control_request_line(request);
  const ControlRequest twice = parse_control_request(again.substr(0, again.size() - 1));
  if (control_request_line(twice) != again) std::abort();
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
