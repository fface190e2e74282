// Runs Graphviz: its input and output are files in memory, so that neither side waits for the other.
#include "tools/command/graphviz.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tofstream::command {

namespace {

class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : file_(::memfd_create(name, MFD_CLOEXEC)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), "a file in memory for Graphviz");
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return file_; }

  void write(const std::string& text) const {
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = ::write(file_, text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "writing to Graphviz");
      if (n > 0) done += static_cast<std::size_t>(n);
    }
    ::lseek(file_, 0, SEEK_SET);
  }

  std::string read() const {
    ::lseek(file_, 0, SEEK_SET);
    std::string text;
    char piece[65536];
    for (ssize_t n = 0; (n = ::read(file_, piece, sizeof piece)) > 0;) text.append(piece, static_cast<std::size_t>(n));
    return text;
  }

 private:
  int file_;
};

// The exit code of `dot -Tsvg` between the two files; stderr is ours.
int run_dot(const MemoryFile& in, const MemoryFile& out) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.descriptor(), STDOUT_FILENO);
  char name[] = "dot", format[] = "-Tsvg";
  char* arguments[] = {name, format, nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, name, &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (error == ENOENT)
    throw std::runtime_error(
        "SVG is laid out by Graphviz, whose program 'dot' is not here: install the package graphviz, or take --format "
        "mermaid or dot");
  if (error != 0) throw std::system_error(error, std::generic_category(), "Graphviz's program 'dot' cannot be started");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waiting for Graphviz");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string graphviz_svg(const std::string& dot) {
  const MemoryFile in("dot"), out("svg");
  in.write(dot);
  const int code = run_dot(in, out);
  std::string svg = out.read();
  if (code != 0 || svg.empty())
    throw std::runtime_error(fmt::format("Graphviz's program 'dot' failed with exit code {}", code));
  return svg;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
