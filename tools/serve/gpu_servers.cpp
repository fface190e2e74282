// Processes that serve, one a GPU: see gpu_servers.hpp.
#include "tools/serve/gpu_servers.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/exec_words.hpp"
#include "core/base/log.hpp"

namespace tofstream::serve {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* devices_variable = "CUDA_VISIBLE_DEVICES";
constexpr std::chrono::milliseconds between_looks{20};
constexpr std::chrono::seconds shortest_pause{1}, longest_pause{60};  // before one that has ended is started again
constexpr std::chrono::seconds longest_end{30};                       // after which those that are left are killed
constexpr std::chrono::seconds long_life{60};                         // after which the pause is the shortest again

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

int read_gpu(const std::string& text, int there) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    throw std::invalid_argument(fmt::format("--gpus: '{}' is no number of a GPU: write all, or 0,2", text));
  if (number >= there)
    throw std::invalid_argument(
        fmt::format("--gpus: there is no GPU {}: this host has {}, from 0 to {}", number, there, there - 1));
  return number;
}

// What lies between fork and exec, made before: there, only async-signal-safe functions may be called.
struct ServerStart {
  std::vector<char*> arguments, environment;
  pid_t parent;
};

[[noreturn]] void become_server(const ServerStart& start) {
  ::setpgid(0, 0);  // an interrupt from the terminal is for the parent, which passes it on
  // The parent is the thread that forked, which lives until it has reaped this child.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != start.parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::close_range(3, ~0U, 0);
  ::execve(start.arguments[0], start.arguments.data(), start.environment.data());
  ::_exit(127);
}

std::string end_in_words(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

fs::path make_private_folder() {
  std::string name = (fs::temp_directory_path() / "tofstream-gpus-XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw std::runtime_error(fmt::format("cannot make a folder in {}: {}; name another by TMPDIR",
                                         fs::temp_directory_path().string(), std::strerror(errno)));
  return name;
}

}  // namespace

std::vector<int> read_gpus(const std::string& text, int there) {
  std::vector<int> gpus;
  if (text == "all") {
    for (int gpu = 0; gpu < there; ++gpu) gpus.push_back(gpu);
    return gpus;
  }
  for (const std::string& part : split(text)) {
    const int gpu = read_gpu(part, there);
    if (std::ranges::find(gpus, gpu) != gpus.end())
      throw std::invalid_argument(fmt::format("--gpus: GPU {} is named twice", gpu));
    gpus.push_back(gpu);
  }
  return gpus;
}

std::vector<int> order_from(std::span<const int> gpus, std::size_t first) {
  std::vector<int> order(gpus.begin(), gpus.end());
  // Clang 14 does not compile that of std::ranges.
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first), order.end());
  return order;
}

std::string visible_devices(std::span<const int> order, const std::optional<std::string>& visible) {
  if (!visible) return fmt::format("{}", fmt::join(order, ","));
  const std::vector<std::string> entries = split(*visible);
  std::vector<std::string> chosen;
  for (const int gpu : order) {
    const auto k = static_cast<std::size_t>(gpu);
    if (k >= entries.size())
      throw std::invalid_argument(
          fmt::format("{}={} has no entry for GPU {}: name a GPU that it has", devices_variable, *visible, gpu));
    chosen.push_back(entries[k]);
  }
  return fmt::format("{}", fmt::join(chosen, ","));
}

class GpuServers::State {
 public:
  explicit State(Settings settings) : settings_(std::move(settings)), folder_(make_private_folder()) {
    const char* const set = std::getenv(devices_variable);
    const auto visible = set ? std::optional<std::string>(set) : std::nullopt;
    for (std::size_t k = 0; k < settings_.gpus.size(); ++k) {
      const int gpu = settings_.gpus[k];
      const std::string name = fmt::format("GPU {}", gpu);
      const std::vector<int> order = order_from(settings_.gpus, k);
      addresses_.push_back(
          {.endpoint = "ipc://" + (folder_ / fmt::format("gpu-{}", gpu)).string(), .key = {}, .name = name});
      children_.push_back({.name = name,
                           .arguments = arguments_of(addresses_.back().endpoint, order),
                           .environment = environment_with(std::vector{
                               std::pair(std::string(devices_variable), visible_devices(order, visible))})});
    }
    thread_ = std::jthread([this] { watch(); });
  }
  ~State() {
    kill();
    thread_ = {};
    std::error_code none;
    fs::remove_all(folder_, none);
  }

  const std::vector<ServerAddress>& addresses() const { return addresses_; }

  void throw_if_ended() const {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }
  void all_have_begun() {
    const std::lock_guard lock(mutex_);
    have_begun_ = true;
  }

  void kill() {
    const std::lock_guard lock(mutex_);
    signal_all(SIGKILL);
  }
  void end() {
    std::unique_lock lock(mutex_);
    signal_all(SIGTERM);
    const auto have_ended = [&] { return have_ended_; };
    if (changed_.wait_for(lock, longest_end, have_ended)) return;
    signal_all(SIGKILL);
    changed_.wait(lock, have_ended);
  }

 private:
  struct Child {
    std::string name;
    std::vector<std::string> arguments, environment;
    pid_t pid = 0;
    Clock::time_point began{}, due{};
    std::chrono::seconds pause = shortest_pause;
    bool was_told_to_end = false;
  };

  std::vector<std::string> arguments_of(const std::string& endpoint, std::span<const int> order) const {
    std::vector<std::string> all{settings_.program, "serve", endpoint, "--as-gpus",
                                 fmt::format("{}", fmt::join(order, ","))};
    all.insert(all.end(), settings_.arguments.begin(), settings_.arguments.end());
    return all;
  }

  // With the lock held.
  void signal_all(int number) {
    is_stopping_ = true;
    for (const Child& child : children_)
      if (child.pid > 0) ::kill(child.pid, number);
  }

  // The only thread that forks, so that no child outlives it by more than a signal.
  void watch() {
    for (std::unique_lock lock(mutex_);;) {
      bool has_any = false;
      for (Child& child : children_) {
        look_after(child);
        has_any = has_any || child.pid > 0;
      }
      if (is_stopping_ && !has_any) break;
      lock.unlock();
      std::this_thread::sleep_for(between_looks);
      lock.lock();
    }
    have_ended_ = true;
    changed_.notify_all();
  }

  void look_after(Child& child) {
    int status = 0;
    if (child.pid > 0 && ::waitpid(child.pid, &status, WNOHANG) == child.pid) note_end(child, status);
    const bool may_start = child.pid == 0 && !is_stopping_ && !child.was_told_to_end && failure_.empty();
    if (may_start && Clock::now() >= child.due) start(child);
  }

  void note_end(Child& child, int status) {
    child.pid = 0;
    if (is_stopping_) return;
    const std::string end = fmt::format("the server of {} {}", child.name, end_in_words(status));
    if (!have_begun_) {
      failure_ = end + " before it had begun";
      return;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {  // as a service manager tells all its processes
      child.was_told_to_end = true;
      return program_log().info("the server of {} was told to end, and is not started again", child.name);
    }
    if (Clock::now() - child.began > long_life) child.pause = shortest_pause;
    child.due = Clock::now() + child.pause;
    program_log().error("{}; it is started again in {} s", end, child.pause.count());
    child.pause = std::min(2 * child.pause, longest_pause);
  }

  void start(Child& child) {
    const ServerStart start{pointers_to(child.arguments), pointers_to(child.environment), ::getpid()};
    child.began = Clock::now();
    child.pid = ::fork();
    if (child.pid == 0) become_server(start);
    if (child.pid > 0) return;
    child.pid = 0;
    child.due = Clock::now() + shortest_pause;
    const std::string why = fmt::format("the server of {} cannot be started: {}", child.name, std::strerror(errno));
    if (have_begun_)
      program_log().error("{}", why);
    else
      failure_ = why;
  }

  const Settings settings_;
  const fs::path folder_;
  std::vector<ServerAddress> addresses_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Child> children_;
  std::string failure_;
  bool have_begun_ = false, is_stopping_ = false, have_ended_ = false;
  std::jthread thread_;  // last: it uses the rest
};

GpuServers::GpuServers(Settings settings) : state_(std::make_unique<State>(std::move(settings))) {}
GpuServers::~GpuServers() = default;

const std::vector<ServerAddress>& GpuServers::addresses() const {
  return state_->addresses();
}
void GpuServers::throw_if_ended() const {
  state_->throw_if_ended();
}
void GpuServers::all_have_begun() {
  state_->all_have_begun();
}
void GpuServers::end() {
  state_->end();
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
