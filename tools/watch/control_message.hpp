// What is said through a run's control socket: JSON objects, a line each (share/doc/operating.md).
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/run/run_control.hpp"

namespace tofstream {

inline constexpr int control_version = 1;
/// A longer request is refused, its connection closed.
inline constexpr std::size_t longest_control_request = 64 * 1024;

enum class ControlAction { status, parameters, set, stop, abort };

struct ControlRequest {
  ControlAction action = ControlAction::status;
  std::string gadget, parameter;  // of set
  Value value;                    // of set
};

/// What is wrong with a request, in one line.
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A request as it came, without its end of line: `{"version": 1, "do": "set", "gadget": "corrected", "parameter":
/// "low_keV", "value": 440}`. Throws BadRequest for anything else: no JSON, unknown or missing keys, another version.
ControlRequest parse_control_request(std::string_view line);

/// The request as a line, its end included.
std::string control_request_line(const ControlRequest& request);

/// Does what the request asks and says how it went: {"version": 1, "ok": true, ...}, or "ok": false and "errors", a
/// list of lines.
nlohmann::ordered_json answer_control_request(RunControl& run, const ControlRequest& request);

/// The answer to a request that could not be read.
nlohmann::ordered_json refuse_control_request(std::string_view why);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
