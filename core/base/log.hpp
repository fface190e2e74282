// The program's log: one line a message to stderr, by spdlog; the level is the user's choice.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

namespace tofstream {

// The one logger, made at first use.
spdlog::logger& program_log();

// "trace", "debug", "info", "warning", "error" or "off"; throws std::invalid_argument for anything
// else.
void set_log_level(std::string_view level);

// Text with its line breaks replaced, so that one message stays one line.
std::string one_line(std::string_view text);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
