// gzip as it comes: members, pieces of any size, damage.
#include "gadgets/io/unpack.hpp"

#include <random>

#include <doctest/doctest.h>
#include <zlib.h>

#include "gadgets/io/first_bytes.hpp"

using namespace tofstream;

namespace {

using Bytes = Unpacker::Bytes;

Bytes noise(std::size_t count) {
  std::mt19937 random(1);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 7);  // it shrinks
  return bytes;
}

Bytes packed(const Bytes& plain) {
  z_stream stream{};
  REQUIRE(::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes bytes(::deflateBound(&stream, plain.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  bytes.resize(stream.total_out);
  ::deflateEnd(&stream);
  return bytes;
}

Bytes unpacked(const Bytes& stream, std::size_t step, std::size_t piece = 1000) {
  Unpacker unpacker(piece);
  Bytes all;
  const auto give = [&](Bytes&& bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); };
  for (std::size_t at = 0; at < stream.size(); at += step)
    unpacker.push(Bytes(stream.begin() + static_cast<std::ptrdiff_t>(at),
                        stream.begin() + static_cast<std::ptrdiff_t>(std::min(stream.size(), at + step))),
                  give);
  unpacker.finish(give);
  return all;
}

Bytes packed_bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("gzip is unpacked, in pieces of any size; members follow one another; zeros may end the file") {
  const Bytes plain = noise(10000), stream = packed(plain);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    CAPTURE(step);
    CHECK(unpacked(stream, step) == plain);
    CHECK(unpacked(stream, step, 1) == plain);
    CHECK(unpacked(joined(stream, stream), step) == joined(plain, plain));
    CHECK(unpacked(joined(stream, Bytes(20)), step) == plain);
  }
  CHECK(unpacked(packed({}), 3).empty());
}

TEST_CASE("what is not gzip passes as it is, be it a byte") {
  for (const char* text : {"", "y", "yardl", "\x1f", "\x1fX"})
    for (const std::size_t step : {1, 2, 100}) CHECK(unpacked(packed_bytes(text), step) == packed_bytes(text));
}

TEST_CASE("gzip that is cut short or damaged is refused with what to do") {
  const Bytes stream = packed(noise(10000));
  for (const std::size_t kept : {std::size_t{2}, std::size_t{12}, stream.size() / 2, stream.size() - 1})
    CHECK_THROWS_WITH(unpacked(Bytes(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(kept)), 100),
                      doctest::Contains("the file was cut short, get a fresh copy"));
  Bytes wrong = stream;
  wrong[wrong.size() - 6] ^= std::byte{1};  // its checksum
  CHECK_THROWS_WITH(unpacked(wrong, 100), doctest::Contains("gzip data are damaged at byte "));
  CHECK_THROWS_WITH(unpacked(joined(stream, packed_bytes("rubbish")), 100), doctest::Contains("gzip data are damaged"));
}

TEST_CASE("formats are told apart by their first bytes") {
  const auto name = [](std::string_view text) { return kind_of_file(std::as_bytes(std::span(text))).name; };
  using namespace std::string_view_literals;
  CHECK(name("\x1f\x8b\x08\x00"sv) == "a gzip file");
  CHECK(name("yardl\x01\0\0\0"sv) == petsird_name);
  CHECK(name("PK\x03\x04 "sv) == "a zip archive");
  CHECK(name("\x28\xb5\x2f\xfd "sv) == "a zstd file");
  CHECK(name("root\0\0\xf5\x5e"sv) == "a ROOT file, such as GATE writes");
  CHECK(name("\x89HDF\r\n\x1a\n"sv) == "an HDF5 file");
  CHECK(name(std::string(128, '\0') + "DICM") == "a DICOM file");
  std::string nifti(348, '\0');
  nifti.replace(344, 4, "n+1\0"sv);
  CHECK(name(nifti) == "a NIfTI image");
  CHECK(name("!INTERFILE  :=\n!imaging modality := PT\n") == "an Interfile header");
  CHECK(name("Data filename: scan.cdf\nNumber of events: 10\nData mode: list-mode\nScanner name: x\n") ==
        "a CASToR header");
  CHECK(name("  {\"yardl\": 1}") == "JSON");
  CHECK(name("hello\n") == "text");
  CHECK(name("\x01\x02\x00"sv) == "unknown data");
  CHECK(name("") == "unknown data");
  CHECK(kind_of_file(packed_bytes("\x28\xb5\x2f\xfd")).is_packed == "zstd -d");
}
// SPDX-License-Identifier: Apache-2.0
