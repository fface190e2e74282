// Sensitivity images on disk: kept, found again, and never believed when broken.
#include "gadgets/ring/io/sensitivity_cache.hpp"

#include <fstream>

#include <unistd.h>

using namespace tofstream;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("tofstream-cache-{}", ::getpid());
  ~Folder() { fs::remove_all(path); }
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
  const Folder folder;
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

TEST_CASE("the sensitivity of blobs is found as one of blobs") {
  const Folder folder;
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
  const Folder folder;
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
  const Folder folder;
  fs::create_directories(folder.path);
  std::ofstream(folder.path / "file") << "not a folder";
  std::string line;
  const Sensitivity s =
      SensitivityCache(folder.path / "file" / "below").get(key, some_result, [&](const std::string& l) { line = l; });
  CHECK(s.projected == 77);
  CHECK(line.find("not kept") != std::string::npos);
}
