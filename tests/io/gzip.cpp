// gzip of pieces compressed in parallel: one member that any reader accepts, the same for any number of threads, and no
// larger than zlib's.
#include "gadgets/io/nifti/gzip.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <tbb/task_arena.h>
#include <zlib.h>

using namespace tofstream;

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t piece = std::size_t{512} << 10;

Bytes compressed(std::span<const std::span<const std::byte>> input) {
  Bytes result;
  write_gzip(input, [&](std::span<const std::byte> more) { result.insert(result.end(), more.begin(), more.end()); });
  return result;
}

Bytes compressed(const Bytes& input) {
  const std::array one = {std::span<const std::byte>(input)};
  return compressed(one);
}

/// The contents of one gzip member, which must be all of `bytes`, with the right checksum and length.
Bytes inflated(const Bytes& bytes, std::size_t size) {
  Bytes result(size + 1);
  z_stream stream{};
  constexpr int gzip_only = 15 + 16;
  REQUIRE(inflateInit2(&stream, gzip_only) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  CHECK(stream.avail_in == 0);
  result.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

Bytes zlib_level_3(const Bytes& input) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 3, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes result(deflateBound(&stream, input.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

Bytes bytes_of(const std::vector<float>& voxels) {
  const auto bytes = std::as_bytes(std::span(voxels));
  return {bytes.begin(), bytes.end()};
}

/// Voxels as OSEM leaves them: noise within a disc of the given share of the edge, zeros around it.
Bytes noisy_disc(int edge, double radius) {
  std::mt19937 random(1);
  std::gamma_distribution<float> value(10, 1);
  std::vector<float> voxels;
  for (int y = 0; y < edge; ++y)
    for (int x = 0; x < edge; ++x)
      voxels.push_back(std::hypot(x - edge / 2, y - edge / 2) < radius * edge ? value(random) : 0.0f);
  return bytes_of(voxels);
}

}  // namespace

TEST_CASE("gzip of any length is one member that zlib reads back") {
  std::mt19937 random(1);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, piece - 1, piece, piece + 1, 3 * piece + 7}) {
    for (const unsigned values : {1u, 5u, 256u}) {  // zeros, few values, noise that does not shrink
      Bytes input(size);
      for (std::byte& b : input) b = static_cast<std::byte>(random() % values);
      const Bytes gzip = compressed(input);
      CHECK(inflated(gzip, size) == input);
      CHECK(gzip.size() <= size + size / 1000 + 100);
    }
  }
}

TEST_CASE("spans are compressed as if they were one, empty ones among them") {
  const Bytes input = noisy_disc(500, 0.4);
  const std::span<const std::byte> all(input);
  const std::array parts = {all.first(0),          all.first(3),           all.subspan(3, 0),
                            all.subspan(3, piece), all.subspan(3 + piece), all.first(0)};
  CHECK(inflated(compressed(parts), input.size()) == input);
}

TEST_CASE("gzip's bytes do not depend on the number of threads") {
  const Bytes input = noisy_disc(800, 0.4);
  const Bytes on_one = tbb::task_arena(1).execute([&] { return compressed(input); });
  CHECK(inflated(on_one, input.size()) == input);
  for (const int threads : {2, 3, 16}) {
    const Bytes on_many = tbb::task_arena(threads).execute([&] { return compressed(input); });
    // What a failure must tell: where, and whether both files still hold the input.
    const auto apart = std::ranges::mismatch(on_one, on_many).in1 - on_one.begin();
    INFO(threads << " threads, " << on_many.size() << " bytes, on one " << on_one.size());
    INFO("the first byte that differs: " << apart);
    CHECK(inflated(on_many, input.size()) == input);
    CHECK(on_many == on_one);
  }
}

// ISA-L's level 1 hashes an address: at about one place in some hundreds, a piece had other bytes.
TEST_CASE("gzip's bytes do not depend on where its work space lies in memory") {
  const Bytes input = noisy_disc(362, 0.4);
  REQUIRE(input.size() < piece);
  const Bytes first = compressed(input);
  std::vector<Bytes> moves_the_heap;
  for (int i = 0; i < 600; ++i) {
    moves_the_heap.emplace_back(100000);
    REQUIRE(compressed(input) == first);
  }
}

TEST_CASE("what the receiver of gzip throws comes out") {
  const Bytes input = noisy_disc(800, 0.4);
  const std::array one = {std::span<const std::byte>(input)};
  std::size_t taken = 0;
  CHECK_THROWS_WITH(write_gzip(one,
                               [&](std::span<const std::byte> bytes) {
                                 taken += bytes.size();
                                 if (taken > 100000) throw std::runtime_error("disk full");
                               }),
                    "disk full");
}

// tools/bench_whole_job measures the time.
TEST_CASE("gzip takes no more than a hundredth more room than zlib's level 3, which NIfTI files were written by") {
  for (const double radius : {0.1, 0.45}) {
    const Bytes image = noisy_disc(1000, radius);
    CHECK(static_cast<double>(compressed(image).size()) < 1.01 * static_cast<double>(zlib_level_3(image).size()));
  }
}
// SPDX-License-Identifier: Apache-2.0
