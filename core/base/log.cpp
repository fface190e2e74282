#include "core/base/log.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "core/base/did_you_mean.hpp"
#include "core/base/printable.hpp"

namespace tofstream {
namespace {

// A message's text: whoever it comes from, it is one line and commands no terminal.
class PrintableText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& line) override {
    const std::string text = printable({message.payload.data(), message.payload.size()});
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<PrintableText>(); }
};

std::unique_ptr<spdlog::formatter> line_format() {
  auto format = std::make_unique<spdlog::pattern_formatter>();
  format->add_flag<PrintableText>('*').set_pattern("%H:%M:%S.%e %^%l%$ %*");
  return format;
}

}  // namespace

spdlog::logger& program_log() {
  static const std::shared_ptr<spdlog::logger> log = [] {
    auto made = std::make_shared<spdlog::logger>("tofstream", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_formatter(line_format());
    made->flush_on(spdlog::level::warn);
    return made;
  }();
  return *log;
}

void set_log_level(std::string_view level) {
  static const std::vector<std::string> levels{"trace", "debug", "info", "warning", "error", "off"};
  for (const std::string& known : levels)
    if (level == known) return program_log().set_level(spdlog::level::from_str(known));
  throw std::invalid_argument(fmt::format("unknown log level '{}': use one of {}{}", level, fmt::join(levels, ", "),
                                          did_you_mean(level, levels)));
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else {
      line += c;
    }
  }
  while (line.ends_with(' ')) line.pop_back();
  return printable(line);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
