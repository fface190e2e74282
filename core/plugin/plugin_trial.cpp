#include "core/plugin/plugin_trial.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tofstream {
namespace {

constexpr unsigned patience_s = 20;
constexpr std::string_view fine = "ok";

void say(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(pipe, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

int terminate_pipe = -1;  // of the child; global because the handler below takes no arguments

// Reports an exception that no catch can reach, such as that of a static constructor within dlopen.
[[noreturn]] void tell_and_exit() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    say(terminate_pipe, "ends the program by std::terminate");
  } catch (const std::exception& error) {
    say(terminate_pipe, fmt::format("throws where nothing can catch it ({})", error.what()));
  } catch (...) {
    say(terminate_pipe, "throws where nothing can catch it");
  }
  ::_exit(1);
}

// _exit, since the child must neither run destructors nor write the parent's buffered output.
[[noreturn]] void run_child(int pipe, const std::function<void()>& attempt) {
  if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
  }
  for (const int signal : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM}) std::signal(signal, SIG_DFL);
  ::alarm(patience_s);
  terminate_pipe = pipe;
  std::set_terminate(tell_and_exit);
  try {
    attempt();
    say(pipe, fine);
  } catch (const std::exception& error) {
    say(pipe, error.what());
  } catch (...) {
    say(pipe, "throws what is no std::exception");
  }
  ::_exit(0);
}

std::string read_all(int pipe) {
  std::string text;
  std::array<char, 512> piece{};
  for (;;) {
    const ssize_t got = ::read(pipe, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

std::string verdict(const std::string& said, int status) {
  if (said == fine) return {};
  if (!said.empty()) return said;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return fmt::format("hangs (for more than {} s)", patience_s);
  if (WIFSIGNALED(status))
    return fmt::format("crashes (signal {}, {})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return "ends the program";
}

}  // namespace

std::string in_child_process(const std::function<void()>& attempt) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  const pid_t child = ::fork();
  if (child < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    throw std::system_error(error, std::generic_category(), "cannot start a process to try a plug-in in");
  }
  if (child == 0) run_child(ends[1], attempt);
  ::close(ends[1]);
  const std::string said = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return verdict(said, status);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
