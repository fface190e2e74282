// A supervised child process: its output arrives line by line, its end is noticed at once, and it never outlives this
// program, nor a thread of it as a zombie.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace tofstream {

/// What to run. The child has a process group of its own, so that Ctrl-C on the terminal does not reach it, standard
/// input from /dev/null, default signals and no descriptor but its output and `descriptor` as number 3.
struct ChildOptions {
  std::vector<std::string> arguments;                              // [0]: the program, searched in PATH
  std::vector<std::pair<std::string, std::string>> environment{};  // besides this program's
  int descriptor = -1;
};

class ChildProcess {
 public:
  /// A line of the child's standard output or error, without its end; called from the supervising thread.
  using OnLine = std::function<void(bool is_error, std::string_view line)>;

  /// Starts it. Throws std::runtime_error in one line where the program cannot be run.
  ChildProcess(ChildOptions options, OnLine on_line);
  /// Ends it by end(), and whatever it started in its process group.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// Readable once the child has ended and its output was passed on: for poll().
  int ended_descriptor() const { return ended_; }
  /// "was killed by signal 9 (Killed)", "exited with code 3"; empty while it runs.
  std::string how_ended() const;
  /// True where it has ended by exit(0).
  bool succeeded() const;
  /// Sends a signal to the child alone; nothing once it has ended.
  void signal(int number);
  /// Waits; true where it has ended.
  bool wait(std::chrono::milliseconds time) const;
  /// SIGTERM, and after the grace SIGKILL, to the whole process group; returns when the child is gone.
  void end(std::chrono::milliseconds grace);

 private:
  struct Pipe;
  class Lines;

  void supervise(const ChildOptions& options, std::promise<void> started);
  void forward_until_ended(Pipe& out, Pipe& error);
  bool reap();

  OnLine on_line_;
  pid_t pid_ = 0;
  int ended_ = -1;  // an eventfd
  mutable std::mutex mutex_;
  std::optional<int> status_;  // as waitpid gives it; set while the mutex is held, so that no signal hits a stranger
  std::thread supervisor_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
