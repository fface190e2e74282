// Folders that only their owner may use.
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/private_folder.hpp"
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
  return static_cast<unsigned>(fs::status(path).permissions());
}

}  // namespace

TEST_CASE("a new private folder is closed to others, and those above it are ordinary") {
  TemporaryFolder folder;
  CHECK(make_private_folder(folder.path / "a" / "b"));
  CHECK(mode_of(folder.path / "a" / "b") == 0700);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  CHECK(mode_of(folder.path / "a") == (0777 & ~mask));
  CHECK_FALSE(make_private_folder(folder.path / "a" / "b"));
  std::ofstream(folder.path / "file") << "x";
  CHECK_THROWS_WITH(make_private_folder(folder.path / "file"), doctest::Contains("is a file, and no folder"));
  CHECK_THROWS_WITH(make_private_folder(folder.path / "file" / "x"), doctest::Contains("is a file, and no folder"));
}

TEST_CASE("a folder is ours where nobody else could have written in it") {
  TemporaryFolder folder;
  make_private_folder(folder.path / "own");
  CHECK(why_not_ours(folder.path / "own").empty());
  for (const unsigned mode : {0770, 0702, 0777}) {
    ::chmod((folder.path / "own").c_str(), mode);
    CHECK(why_not_ours(folder.path / "own").find("in which others may write") != std::string::npos);
  }
  ::chmod((folder.path / "own").c_str(), 0755);
  CHECK(why_not_ours(folder.path / "own").empty());
  CHECK(mode_of(folder.path / "own") == 0700);
  CHECK(why_not_ours(folder.path / "none").find("cannot be read") == 0);
  std::ofstream(folder.path / "file") << "x";
  CHECK(why_not_ours(folder.path / "file") == "is no folder");
}

TEST_CASE("a private temporary folder is new each time, closed to others, and gone afterwards") {
  fs::path was;
  {
    const PrivateTemporaryFolder one, two;
    CHECK(one.path() != two.path());
    CHECK(mode_of(one.path()) == 0700);
    std::ofstream(one.path() / "file") << "x";
    was = one.path();
  }
  CHECK_FALSE(fs::exists(was));
}
// SPDX-License-Identifier: Apache-2.0
