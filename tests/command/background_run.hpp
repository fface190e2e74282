// A run in the background, as an operator has one.
#pragma once

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "tests/command/command.hpp"

namespace tofstream {

/// `tofstream run ARGUMENTS` in the background, with its results in `out`; killed at the latest when it goes out of
/// scope.
class BackgroundRun {
 public:
  explicit BackgroundRun(const std::string& arguments) {
    const std::string line = "exec " + program().string() + " run " + arguments + " --quiet --out " + out.string() +
                             " >" + (folder_ / "stdout").string() + " 2>" + (folder_ / "stderr").string();
    process_ = ::fork();
    if (process_ == 0) {
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 500 && !std::filesystem::exists(socket); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ~BackgroundRun() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  BackgroundRun(const BackgroundRun&) = delete;
  BackgroundRun& operator=(const BackgroundRun&) = delete;

  void signal(int number) const { ::kill(process_, number); }
  int wait() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Until data flow.
  void wait_for_events() const {
    for (int i = 0; i < 200; ++i) {
      const CommandResult asked = run_command("control " + out.string() + " --json");
      if (asked.code == 0 && asked.json()["status"]["books"]["received"] > 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL("no events came: ", text_of(folder_ / "stderr"));
  }
  std::string err() const { return text_of(folder_ / "stderr"); }
  std::string said() const { return text_of(folder_ / "stdout"); }
  nlohmann::json json() const { return nlohmann::json::parse(text_of(out / "run.json")); }
  // Until it has said this, for at most so long; whether it has.
  bool says(const std::string& text, std::chrono::seconds patience) const {
    for (const auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end;) {
      if (err().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

 private:
  const TemporaryFolder folder_;
  pid_t process_ = -1;

 public:
  const std::filesystem::path out = folder_ / "out", socket = out / "control.sock";
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
