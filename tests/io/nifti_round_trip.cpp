// NIfTI-1 written and read: bytes of the affine, voxel types, flips and permutations, broken files.
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>

#include <unistd.h>

#include "gadgets/io/nifti/gzip.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/nifti/posed_nifti.hpp"
#include "kernels/analysis/compare.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
namespace fs = std::filesystem;

namespace {

/// A temporary folder, removed at the end.
struct NiftiFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("tofstream-nifti-{}", ::getpid());
  NiftiFolder() { fs::create_directories(path); }
  ~NiftiFolder() { fs::remove_all(path); }
  fs::path operator/(const char* name) const { return path / name; }
};

Image random_image(const Grid& grid) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1e4f);
  Image image = Image::zeros(grid);
  for (float& v : image.voxels.span()) v = normal(random);
  return image;
}

Grid off_centre() {
  Grid grid = Grid::centred(7, 5, 3, {2.5f, 3, 4.25f});
  grid.origin_mm = grid.origin_mm + Vec3{10, -20, 30};
  return grid;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

template <class T>
T field_at(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// A file of 2 x 3 x 2 voxels with values 0, 1, 2, ... of type T and the given sform rows.
template <class T>
std::string small_file(short type, const float (&rows)[3][4]) {
  std::string bytes(352 + 12 * sizeof(T), '\0');
  put(bytes, 0, 348);
  const short dims[8] = {3, 2, 3, 2, 1, 1, 1, 1};
  for (std::size_t d = 0; d < 8; ++d) put(bytes, 40 + 2 * d, dims[d]);
  put(bytes, 70, type);
  put(bytes, 72, static_cast<short>(8 * sizeof(T)));
  for (std::size_t d = 0; d < 4; ++d) put(bytes, 76 + 4 * d, 1.0f);
  put(bytes, 108, 352.0f);
  put(bytes, 123, char{2});
  put(bytes, 254, short{1});
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) put(bytes, 280 + 16 * r + 4 * c, rows[r][c]);
  std::memcpy(bytes.data() + 344, "n+1", 4);
  for (std::size_t v = 0; v < 12; ++v) put(bytes, 352 + v * sizeof(T), static_cast<T>(v));
  return bytes;
}

constexpr float lps_rows[3][4] = {{-2, 0, 0, 5}, {0, -3, 0, 6}, {0, 0, 4, 7}};

std::string error_of(const fs::path& path) {
  try {
    read_nifti(path);
  } catch (const std::exception& error) {
    const std::string what = error.what();
    CHECK(what.find(path.string()) == 0);
    CHECK(what.find('\n') == std::string::npos);
    return what.substr(path.string().size() + 2);
  }
  return "no error";
}

}  // namespace

TEST_CASE("an image comes back as it was written, plain and gzip, with its comment") {
  const NiftiFolder folder;
  const Image image = random_image(off_centre());
  for (const char* name : {"a.nii", "a.nii.gz"}) {
    for (const std::string& comment : {std::string(), std::string(R"({"x": 1})"), std::string(100000, 'c')}) {
      write_nifti(folder / name, image, {.description = std::string(200, 'd'), .comment = comment});
      const Image back = read_nifti(folder / name);
      CHECK(back.grid == image.grid);
      CHECK(back.voxels.to_vector() == image.voxels.to_vector());
      CHECK(read_nifti_comment(folder / name) == comment);
    }
  }
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path)) files += entry.is_regular_file();
  CHECK(files == 2);  // no temporary file is left
}

TEST_CASE("the header says float32, mm, and an affine from our order to RAS") {
  const NiftiFolder folder;
  const Image image = random_image(off_centre());
  write_nifti(folder / "a.nii", image, {.description = "test", .comment = "12345"});
  const std::string bytes = bytes_of(folder / "a.nii");
  CHECK(field_at<int>(bytes, 0) == 348);
  CHECK(field_at<short>(bytes, 40) == 3);
  CHECK(field_at<short>(bytes, 42) == 7);
  CHECK(field_at<short>(bytes, 70) == 16);
  CHECK(field_at<float>(bytes, 80) == 2.5f);
  CHECK(field_at<float>(bytes, 108) == 368);
  CHECK(bytes[123] == 2);
  CHECK(bytes.substr(148, 5) == std::string("test\0", 5));
  const Vec3 o = image.grid.origin_mm;
  const float rows[3][4] = {{-2.5f, 0, 0, -o.x}, {0, -3, 0, -o.y}, {0, 0, 4.25f, o.z}};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) CHECK(field_at<float>(bytes, 280 + 16 * r + 4 * c) == rows[r][c]);
  CHECK(field_at<short>(bytes, 252) == 1);
  CHECK(field_at<short>(bytes, 254) == 1);
  CHECK(field_at<float>(bytes, 76) == 1);                     // qfac
  CHECK(std::abs(field_at<float>(bytes, 264)) == approx(1));  // half a turn about z
  CHECK(field_at<float>(bytes, 268) == -o.x);
  CHECK(bytes.substr(344, 4) == std::string("n+1\0", 4));
  CHECK(bytes[348] == 1);
  CHECK(field_at<int>(bytes, 352) == 16);
  CHECK(field_at<int>(bytes, 356) == 6);
  CHECK(field_at<float>(bytes, 368) == image.voxels[0]);
  CHECK(bytes.size() == 368 + image.bytes());
}

TEST_CASE("voxel types are converted and scaled") {
  const NiftiFolder folder;
  const auto check = [&](const std::string& file, double slope, double intercept) {
    write_bytes(folder / "a.nii", file);
    const Image image = read_nifti(folder / "a.nii");
    CHECK(image.grid.size[1] == 3);
    CHECK(image.grid.voxel_mm == Vec3{2, 3, 4});
    CHECK(image.grid.origin_mm == Vec3{-5, -6, 7});
    for (std::int64_t v = 0; v < 12; ++v) CHECK(image.voxels[v] == approx(static_cast<double>(v) * slope + intercept));
  };
  check(small_file<std::uint8_t>(2, lps_rows), 1, 0);
  check(small_file<std::int8_t>(256, lps_rows), 1, 0);
  check(small_file<std::int16_t>(4, lps_rows), 1, 0);
  check(small_file<std::uint16_t>(512, lps_rows), 1, 0);
  check(small_file<std::int32_t>(8, lps_rows), 1, 0);
  check(small_file<float>(16, lps_rows), 1, 0);
  check(small_file<double>(64, lps_rows), 1, 0);
  std::string scaled = small_file<std::int16_t>(4, lps_rows);
  put(scaled, 112, 2.5f);
  put(scaled, 116, -3.0f);
  check(scaled, 2.5, -3);
}

TEST_CASE("big-endian files are read") {
  const NiftiFolder folder;
  std::string file = small_file<std::int16_t>(4, lps_rows);
  const auto swap = [&](std::size_t offset, std::size_t bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      std::reverse(file.begin() + static_cast<std::ptrdiff_t>(offset + i * bytes),
                   file.begin() + static_cast<std::ptrdiff_t>(offset + (i + 1) * bytes));
  };
  swap(0, 4, 1);
  swap(40, 2, 8);
  swap(70, 2, 2);
  swap(76, 4, 8);
  swap(108, 4, 3);
  swap(252, 2, 2);
  swap(256, 4, 18);
  swap(352, 2, 12);
  write_bytes(folder / "a.nii", file);
  const Image image = read_nifti(folder / "a.nii");
  CHECK(image.grid.voxel_mm == Vec3{2, 3, 4});
  CHECK(image.voxels[11] == 11);
}

TEST_CASE("flipped and permuted axes are put into our order") {
  const NiftiFolder folder;
  // File axis 0 runs to +z downwards, axis 1 to the right (RAS x up, so LPS x down), axis 2 to the front.
  const float rows[3][4] = {{0, 2, 0, 10}, {0, 0, 3, 20}, {-4, 0, 0, 30}};
  write_bytes(folder / "a.nii", small_file<float>(16, rows));
  const Image image = read_nifti(folder / "a.nii");
  CHECK(image.grid.size[0] == 3);
  CHECK(image.grid.size[1] == 2);
  CHECK(image.grid.size[2] == 2);
  CHECK(image.grid.voxel_mm == Vec3{2, 3, 4});
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 2; ++c) {
        const Vec3 lps = {-(10 + 2 * static_cast<float>(b)), -(20 + 3 * static_cast<float>(c)),
                          30 - 4 * static_cast<float>(a)};
        const Vec3 index = lps - image.grid.origin_mm;
        const auto v =
            image.grid.index(static_cast<int>(std::lround(index.x / 2)), static_cast<int>(std::lround(index.y / 3)),
                             static_cast<int>(std::lround(index.z / 4)));
        CHECK(image.voxels[v] == static_cast<float>(a + 2 * b + 6 * c));
      }
}

TEST_CASE("what cannot be read is refused in one line that names the file") {
  const NiftiFolder folder;
  const fs::path file = folder / "a.nii";
  CHECK(error_of(file) == "no such file");
  CHECK(error_of(folder.path) == "not a file");
  const std::string good = small_file<float>(16, lps_rows);
  const auto after = [&](auto&& change) {
    std::string bytes = good;
    change(bytes);
    write_bytes(file, bytes);
    return error_of(file);
  };
  CHECK(after([](std::string&) {}) == "no error");
  CHECK(after([](std::string& b) {
          b = "A text file, longer or shorter.\n";
        }).starts_with("this is text, not a NIfTI-1"));
  CHECK(after([](std::string& b) { b.clear(); }).starts_with("not a NIfTI-1"));
  CHECK(after([](std::string& b) { b.resize(200); }).starts_with("not a NIfTI-1"));
  CHECK(after([](std::string& b) { b.pop_back(); }).starts_with("truncated"));
  CHECK(after([](std::string& b) { put(b, 42, short{-2}); }) != "no error");
  CHECK(after([](std::string& b) { put(b, 42, short{30000}); }) != "no error");
  CHECK(after([](std::string& b) { put(b, 40, short{4}), put(b, 48, short{2}), b += b; }).find("axis 4") !=
        std::string::npos);
  CHECK(after([](std::string& b) { put(b, 70, short{32}), put(b, 72, short{64}), b += b; }).find("COMPLEX") !=
        std::string::npos);
  CHECK(after([](std::string& b) { put(b, 254, short{0}); }).starts_with("no position"));
  CHECK(after([](std::string& b) { put(b, 284, 0.1f); }).find("oblique") != std::string::npos);
  CHECK(after([](std::string& b) { put(b, 280, 0.0f); }) != "no error");
  CHECK(after([](std::string& b) { put(b, 356, NAN); }) == "voxel 1 is not a finite number");
  CHECK(after([](std::string& b) { put(b, 112, 1e38f), put(b, 356, 1e30f); }) == "voxel 1 is not a finite number");

  write_nifti(folder / "b.nii.gz", random_image(Grid::centred(40, 40, 40, {1, 1, 1})));
  const std::string whole = bytes_of(folder / "b.nii.gz");
  write_bytes(folder / "b.nii.gz", whole.substr(0, whole.size() / 2));
  CHECK(error_of(folder / "b.nii.gz").starts_with("truncated"));
}

TEST_CASE("an oblique file is refused with what to do, but for who resamples: along its own axes, with its pose") {
  const NiftiFolder folder;
  // Voxels of 2 x 3 x 4 mm, turned about x: RAS, so that our x and y have the other sign.
  constexpr float rows[3][4] = {{2, 0, 0, 5}, {0, 2.4F, -2.4F, 6}, {0, 1.8F, 3.2F, 7}};
  write_bytes(folder / "a.nii", small_file<float>(16, rows));
  const std::string why = error_of(folder / "a.nii");
  CHECK(why.find("oblique to the scanner's: resample it") != std::string::npos);
  CHECK(why.find("tofstream mu-map") != std::string::npos);
  const PosedImage posed = read_posed_nifti(folder / "a.nii");
  CHECK(posed.image.grid == Grid{{2, 3, 2}, {2, 3, 4}, {0, 0, 0}});
  CHECK(posed.image.voxels[posed.image.grid.index(1, 2, 1)] == 11);
  const Vec3d at = posed.to_world(posed.image.grid.centre(1, 2, 1).as<double>());
  CHECK(at.x == approx(-7));
  CHECK(at.y == approx(-8.4));
  CHECK(at.z == approx(13.8));

  write_bytes(folder / "b.nii", small_file<float>(16, lps_rows));
  const PosedImage straight = read_posed_nifti(folder / "b.nii");
  CHECK(straight.to_world.is_shift());
  CHECK(straight.image.grid == read_nifti(folder / "b.nii").grid);
}

TEST_CASE("gzip of several members is read as one, as other programs write it") {
  const NiftiFolder folder;
  const Image image = random_image(Grid::centred(40, 40, 40, {1, 1, 1}));
  write_nifti(folder / "a.nii", image);
  const std::string plain = bytes_of(folder / "a.nii");
  const auto member = [](const std::string& bytes) {
    std::string result;
    const std::array one = {std::as_bytes(std::span(bytes))};
    write_gzip(one, [&](std::span<const std::byte> more) {
      result.append(reinterpret_cast<const char*>(more.data()), more.size());
    });
    return result;
  };
  for (const std::size_t cut : {std::size_t{100}, std::size_t{352}, std::size_t{100001}}) {
    write_bytes(folder / "b.nii.gz", member(plain.substr(0, cut)) + member(plain.substr(cut)));
    CHECK(read_nifti(folder / "b.nii.gz").voxels.to_vector() == image.voxels.to_vector());
  }
  std::string broken = member(plain);
  broken[broken.size() / 2] = static_cast<char>(broken[broken.size() / 2] ^ 0x55);
  write_bytes(folder / "b.nii.gz", broken);
  CHECK(error_of(folder / "b.nii.gz").starts_with("truncated or broken"));
}

TEST_CASE("what cannot be written leaves nothing behind") {
  const NiftiFolder folder;
  const Image image = random_image(off_centre());
  CHECK_THROWS_AS(write_nifti(folder / "a.img", image), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      write_nifti(folder.path / "none" / "a.nii", image),
      fmt::format("cannot create {}: No such file or directory", (folder.path / "none" / "a.nii").string()).c_str(),
      std::runtime_error);
  fs::create_directory(folder / "taken.nii");
  CHECK_THROWS_AS(write_nifti(folder / "taken.nii", image), std::runtime_error);
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
}
// SPDX-License-Identifier: Apache-2.0
