// What a Python process says besides its replies, and every way in which it fails, each as one line: see session.hpp.
#include <chrono>
#include <csignal>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/python/session.hpp"

namespace tofstream {

namespace {

constexpr std::size_t kept_lines = 64;

}  // namespace

void PythonSession::log_line(bool is_error, std::string_view line) {
  if (is_error) {
    log_.warning(line);
    const std::lock_guard lock(lines_mutex_);
    error_lines_.emplace_back(line);
    if (error_lines_.size() > kept_lines) error_lines_.pop_front();
  } else {
    log_.info(line);
  }
}

std::string PythonSession::last_error_line() {
  const std::lock_guard lock(lines_mutex_);
  for (auto line = error_lines_.rbegin(); line != error_lines_.rend(); ++line)
    if (line->find_first_not_of(" \t\r") != std::string::npos) return *line;
  return {};
}

void PythonSession::fail_dead() {
  child_->wait(std::chrono::seconds(1));
  const std::string end = child_->how_ended();
  const std::string how = "the Python process " + (end.empty() ? "has closed its connection" : end);
  const std::string script = settings_.script.filename().string();
  if (is_ready_) throw std::runtime_error(fmt::format("{}: {}", script, how));
  const std::string last = last_error_line();
  throw std::runtime_error(
      fmt::format("{} before it was ready{}{} ({} -m tofstream.worker {})", how, last.empty() ? "" : ": ",
                  last.starts_with("ImportError: ") ? last.substr(13) : last, settings_.python, script));
}

// The process writes its stack to standard error at SIGUSR1, the latest call first, even from within a C library.
std::string PythonSession::place_of_hang() {
  child_->signal(SIGUSR1);
  child_->wait(std::chrono::milliseconds(300));
  const std::string mark = fmt::format("File \"{}\", line ", settings_.script.string());
  const std::lock_guard lock(lines_mutex_);
  for (const std::string& line : error_lines_)
    if (const auto at = line.find(mark); at != std::string::npos)
      return fmt::format("{}:{}", settings_.script.filename().string(), line.substr(at + mark.size()));
  return settings_.script.filename().string();
}

// The scheduler has the cause already and keeps it; this only leads out of the gadget.
void PythonSession::fail_cancelled() {
  child_->end(std::chrono::milliseconds(200));
  throw std::runtime_error(
      fmt::format("{}: ended while it worked, since the run is being ended", settings_.script.filename().string()));
}

void PythonSession::fail_hanging(std::chrono::duration<double> limit, const char* parameter) {
  const std::string place = place_of_hang();
  child_->end(std::chrono::milliseconds(200));
  throw std::runtime_error(fmt::format("{}: the Python process gave no answer within {} s: raise {} if it needs longer",
                                       place, limit.count(), parameter));
}

void PythonSession::fail_raised(const PythonJson& error, Context& context) {
  std::vector<std::string> lines;
  for (const PythonJson& line : error.at("traceback")) lines.push_back(line.get<std::string>());
  for (const std::string& line : lines) log_.warning(line);
  if (!lines.empty()) context.report("traceback", std::move(lines));
  throw std::runtime_error(error.at("text").get<std::string>());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
