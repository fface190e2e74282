// `tofstream` commands that run on in the background, as an operator has them; and a small pipeline for a server.
#pragma once

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/command/command.hpp"

namespace tofstream {

/// `tofstream ARGUMENTS` in the background, killed at the end if it still runs.
class BackgroundProgram {
 public:
  BackgroundProgram(std::vector<std::string> arguments, const std::filesystem::path& log) {
    arguments.insert(arguments.begin(), program().string());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO})
      ::posix_spawn_file_actions_addopen(&files, descriptor, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(::posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&files);
  }
  ~BackgroundProgram() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  BackgroundProgram(const BackgroundProgram&) = delete;
  BackgroundProgram& operator=(const BackgroundProgram&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  pid_t pid() const { return pid_; }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
};

/// The process in whose command line the text stands; 0 if there is none.
inline pid_t process_of(const std::string& text) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (const pid_t pid = std::atoi(entry.path().filename().c_str()); pid > 0 && pid != ::getpid()) {
      std::string line = text_of(entry.path() / "cmdline");
      std::ranges::replace(line, '\0', ' ');
      if (line.find(text) != std::string::npos) return pid;
    }
  return 0;
}

/// Waits until the file has the text.
inline void wait_until_says(const std::filesystem::path& log, const std::string& what) {
  while (text_of(log).find(what) == std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// From `feed.bytes` to `estimate`.
inline constexpr const char* served_body = R"(
backend: cpu
image: {size: [16, 16, 8], voxel_mm: [16, 16, 18]}
gadgets:
  events: {use: petsird_decoder, from: feed.bytes}
  sorted: {use: tof_partition, from: events}
  subsets: {use: subset_builder, from: sorted, subsets: 2, iterations: 2, reference_s: 1}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate},
    sensitivity: {exact_pairs: 0, sampled_pairs: 20000, cache: false}}
  estimate: {use: osem_update, from: projected}
)";

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
