// Runs the `tofstream` command as a user does: the program beside this test, its output and its exit code; and a
// temporary folder.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace tofstream {

struct CommandResult {
  int code = 0;
  std::string out, err;
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// A folder for one test, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tofstream-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline std::filesystem::path program(const char* name = "tofstream") {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

/// Runs a line by the shell, so arguments are quoted as a user would.
inline CommandResult run_line(const std::string& line) {
  const TemporaryFolder folder;
  const auto out = folder / "out", err = folder / "err";
  const int status = std::system((line + " >" + out.string() + " 2>" + err.string()).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text_of(out), text_of(err)};
}

/// Runs `tofstream ARGUMENTS`.
inline CommandResult run_command(const std::string& arguments) {
  return run_line(program().string() + " " + arguments);
}

/// Runs `tofstream-bench ARGUMENTS`.
inline CommandResult run_bench(const std::string& arguments) {
  return run_line(program("tofstream-bench").string() + " " + arguments);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
