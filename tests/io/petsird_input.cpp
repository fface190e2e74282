// Numbers on the wire: varints in pieces, their limits, zigzag; many skipped at once.
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/event_codec.hpp"
#include "gadgets/io/petsird/input.hpp"

namespace {

using namespace tofstream::petsird;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

TEST_CASE("PETSIRD input: a varint is the same in one piece and byte by byte") {
  for (const std::uint64_t value :
       {0ULL, 1ULL, 127ULL, 128ULL, 300ULL, 16383ULL, 16384ULL, (1ULL << 32U) - 1, 1ULL << 40U, ~0ULL}) {
    std::vector<std::byte> bytes;
    append_varint(bytes, value);
    CHECK(bytes.size() == varint_size(value));
    Input input;
    std::uint64_t read = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      input.feed(std::span(bytes).subspan(i, 1));
      const bool complete = input.varint(read, 64);
      CHECK(complete == (i + 1 == bytes.size()));
      CHECK(input.inside_varint() == !complete);
    }
    CHECK(read == value);
    CHECK(input.offset() == bytes.size());
  }
}

TEST_CASE("PETSIRD input: a number beyond its type is an error, padding within ten bytes is not") {
  const auto read = [](const std::vector<std::byte>& bytes, unsigned bits) {
    Input input;
    input.feed(bytes);
    std::uint64_t value = 0;
    const bool complete = input.varint(value, bits);
    CHECK(complete);
    return value;
  };
  CHECK(read(bytes_of({0xff, 0xff, 0xff, 0xff, 0x0f}), 32) == 0xffffffffU);
  CHECK_THROWS_AS(read(bytes_of({0xff, 0xff, 0xff, 0xff, 0x1f}), 32), DataError);
  CHECK_THROWS_AS(read(bytes_of({0xff, 0xff, 0x04}), 16), DataError);
  CHECK(read(bytes_of({0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}), 32) == 5);
  CHECK(read(bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), 64) == ~0ULL);
  CHECK_THROWS_AS(read(bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}), 64), DataError);
  CHECK_THROWS_AS(read(bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}), 64), DataError);
}

TEST_CASE("PETSIRD input: zigzag") {
  CHECK(from_zigzag(0) == 0);
  CHECK(from_zigzag(1) == -1);
  CHECK(from_zigzag(2) == 1);
  CHECK(from_zigzag(3) == -2);
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'700'000'000'000'000'000},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    CHECK(from_zigzag(to_zigzag(value)) == value);
  }
}

TEST_CASE("PETSIRD input: skipping varints stops exactly behind the last") {
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < 100; ++i) append_varint(bytes, i * i * i * 1000);
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{17}, bytes.size()}) {
    for (std::uint64_t count = 0; count <= 100; ++count) {
      std::size_t expected = 0;
      for (std::uint64_t i = 0; i < count; ++i) expected += varint_size(i * i * i * 1000);
      Input input;
      std::uint64_t ended = 0;
      for (std::size_t at = 0; at < bytes.size() && ended < count; at += chunk) {
        input.feed(std::span(bytes).subspan(at, std::min(chunk, bytes.size() - at)));
        ended += input.skip_varints(count - ended);
      }
      CHECK(input.offset() == expected);
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
