// Sensitivity images on disk: kept, found again, and never used when broken.
#include "gadgets/ring/io/sensitivity_cache.hpp"

#include <fstream>

#include <unistd.h>

using namespace tofstream;
namespace fs = std::filesystem;

namespace {

struct CacheFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("tofstream-cache-{}", ::getpid());
  ~CacheFolder() { fs::remove_all(path); }
};

Sensitivity some_result() {
  Sensitivity s{.image = Image::filled(Grid::centred(5, 4, 3, {1, 2, 3}), 2.5f),
                .exact = false,
                .pairs = std::int64_t{1} << 40,
                .drawn = 99,
                .projected = 77,
                .relative_error = 0.015,
                .symmetries = 16,
                .noise = {Image::filled(Grid::centred(5, 4, 3, {1, 2, 3}), 2.25f),
                          Image::filled(Grid::centred(5, 4, 3, {1, 2, 3}), 1e-4f), 0.75}};
  s.image.voxels[7] = 9;
  return s;
}

const std::string key(64, 'a');

}  // namespace

TEST_CASE("a result is computed once, then found") {
  const CacheFolder folder;
  const SensitivityCache cache(folder.path / "deep" / "er");
  int computed = 0, lines = 0;
  const auto get = [&] {
    return cache.get(
        key, [&] { return ++computed, some_result(); }, [&](const std::string&) { ++lines; });
  };
  get();
  const Sensitivity found = get();
  CHECK(computed == 1);
  CHECK(lines == 0);
  const Sensitivity expected = some_result();
  CHECK(found.image.grid == expected.image.grid);
  CHECK(found.image.voxels.to_vector() == expected.image.voxels.to_vector());
  CHECK(found.exact == false);
  CHECK(found.pairs == expected.pairs);
  CHECK(found.noise.held_out.grid == expected.noise.held_out.grid);
  CHECK(found.noise.held_out.voxels.to_vector() == expected.noise.held_out.voxels.to_vector());
  CHECK(found.noise.variance.voxels.to_vector() == expected.noise.variance.voxels.to_vector());
  CHECK(found.noise.undrawn == 0.75);
  CHECK(found.drawn == 99);
  CHECK(found.projected == 77);
  CHECK(found.symmetries == 16);
  CHECK(found.relative_error == 0.015);
  CHECK(!cache.load(std::string(64, 'b')));
}

TEST_CASE("what is found is of all pairs, of a lattice of them or of a sample, as what was stored") {
  const CacheFolder folder;
  const SensitivityCache cache(folder.path);
  for (const auto& [exact, is_lattice] : {std::pair{true, false}, {false, true}, {false, false}}) {
    Sensitivity stored = some_result();
    stored.exact = exact;
    stored.is_lattice = is_lattice;
    stored.random_lines = exact ? 0 : 1.5e8;
    if (exact || is_lattice) stored.noise = {};
    cache.store(key, stored);
    const auto found = cache.load(key);
    REQUIRE(found.has_value());
    CHECK(found->exact == exact);
    CHECK(found->is_lattice == is_lattice);
    CHECK(found->random_lines == stored.random_lines);
    CHECK(found->noise.empty() == (exact || is_lattice));
  }
}

TEST_CASE("the sensitivity of blobs is found as one of blobs") {
  const CacheFolder folder;
  const SensitivityCache cache(folder.path);
  Sensitivity blobs = some_result();
  blobs.image.grid.voxel_mm = {3, 3, 3};
  blobs.image.grid.blob = {4, 8};
  blobs.image = Image::filled(blobs.image.grid, 1.5f);
  blobs.noise = {Image::filled(blobs.image.grid, 1.5f), Image::filled(blobs.image.grid, 1e-4f)};
  cache.store(key, blobs);
  const auto found = cache.load(key);
  REQUIRE(found.has_value());
  CHECK(found->image.grid == blobs.image.grid);
  CHECK(found->image.voxels.size() == 120);
}

TEST_CASE("a broken file is ignored, told about once, and written anew") {
  const CacheFolder folder;
  const SensitivityCache cache(folder.path);
  cache.store(key, some_result());
  const auto size = static_cast<std::streamoff>(fs::file_size(cache.path(key)));
  for (const std::streamoff at : {0, 20, 90, 130, 180, static_cast<int>(size) - 1}) {
    CAPTURE(at);
    std::fstream file(cache.path(key), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 0x40);
    file.seekp(at);
    file.put(byte);
    file.close();
    std::string line;
    int computed = 0;
    cache.get(
        key, [&] { return ++computed, some_result(); }, [&](const std::string& l) { line += l; });
    CHECK(computed == 1);
    CHECK(line.starts_with("ignoring " + cache.path(key).string()));
    CHECK(line.find('\n') == std::string::npos);
    CHECK(cache.load(key));
  }
  for (const std::uintmax_t length : {std::uintmax_t{0}, std::uintmax_t{100}, static_cast<std::uintmax_t>(size) - 1}) {
    fs::resize_file(cache.path(key), length);
    CHECK(!cache.load(key));
    cache.store(key, some_result());
  }
  fs::copy_file(cache.path(key), cache.path(std::string(64, 'b')));  // renamed by someone
  CHECK(!cache.load(std::string(64, 'b')));
}

TEST_CASE("a folder that cannot be made costs a line, not the result") {
  const CacheFolder folder;
  fs::create_directories(folder.path);
  std::ofstream(folder.path / "file") << "not a folder";
  std::string line;
  const Sensitivity s =
      SensitivityCache(folder.path / "file" / "below").get(key, some_result, [&](const std::string& l) { line = l; });
  CHECK(s.projected == 77);
  CHECK(line.find("not kept") != std::string::npos);
}

TEST_CASE("a folder that is another's, or in which others may write, is not believed and gets nothing") {
  const CacheFolder folder;
  const SensitivityCache cache(folder.path);
  cache.store(key, some_result());
  CHECK((fs::status(folder.path).permissions() & fs::perms::all) == fs::perms::owner_all);
  std::string line;
  int computed = 0;
  const auto get = [&] {
    line.clear();
    cache.get(
        key, [&] { return ++computed, some_result(); }, [&](const std::string& l) { line += l; });
  };
  get();
  CHECK(computed == 0);

  fs::permissions(folder.path, static_cast<fs::perms>(0777));
  const auto written = fs::last_write_time(cache.path(key));
  get();
  CHECK(computed == 1);
  CHECK(line.find(folder.path.string() + " is a folder in which others may write") != std::string::npos);
  CHECK(fs::last_write_time(cache.path(key)) == written);

  fs::permissions(folder.path, static_cast<fs::perms>(0755));  // an older tofstream's: only its owner wrote there
  get();
  CHECK(computed == 1);
  CHECK((fs::status(folder.path).permissions() & fs::perms::all) == fs::perms::owner_all);
}

TEST_CASE("a folder or a link of another user is told by its owner's number") {
  if (::geteuid() != 0) return;  // only root can give a file away
  const CacheFolder folder;
  constexpr uid_t another = 65534;
  SensitivityCache(folder.path / "theirs").store(key, some_result());
  REQUIRE(::chown((folder.path / "theirs").c_str(), another, another) == 0);
  std::string line;
  const LogLine told = [&](const std::string& l) { line = l; };
  CHECK(!SensitivityCache(folder.path / "theirs").load(key, told));
  CHECK(line.find("it is a folder of another user (uid 65534)") != std::string::npos);

  SensitivityCache(folder.path / "ours").store(key, some_result());
  fs::create_directory_symlink(folder.path / "ours", folder.path / "link");
  CHECK(SensitivityCache(folder.path / "link").load(key));
  REQUIRE(::lchown((folder.path / "link").c_str(), another, another) == 0);
  CHECK(!SensitivityCache(folder.path / "link").load(key, told));
  CHECK(line.find("it is a link of another user (uid 65534)") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
