// Files appear by rename: whole, or not at all.
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>

#include <sys/stat.h>

#include "core/base/atomic_file.hpp"
#include "gadgets.hpp"
#include "tests/support/full_disk.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_empty(const TemporaryFolder& folder) {
  return std::filesystem::is_empty(folder.path);
}

}  // namespace

TEST_CASE("a file appears at commit, replaces an older one, and leaves no temporary") {
  TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "image.bin";
  std::ofstream(path) << "old";
  {
    AtomicFile file(path);
    file.write("....data");
    file.write_at(0, std::as_bytes(std::span("head", 4)));
    CHECK(content(path) == "old");
    file.commit();
  }
  CHECK(content(path) == "headdata");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  const mode_t mask = umask(0);
  umask(mask);
  CHECK((status.st_mode & 0777) == (0666 & ~mask));
}

TEST_CASE("a file has the mode that it was asked for from the start to the end") {
  TemporaryFolder folder;
  const auto mode_of = [](const std::filesystem::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 0777;
  };
  AtomicFile file(folder.path / "secret", 0600);
  const auto temporary = std::filesystem::directory_iterator(folder.path)->path();
  CHECK(mode_of(temporary) == 0600);
  file.write("text");
  CHECK(mode_of(temporary) == 0600);
  file.commit();
  CHECK(mode_of(folder.path / "secret") == 0600);
}

TEST_CASE("without commit, or moved away, nothing is left") {
  TemporaryFolder folder;
  {
    AtomicFile file(folder.path / "a");
    file.write("half");
    const AtomicFile moved(std::move(file));
  }
  CHECK(is_empty(folder));
}

TEST_CASE("errors name the file and the cause") {
  TemporaryFolder folder;
  const std::filesystem::path missing = folder.path / "no" / "a";
  CHECK_THROWS_WITH_AS(AtomicFile{missing},
                       ("cannot create " + missing.string() + ": No such file or directory").c_str(),
                       std::system_error);

  const std::filesystem::path path = folder.path / "big";
  {
    const FullDisk disk(1000);
    AtomicFile file(path);
    CHECK_THROWS_WITH_AS(file.write(std::string(5000, 'x')),
                         ("cannot write " + path.string() + ": File too large").c_str(), std::system_error);
  }
  CHECK(is_empty(folder));
}
// SPDX-License-Identifier: Apache-2.0
