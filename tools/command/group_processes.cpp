// Processes of groups: see group_processes.hpp.
#include "tools/command/group_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/exec_words.hpp"
#include "kernels/memory/signals_elsewhere.hpp"

namespace tofstream::command {

namespace {

constexpr const char* place_variable = "TOFSTREAM_GROUP";  // "1/3 ENDPOINT"

// As it was given to this process, for another one.
std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// What lies between fork and exec: there, only async-signal-safe functions may be called.
struct GroupStart {
  std::vector<char*> arguments, environment;
  pid_t parent;
};

[[noreturn]] void become_group(const GroupStart& start) {
  // The parent is the thread that forked, which lives until it has reaped this child.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != start.parent) ::_exit(127);
  // An interrupt from the terminal is for the parent.
  for (const int number : {SIGINT, SIGTERM}) ::signal(number, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) ::_exit(127);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::close_range(3, ~0U, 0);
  ::execve("/proc/self/exe", start.arguments.data(), start.environment.data());
  ::_exit(127);
}

std::string in_words(int status) {
  if (WIFSIGNALED(status)) return fmt::format("it was killed by signal {}", WTERMSIG(status));
  return fmt::format("it ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

std::optional<JoinedPlace> take_group_place() {
  const char* const set = std::getenv(place_variable);
  if (!set) return {};
  const std::string_view text = set;
  JoinedPlace joined{{}, {}, "tofstream"};
  const char* const end = text.data() + text.size();
  const auto rank = std::from_chars(text.data(), end, joined.place.rank);
  const auto ranks = std::from_chars(std::min(rank.ptr + 1, end), end, joined.place.ranks);
  joined.endpoint = std::string(std::min(ranks.ptr + 1, end), end);
  ::unsetenv(place_variable);
  return joined;
}

class GroupProcesses::State {
 public:
  State(int groups, const std::string& endpoint) {
    for (int group = 1; group <= groups; ++group) start(group, groups, endpoint);
  }
  ~State() { end(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::string how_one_ended() {
    const auto ended = one_that_ended();
    return ended ? fmt::format("group {}: {}", ended->first, ended->second) : "";
  }

  void watch(RankGroup& groups, const std::stop_token& stop) {
    constexpr std::chrono::milliseconds between_looks{50};
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, between_looks, [&] { return stop.stop_requested(); }))
      if (const auto ended = one_that_ended()) return groups.note_failed(ended->first, ended->second);
  }

  void end() {
    const std::lock_guard lock(mutex_);
    for (pid_t& process : processes_) {
      if (process <= 0) continue;
      ::kill(process, SIGKILL);
      ::waitpid(std::exchange(process, 0), nullptr, 0);
    }
  }

 private:
  void start(int group, int groups, const std::string& endpoint) {
    std::vector<std::string> arguments = own_command(),
                             environment = environment_with(std::vector{std::pair(
                                 std::string(place_variable), fmt::format("{}/{} {}", group, groups + 1, endpoint))});
    const GroupStart start{pointers_to(arguments), pointers_to(environment), ::getpid()};
    const pid_t process = ::fork();
    if (process == 0) become_group(start);
    if (process < 0) throw std::system_error(errno, std::generic_category(), "groups: fork");
    processes_.push_back(process);
  }

  // Which, and how; by itself, and not by end().
  std::optional<std::pair<int, std::string>> one_that_ended() {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      int status = 0;
      if (processes_[i] <= 0 || ::waitpid(processes_[i], &status, WNOHANG) != processes_[i]) continue;
      processes_[i] = 0;
      return std::pair(static_cast<int>(i) + 1, in_words(status));
    }
    return {};
  }

  std::mutex mutex_;
  std::vector<pid_t> processes_;
};

GroupProcesses::GroupProcesses(int groups, const std::string& endpoint)
    : state_(std::make_unique<State>(groups, endpoint)) {}
GroupProcesses::~GroupProcesses() = default;

std::string GroupProcesses::how_one_ended() {
  return state_->how_one_ended();
}

std::jthread GroupProcesses::watch(RankGroup& groups) {
  const SignalsElsewhere elsewhere;
  return std::jthread([this, &groups](const std::stop_token& stop) { state_->watch(groups, stop); });
}

void GroupProcesses::end() {
  state_->end();
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
