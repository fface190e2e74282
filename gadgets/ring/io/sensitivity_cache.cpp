// Sensitivity images on disk: see sensitivity_cache.hpp. All numbers are little-endian.
#include "gadgets/ring/io/sensitivity_cache.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "core/base/atomic_file.hpp"
#include "core/base/private_folder.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace tofstream {

namespace {

static_assert(std::endian::native == std::endian::little, "the cache is written as memory holds it");

/// The bytes before the voxels; no padding.
struct CacheHeader {
  std::array<char, 16> magic{'t', 'o', 'f', 's', 't', 'r', 'e', 'a', 'm', ' ', 's', 'e', 'n', 's', ' ', '6'};
  std::array<char, 64> key{};
  std::int64_t pairs = 0, drawn = 0, projected = 0;
  double relative_error = 0, undrawn = 1, random_lines = 0;
  std::int32_t kind = 0;  // 1: exact, 2: a lattice
  std::int32_t size[3] = {};
  float voxel_mm[3] = {}, origin_mm[3] = {};
  float blob_radius_mm = 0, blob_alpha = 0;
  std::int32_t symmetries = 1, images = 1;  // 3 images: a sample's noise follows
};
static_assert(sizeof(CacheHeader) == 16 + 64 + 48 + 16 + 32 + 8);

// CRC32C, which is as fast as reading; a cryptographic hash of 25e6 voxels takes tenths of a second.
using Checksum = std::uint32_t;

/// The voxels of all images in order, in pieces, so that all threads read and check.
template <class S>
auto pieces_of(S& s) {
  constexpr std::size_t piece_voxels = std::size_t{1} << 20;
  std::vector<decltype(s.image.voxels.span())> pieces;
  for (auto* image : {&s.image, &s.noise.held_out, &s.noise.variance})
    for (auto rest = image->voxels.span(); !rest.empty(); rest = rest.subspan(pieces.back().size()))
      pieces.push_back(rest.first(std::min(rest.size(), piece_voxels)));
  return pieces;
}

/// The checksum of the header, and of the checksums of the pieces.
Checksum checksum_of(const CacheHeader& header, std::span<const Checksum> pieces) {
  return wire::crc32c(std::as_bytes(pieces), wire::crc32c(std::as_bytes(std::span(&header, 1))));
}

Checksum checksum_of(const CacheHeader& header, const Sensitivity& s) {
  const auto pieces = pieces_of(s);
  std::vector<Checksum> sums(pieces.size());
  tbb::parallel_for(std::size_t{0}, pieces.size(),
                    [&](std::size_t n) { sums[n] = wire::crc32c(std::as_bytes(pieces[n])); });
  return checksum_of(header, sums);
}

CacheHeader header_of(const std::string& key, const Sensitivity& s) {
  CacheHeader header;
  if (key.size() != header.key.size())
    throw std::invalid_argument("a sensitivity key has 64 hexadecimal digits: " + key);
  std::ranges::copy(key, header.key.begin());
  header.pairs = s.pairs;
  header.drawn = s.drawn;
  header.projected = s.projected;
  header.relative_error = s.relative_error;
  header.undrawn = s.noise.undrawn;
  header.random_lines = s.random_lines;
  header.kind = s.exact ? 1 : s.is_lattice ? 2 : 0;
  for (int a = 0; a < 3; ++a) {
    header.size[a] = s.image.grid.size[a];
    header.voxel_mm[a] = s.image.grid.voxel_mm[a];
    header.origin_mm[a] = s.image.grid.origin_mm[a];
  }
  header.blob_radius_mm = s.image.grid.blob.radius_mm;
  header.blob_alpha = s.image.grid.blob.alpha;
  header.symmetries = s.symmetries;
  header.images = s.noise.empty() ? 1 : 3;
  return header;
}

template <class T>
bool read(std::ifstream& file, T* data, std::uintmax_t bytes) {
  file.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(bytes));
  return static_cast<bool>(file);
}

/// Reads what follows the header, on all threads: an image of 25e6 voxels takes three times 100 MB. False if it cannot
/// be read or its checksum is wrong.
bool read_voxels(const std::filesystem::path& path, const CacheHeader& header, Sensitivity& s) {
  const auto pieces = pieces_of(s);
  std::vector<Checksum> sums(pieces.size());
  std::atomic<bool> is_read = true;
  std::vector<std::size_t> at(pieces.size() + 1, sizeof(CacheHeader));
  for (std::size_t n = 0; n < pieces.size(); ++n) at[n + 1] = at[n] + pieces[n].size_bytes();
  tbb::parallel_for(std::size_t{0}, pieces.size(), [&](std::size_t n) {
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at[n]));
    if (!read(file, pieces[n].data(), pieces[n].size_bytes())) is_read = false;
    sums[n] = wire::crc32c(std::as_bytes(pieces[n]));
  });
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at.back()));
  Checksum stored = 0;
  return is_read && read(file, &stored, sizeof stored) && stored == checksum_of(header, sums);
}

/// Reads a file, or says what is wrong with it.
std::optional<Sensitivity> read_file(const std::filesystem::path& path, const std::string& key, std::string& wrong) {
  std::ifstream file(path, std::ios::binary);
  CacheHeader header;
  const CacheHeader expected;
  if (!read(file, &header, sizeof header) || header.magic != expected.magic) {
    wrong = "not a sensitivity file of this version, so it is computed anew";
    return {};
  }
  const Grid grid{{header.size[0], header.size[1], header.size[2]},
                  {header.voxel_mm[0], header.voxel_mm[1], header.voxel_mm[2]},
                  {header.origin_mm[0], header.origin_mm[1], header.origin_mm[2]},
                  {header.blob_radius_mm, header.blob_alpha}};
  try {
    validate_basis(grid);
  } catch (const std::exception& error) {
    wrong = error.what();
    return {};
  }
  std::error_code error;
  const auto voxel_bytes = static_cast<std::uintmax_t>(grid.voxels()) * sizeof(float);
  if ((header.images != 1 && header.images != 3) ||
      std::filesystem::file_size(path, error) != sizeof header + header.images * voxel_bytes + sizeof(Checksum)) {
    wrong = "wrong length";
    return {};
  }
  Sensitivity result{.image = {grid, Buffer<float>(Memory::host, grid.voxels())},
                     .exact = header.kind == 1,
                     .is_lattice = header.kind == 2,
                     .pairs = header.pairs,
                     .drawn = header.drawn,
                     .projected = header.projected,
                     .relative_error = header.relative_error,
                     .symmetries = header.symmetries,
                     .random_lines = header.random_lines,
                     .noise = {.undrawn = header.undrawn}};
  if (header.images == 3)
    for (Image* image : {&result.noise.held_out, &result.noise.variance})
      *image = {grid, Buffer<float>(Memory::host, grid.voxels())};
  if (!read_voxels(path, header, result)) {
    wrong = "wrong checksum";
    return {};
  }
  if (!std::ranges::equal(header.key, key)) {
    wrong = "the key of another image";
    return {};
  }
  return result;
}

}  // namespace

std::filesystem::path SensitivityCache::path(const std::string& key) const {
  return folder_ / (key + ".sensitivity");
}

std::optional<Sensitivity> SensitivityCache::load(const std::string& key, const LogLine& log) const {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path(key), error)) return {};
  if (const std::string why = why_not_ours(folder_); !why.empty()) {
    if (log) log(fmt::format("no sensitivity is taken from {}: it {}", folder_.string(), why));
    return {};
  }
  std::string wrong;
  std::optional<Sensitivity> result = read_file(path(key), key, wrong);
  if (!result && log) log(fmt::format("ignoring {}: {}", path(key).string(), wrong));
  return result;
}

void SensitivityCache::store(const std::string& key, const Sensitivity& sensitivity) const {
  const CacheHeader header = header_of(key, sensitivity);
  const Checksum checksum = checksum_of(header, sensitivity);
  make_private_folder(folder_);
  if (const std::string why = why_not_ours(folder_); !why.empty())
    throw std::runtime_error(fmt::format("{} {}; XDG_CACHE_HOME names another folder", folder_.string(), why));
  AtomicFile temporary(path(key));
  temporary.write(std::as_bytes(std::span(&header, 1)));
  for (const Image* image : {&sensitivity.image, &sensitivity.noise.held_out, &sensitivity.noise.variance})
    temporary.write(std::as_bytes(image->voxels.span()));
  temporary.write(std::as_bytes(std::span(&checksum, 1)));
  temporary.commit();
}

Sensitivity SensitivityCache::get(const std::string& key, const std::function<Sensitivity()>& compute,
                                  const LogLine& log) const {
  std::string complaint;  // one line at most
  if (auto stored = load(key, [&](const std::string& line) { complaint = line; })) return std::move(*stored);
  Sensitivity result = compute();
  try {
    store(key, result);
  } catch (const std::exception& error) {
    complaint = fmt::format("the sensitivity is not kept for the next run: {}", error.what());
  }
  if (log && !complaint.empty()) log(complaint);
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
