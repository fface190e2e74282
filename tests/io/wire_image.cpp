// Images on the wire: what is encoded is read back, and nothing damaged is accepted.
#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include "gadgets/io/wire/image.hpp"

using namespace tofstream;
using namespace tofstream::wire;

namespace {

const Grid grid = Grid::centred(3, 2, 2, {2, 3, 4.5F});

ImageHeader header() {
  return {.is_final = true,
          .run = 0x0123456789abcdef,
          .update = 24,
          .iteration = 3,
          .subset = 8,
          .first_event = 7,
          .end_event = 1'000'000,
          .made_ns = 1'800'000'000'000'000'000,
          .grid = grid,
          .unit = "Bq/mL"};
}

std::vector<float> voxels() {
  std::vector<float> values(12);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.25F * static_cast<float>(i);
  return values;
}

std::string why_not(const std::vector<std::byte>& message) {
  const auto decoded = decode_image(message);
  const auto* bad = std::get_if<BadImage>(&decoded);
  return bad ? bad->what : "";
}

}  // namespace

TEST_CASE("an image on the wire is read back, voxel by voxel, with all that its header says") {
  const auto message = encode_image(header(), voxels());
  CHECK(message.size() == 128 + 4 * 12);
  const auto decoded = decode_image(message);
  REQUIRE_MESSAGE(std::holds_alternative<ReceivedImage>(decoded), why_not(message));
  const auto& received = std::get<ReceivedImage>(decoded);
  CHECK(received.header == header());
  CHECK(std::ranges::equal(received.image().voxels.span(), voxels()));
}

TEST_CASE("an image's bytes lie where the document says") {
  const auto message = encode_image(header(), voxels());
  const auto at = [&]<class T>(std::size_t offset, T) {
    T value;
    std::memcpy(&value, message.data() + offset, sizeof value);
    return value;
  };
  CHECK(std::memcmp(message.data(), "TOFI\x02\x00\x80\x00", 8) == 0);
  CHECK(at(12, std::uint32_t{}) == 1);
  CHECK(at(16, std::uint64_t{}) == 0x0123456789abcdef);
  CHECK(at(24, std::uint64_t{}) == 24);
  CHECK(at(32, std::uint32_t{}) == 3);
  CHECK(at(36, std::uint32_t{}) == 8);
  CHECK(at(40, std::uint64_t{}) == 7);
  CHECK(at(48, std::uint64_t{}) == 1'000'000);
  CHECK(at(64, std::uint32_t{}) == 3);
  CHECK(at(84, float{}) == 4.5F);
  CHECK(at(88, float{}) == -2.0F);
  CHECK(std::memcmp(message.data() + 100, "Bq/mL\0\0\0\0\0\0\0\0\0\0\0", 16) == 0);
  CHECK(at(116, std::uint32_t{}) == 1);
  CHECK(at(120, std::uint64_t{}) == 48);
  CHECK(at(128 + 4, float{}) == 0.25F);
}

TEST_CASE("an image on the wire says whether it is quantitative, and why not") {
  ImageHeader marked = header();
  marked.not_quantitative_because = "inner (tof_window) left out valid events";
  auto message = encode_image(marked, voxels());
  CHECK(message.size() == 128 + 48 + 4 * 12);
  auto decoded = decode_image(message);
  REQUIRE_MESSAGE(std::holds_alternative<ReceivedImage>(decoded), why_not(message));
  CHECK(std::get<ReceivedImage>(decoded).header == marked);
  CHECK(std::ranges::equal(std::get<ReceivedImage>(decoded).image().voxels.span(), voxels()));
  marked = header();
  marked.is_quantitative = true;
  message = encode_image(marked, voxels());
  CHECK(message[12] == std::byte{3});  // final, quantitative
  decoded = decode_image(message);
  CHECK(std::get<ReceivedImage>(decoded).header == marked);
}

TEST_CASE("an image on the wire says how it was filtered, behind the words that an older reader looks for") {
  const auto text = [](const std::vector<std::byte>& message, std::size_t size) {
    return std::string(reinterpret_cast<const char*>(message.data()) + 128, size);
  };
  ImageHeader smooth = header();
  smooth.filtered = "smoothed by 5 mm FWHM";  // 21 bytes
  auto message = encode_image(smooth, voxels());
  CHECK(message.size() == 128 + 32 + 4 * 12);
  CHECK(text(message, 32) == '\0' + smooth.filtered + std::string(10, '\0'));
  auto decoded = decode_image(message);
  REQUIRE_MESSAGE(std::holds_alternative<ReceivedImage>(decoded), why_not(message));
  CHECK(std::get<ReceivedImage>(decoded).header == smooth);
  CHECK(std::ranges::equal(std::get<ReceivedImage>(decoded).image().voxels.span(), voxels()));

  smooth.not_quantitative_because = "a gate";  // with the zero and 21 bytes 28
  message = encode_image(smooth, voxels());
  CHECK(message.size() == 128 + 32 + 4 * 12);
  CHECK(std::string(text(message, 32).c_str()) == "a gate");  // what a reader takes that knows no second text
  decoded = decode_image(message);
  CHECK(std::get<ReceivedImage>(decoded).header == smooth);
  smooth.not_quantitative_because = "a gate, " + std::string(2, '-');  // 10 + 1 + 21: no zero at the end
  message = encode_image(smooth, voxels());
  CHECK(message.size() == 128 + 32 + 4 * 12);
  decoded = decode_image(message);
  CHECK(std::get<ReceivedImage>(decoded).header == smooth);
}

TEST_CASE("no damaged image is believed: each bit that is flipped and each byte that is missing shows") {
  const auto whole = encode_image(header(), voxels());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    auto message = whole;
    message[bit / 8] ^= std::byte{1} << (bit % 8);
    CAPTURE(bit);
    CHECK_FALSE(why_not(message).empty());
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(why_not({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}).empty());
  }
}

TEST_CASE("what is no image of voxels cannot be encoded") {
  CHECK_THROWS_AS(encode_image(header(), std::vector<float>(11)), std::invalid_argument);
  ImageHeader other = header();
  other.unit = "becquerels per mL";
  CHECK_THROWS_WITH(encode_image(other, voxels()), "unit 'becquerels per mL' is longer than 16 bytes: abbreviate it");
  other = header();
  other.grid.blob = {2, 8};
  CHECK_THROWS_AS(encode_image(other, voxels()), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
