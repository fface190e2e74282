// Files that appear whole or not at all: see temporary_file.hpp.
#include "gadgets/formats/temporary_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace tofstream {

TemporaryFile::TemporaryFile(std::filesystem::path target) : target_(std::move(target)) {
  static std::atomic<unsigned> counter = 0;
  const std::string name = target_.filename().string();
  if (name.empty())
    throw std::runtime_error(fmt::format("cannot write {}: it is not the name of a file", target_.string()));
  int reason = EEXIST;
  while (reason == EEXIST) {  // another program's name, or one that a crash left behind
    path_ = target_;
    path_.replace_filename(fmt::format(".{}.{}-{}.tmp", name.substr(0, 200), ::getpid(), counter++));
    std::FILE* file = std::fopen(path_.c_str(), "wbx");
    reason = file ? 0 : errno;
    if (file) std::fclose(file);
  }
  if (reason != 0)
    throw std::runtime_error(
        fmt::format("cannot write {}: {}", target_.string(), std::generic_category().message(reason)));
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;  // nothing more can be done, and the first error is on its way
  if (!committed_) std::filesystem::remove(path_, ignored);
}

void TemporaryFile::commit() {
  std::error_code error;
  std::filesystem::rename(path_, target_, error);
  if (error) throw std::runtime_error(fmt::format("cannot write {}: {}", target_.string(), error.message()));
  committed_ = true;
}

}  // namespace tofstream
