// Whose plug-ins are loaded. None of these files is a library, since the owner is checked first.
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "core/plugin/plugins.hpp"
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;
namespace fs = std::filesystem;

namespace {

std::string problem_of_only(const fs::path& folder) {
  Registry known;
  const PluginScan scan = load_plugins({folder}, known);
  REQUIRE(scan.plugins.size() == 1);
  return scan.plugins[0].problem;
}

fs::path written(const fs::path& file) {
  std::ofstream(file) << "no library";
  ::chmod(file.c_str(), 0644);
  return file;
}

}  // namespace

TEST_CASE("a FIFO called as a plug-in is skipped at once, and nobody waits for who writes to it") {
  TemporaryFolder folder;
  REQUIRE(::mkfifo((folder.path / "x.so").c_str(), 0644) == 0);
  CHECK(problem_of_only(folder.path) == "is no file but a device, FIFO or socket: remove it");
}

TEST_CASE("a plug-in that everybody may write is skipped, and so is all of a folder that everybody may write") {
  TemporaryFolder folder;
  const fs::path file = written(folder.path / "x.so");
  CHECK(problem_of_only(folder.path).starts_with("is no shared object"));
  ::chmod(file.c_str(), 0646);
  CHECK(problem_of_only(folder.path).starts_with("can be written by everybody: chmod o-w "));
  ::chmod(file.c_str(), 0644);
  ::chmod(folder.path.c_str(), 0777);
  Registry known;
  const PluginScan scan = load_plugins({folder.path}, known);
  CHECK(scan.plugins.empty());
  REQUIRE(scan.problems.size() == 1);
  CHECK(
      scan.problems[0].starts_with(folder.path.string() + ": no plug-in of this folder is loaded: it can be written"));
}

TEST_CASE("another user's plug-in is skipped, by itself or behind a link") {
  if (::geteuid() != 0) return;  // only root can give a file away
  TemporaryFolder folder, theirs;
  const fs::path file = written(theirs.path / "y.so");
  REQUIRE(::chown(file.c_str(), 65534, 65534) == 0);
  CHECK(problem_of_only(theirs.path).starts_with("belongs to another user (uid 65534)"));
  fs::create_symlink(file, folder.path / "x.so");
  CHECK(problem_of_only(folder.path).starts_with("belongs to another user (uid 65534)"));
}
// SPDX-License-Identifier: Apache-2.0
