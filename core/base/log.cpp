#include "core/base/log.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "core/base/did_you_mean.hpp"

namespace tofstream {

spdlog::logger& program_log() {
  static const std::shared_ptr<spdlog::logger> log = [] {
    auto made = std::make_shared<spdlog::logger>("tofstream", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%H:%M:%S.%e %^%l%$ %v");
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
  return line;
}

}  // namespace tofstream
