// How key files are made: no other user can read a secret key, not even while it is written.
#include "gadgets/wire/key_files.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

namespace fs = std::filesystem;

// Watches a folder like another user who may list and enter it: the widest mode at which each file was seen, by the
// beginning of its name.
class FolderWatcher {
 public:
  explicit FolderWatcher(const fs::path& folder) : folder_(folder) {
    inotify_add_watch(events_, folder_.c_str(), IN_CREATE | IN_ATTRIB | IN_MODIFY | IN_MOVED_TO);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) look();
    });
  }
  ~FolderWatcher() {
    thread_ = {};
    ::close(events_);
  }
  FolderWatcher(const FolderWatcher&) = delete;
  FolderWatcher& operator=(const FolderWatcher&) = delete;

  // What was seen of files with such names, once all events have been looked at.
  struct Seen {
    int looks = 0, mode_changes = 0;
    mode_t mode = 0;
  };
  Seen end(const std::string& begin) {
    thread_ = {};
    look();
    Seen all;
    for (const auto& [name, seen] : seen_) {
      if (!name.starts_with(begin)) continue;
      all.looks += seen.looks;
      all.mode_changes += seen.mode_changes;
      all.mode |= seen.mode;
    }
    return all;
  }

 private:
  void look() {
    alignas(inotify_event) std::array<char, 4096> bytes{};
    for (ssize_t got; (got = ::read(events_, bytes.data(), bytes.size())) > 0;)
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(bytes.data() + at);
        Seen& seen = seen_[event->name];
        ++seen.looks;
        seen.mode_changes += (event->mask & IN_ATTRIB) != 0;
        struct stat status {};
        if (::stat((folder_ / event->name).c_str(), &status) == 0) seen.mode |= status.st_mode & 0777;
        at += static_cast<ssize_t>(sizeof *event + event->len);
      }
  }

  fs::path folder_;
  int events_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  std::map<std::string, Seen> seen_;
  std::jthread thread_;
};

}  // namespace

TEST_CASE("whoever watches the folder never sees a secret key that others may read, nor one whose mode changes") {
  const TemporaryFolder folder;
  FolderWatcher watcher(folder.path());
  for (int n = 0; n < 50; ++n) make_key_pair("key" + std::to_string(n) + "-s", folder.path());
  const FolderWatcher::Seen seen = watcher.end("key");
  REQUIRE(seen.looks >= 4 * 50);  // two files, each made and named
  // A file's mode is set once, when the file is made: between two modes others could open it.
  CHECK(seen.mode_changes == 0);
  for (int n = 0; n < 50; ++n) {
    const FolderWatcher::Seen secret = watcher.end("key" + std::to_string(n) + "-s.secret");
    CHECK(secret.looks >= 2);
    CHECK((secret.mode & 0077) == 0);
  }
}

TEST_CASE("the folder that is made for keys is its owner's alone, and one that is there stays as it is") {
  const TemporaryFolder folder;
  make_key_pair("one", folder / "new");
  CHECK(fs::status(folder / "new").permissions() == fs::perms::owner_all);
  fs::create_directory(folder / "old");
  fs::permissions(folder / "old", static_cast<fs::perms>(0755));
  make_key_pair("one", folder / "old/");
  CHECK(fs::status(folder / "old").permissions() == static_cast<fs::perms>(0755));
  make_key_pair("two", folder / "deep/er/");
  CHECK(fs::status(folder / "deep/er").permissions() == fs::perms::owner_all);
}

TEST_CASE("a file in the folder of keys that is no key locks out its owner alone, and is told of") {
  const TemporaryFolder folder;
  const KeyPairFiles one = make_key_pair("one", folder.path()), two = make_key_pair("two", folder.path());
  std::vector<std::string> told;
  const auto read = [&] {
    return read_public_keys(folder.path(), [&](std::string_view text) { told.emplace_back(text); });
  };
  CHECK(read().size() == 2);
  CHECK(told.empty());
  std::ofstream(one.public_file) << "name: one\npublic: rubbish\n";
  const auto keys = read();
  REQUIRE(keys.size() == 1);
  CHECK(keys[0].name == "two");
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("one.public.yaml") != std::string::npos);
  CHECK(told[0].find("its owner cannot connect") != std::string::npos);
  fs::remove(two.public_file);
  CHECK_THROWS_WITH(read(), doctest::Contains("holds no *.public.yaml that is a key"));
}
// SPDX-License-Identifier: Apache-2.0
