// Starting, watching and ending a child process: see child_process.hpp.
#include "gadgets/python/child_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/exec_words.hpp"

namespace tofstream {

struct ChildProcess::Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(fmt::format("no pipe: {}", std::strerror(errno)));
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  int ends[2] = {-1, -1};
};

// What was read of one stream and is no whole line yet.
class ChildProcess::Lines {
 public:
  Lines(int descriptor, bool is_error, const OnLine& on_line)
      : descriptor_(descriptor), is_error_(is_error), on_line_(on_line) {
    ::fcntl(descriptor_, F_SETFL, O_NONBLOCK);
  }
  // Passes on what there is, line by line; false at the end of the stream.
  bool read() {
    std::array<char, 4096> piece;
    ssize_t got = 0;
    while ((got = ::read(descriptor_, piece.data(), piece.size())) > 0) {
      rest_.append(piece.data(), static_cast<std::size_t>(got));
      for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) say(end);
      if (rest_.size() > longest_line) finish();
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
  void finish() {
    if (!rest_.empty()) say(rest_.size());
    rest_.clear();
  }

 private:
  static constexpr std::size_t longest_line = 65536;  // a child that never ends its line must not fill the memory
  void say(std::size_t end) { on_line_(is_error_, std::string_view(rest_).substr(0, end)); }

  int descriptor_;
  bool is_error_;
  const OnLine& on_line_;
  std::string rest_;
};

namespace {

// What the child needs between fork and exec, made before: there, only async-signal-safe functions may be called.
struct Launch {
  std::vector<char*> arguments, environment;
  int input, output, error, failure, descriptor;
  pid_t parent;
};

[[noreturn]] void become(const Launch& launch) {
  ::setpgid(0, 0);
  // The parent is the thread that forked, which lives until it has reaped this child.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGUSR1}) ::signal(number, SIG_DFL);
  // Out of the way of 0 to 4 first, so that no dup2 closes one that is still needed.
  const int sources[5] = {
      ::fcntl(launch.input, F_DUPFD, 16), ::fcntl(launch.output, F_DUPFD, 16), ::fcntl(launch.error, F_DUPFD, 16),
      launch.descriptor < 0 ? -1 : ::fcntl(launch.descriptor, F_DUPFD, 16), ::fcntl(launch.failure, F_DUPFD, 16)};
  for (int number = 0; number < 5; ++number)
    if (sources[number] >= 0) ::dup2(sources[number], number);
  ::fcntl(4, F_SETFD, FD_CLOEXEC);
  ::close_range(5, ~0U, 0);
  ::execvpe(launch.arguments[0], launch.arguments.data(), launch.environment.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(4, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(ChildOptions options, OnLine on_line)
    : on_line_(std::move(on_line)), ended_(::eventfd(0, EFD_CLOEXEC)) {
  std::promise<void> started;
  std::future<void> outcome = started.get_future();
  supervisor_ =
      std::thread([this, options = std::move(options), &started]() mutable { supervise(options, std::move(started)); });
  try {
    outcome.get();
  } catch (...) {
    supervisor_.join();
    ::close(ended_);
    throw;
  }
}

ChildProcess::~ChildProcess() {
  end(std::chrono::milliseconds(500));
  supervisor_.join();
  ::close(ended_);
}

// The whole life of the supervising thread: fork, forward, reap.
void ChildProcess::supervise(const ChildOptions& options, std::promise<void> started) {
  std::optional<Pipe> out, error, failure;
  try {
    out.emplace(), error.emplace(), failure.emplace();
    std::vector<std::string> arguments = options.arguments, environment = environment_with(options.environment);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const Launch launch{pointers_to(arguments), pointers_to(environment), nothing,   out->ends[1], error->ends[1],
                        failure->ends[1],       options.descriptor,       ::getpid()};
    pid_ = ::fork();
    if (pid_ == 0) become(launch);
    const int fork_error = errno;
    ::close(nothing);
    if (pid_ < 0) throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(fork_error)));
    for (Pipe* pipe : {&*out, &*error, &*failure}) pipe->close(1);
    int exec_error = 0;
    if (::read(failure->ends[0], &exec_error, sizeof exec_error) > 0) {
      ::waitpid(pid_, nullptr, 0);
      throw std::runtime_error(fmt::format("cannot run '{}': {}", options.arguments[0], std::strerror(exec_error)));
    }
  } catch (...) {
    started.set_exception(std::current_exception());
    return;
  }
  failure.reset();
  started.set_value();
  forward_until_ended(*out, *error);
}

void ChildProcess::forward_until_ended(Pipe& out, Pipe& error) {
  Lines lines[2] = {{out.ends[0], false, on_line_}, {error.ends[0], true, on_line_}};
  pollfd streams[2] = {{out.ends[0], POLLIN, 0}, {error.ends[0], POLLIN, 0}};
  while (!reap()) {
    // The streams close with the child, unless something that it started keeps them: hence the short sleep.
    const bool open = streams[0].fd >= 0 || streams[1].fd >= 0;
    ::poll(streams, 2, open ? 50 : 1);
    for (int s = 0; s < 2; ++s)
      if (streams[s].revents != 0 && !lines[s].read()) streams[s].fd = -1;
  }
  for (Lines& stream : lines) {
    stream.read();
    stream.finish();
  }
  constexpr std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(ended_, &one, sizeof one);
}

bool ChildProcess::reap() {
  const std::lock_guard lock(mutex_);
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  ::kill(-pid_, SIGKILL);  // what it started and left
  status_ = ended > 0 ? status : 0;
  return true;
}

std::string ChildProcess::how_ended() const {
  const std::lock_guard lock(mutex_);
  if (!status_) return {};
  if (WIFSIGNALED(*status_))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(*status_), ::strsignal(WTERMSIG(*status_)));
  return fmt::format("exited with code {}", WEXITSTATUS(*status_));
}

bool ChildProcess::succeeded() const {
  const std::lock_guard lock(mutex_);
  return status_ && WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0;
}

void ChildProcess::signal(int number) {
  const std::lock_guard lock(mutex_);
  if (!status_) ::kill(pid_, number);
}

bool ChildProcess::wait(std::chrono::milliseconds time) const {
  pollfd ended{ended_, POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(time.count())) > 0;
}

void ChildProcess::end(std::chrono::milliseconds grace) {
  const auto to_group = [&](int number) {
    const std::lock_guard lock(mutex_);
    if (!status_) ::kill(-pid_, number);
  };
  to_group(SIGTERM);
  if (wait(grace)) return;
  to_group(SIGKILL);
  while (!wait(std::chrono::milliseconds(1000))) {
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
