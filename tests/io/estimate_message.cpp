// Estimates as the live page gets them: byte by byte, within half a code, with voxels averaged if there are too many.
#include "gadgets/io/page/estimate_message.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/analysis/block_means.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::page;

namespace {

Image image_of(int nx, int ny, int nz, const std::vector<float>& values) {
  Image image = Image::zeros(Grid::centred(nx, ny, nz, {2, 3, 4}));
  REQUIRE(static_cast<std::int64_t>(values.size()) == image.grid.voxels());
  std::ranges::copy(values, image.voxels.span().begin());
  return image;
}

Image ramp(int nx, int ny, int nz) {
  std::vector<float> values(static_cast<std::size_t>(nx * ny * nz));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 3;
  return image_of(nx, ny, nz, values);
}

template <class T>
T at(const std::string& message, std::size_t place) {
  T value{};
  std::memcpy(&value, message.data() + place, sizeof value);  // the tests run on little-endian machines
  return value;
}

// As the page decodes it.
float value_at(const std::string& message, std::size_t voxel) {
  return at<float>(message, 64) + at<float>(message, 60) * at<std::uint16_t>(message, 96 + 2 * voxel);
}

}  // namespace

TEST_CASE("an estimate's message is as documented, byte by byte") {
  const EstimateCaption caption{
      .number = 7, .iteration = 2, .subset = 5, .is_final = true, .seconds = 1.5, .end_event = 1ULL << 40U};
  const std::string message = estimate_message(ramp(3, 4, 5), caption, 1000);
  REQUIRE(message.size() == 96 + 2 * 60);
  CHECK(message.substr(0, 4) == "TOFE");
  CHECK(at<std::uint8_t>(message, 4) == 2);
  CHECK(at<std::uint8_t>(message, 5) == 1);
  CHECK(at<std::uint16_t>(message, 6) == 96);
  CHECK(at<std::uint32_t>(message, 8) == 7);
  CHECK(at<std::uint32_t>(message, 12) == 2);
  CHECK(at<std::uint32_t>(message, 16) == 5);
  CHECK(at<std::uint32_t>(message, 20) == 1);
  CHECK(at<std::array<std::uint32_t, 3>>(message, 24) == std::array<std::uint32_t, 3>{3, 4, 5});
  CHECK(at<std::array<float, 3>>(message, 36) == std::array<float, 3>{2, 3, 4});
  CHECK(at<std::array<float, 3>>(message, 48) == std::array<float, 3>{-2, -4.5, -8});
  CHECK(at<float>(message, 60) == approx(59.0 / 65535).epsilon(1e-6));
  CHECK(at<float>(message, 64) == -3);
  CHECK(at<float>(message, 68) == 1.5F);
  CHECK(at<std::uint64_t>(message, 72) == 1ULL << 40U);
  CHECK(at<std::uint16_t>(message, 96) == 0);
  CHECK(at<std::uint16_t>(message, 96 + 2 * 59) == 65535);
}

TEST_CASE("every voxel comes back within half a code") {
  const Image image = ramp(10, 9, 8);
  const std::string message = estimate_message(image, {}, 1000);
  const float half_code = 0.5F * at<float>(message, 60);
  const std::span<const float> values = image.voxels.span();
  for (std::size_t i = 0; i < values.size(); ++i)
    REQUIRE(std::abs(value_at(message, i) - values[i]) <= 1.01F * half_code);
}

TEST_CASE("values that are not finite, all alike, or huge make no rubbish") {
  const float infinite = std::numeric_limits<float>::infinity(), huge = std::numeric_limits<float>::max();
  const std::string strange = estimate_message(image_of(2, 2, 1, {std::nanf(""), infinite, -infinite, 5}), {}, 10);
  for (std::size_t i = 0; i < 4; ++i) CHECK(value_at(strange, i) == 5);
  const std::string none = estimate_message(image_of(1, 1, 1, {infinite}), {}, 10);
  CHECK(std::isfinite(value_at(none, 0)));
  const std::string wide = estimate_message(image_of(3, 1, 1, {-huge, 0, huge}), {}, 10);
  CHECK(at<std::uint16_t>(wide, 96) == 0);
  CHECK(std::abs(value_at(wide, 1)) < 1e-4F * huge);
  CHECK(at<std::uint16_t>(wide, 100) == 65535);
}

TEST_CASE("a large image is sent with its voxels averaged, as many as may be sent") {
  const Image image = ramp(5, 4, 3);
  const std::string message = estimate_message(image, {}, 59);
  CHECK(at<std::uint32_t>(message, 20) == 2);
  CHECK(message.size() == 96 + 2 * 12);
  CHECK(value_at(message, 0) == approx(block_means(image, 2).voxels.span()[0]).epsilon(1e-4));
}

TEST_CASE("an image of blobs is none that can be sent") {
  Grid grid = Grid::centred(4, 4, 4, {2, 2, 2});
  grid.blob = {4, 8};
  CHECK_THROWS_AS(estimate_message(Image::zeros(grid), {}, 1000), std::invalid_argument);
}

TEST_CASE("an estimate's message says what its values are, and why they are not quantitative") {
  const std::string why = "inner (tof_window) left out valid events";
  const std::string message = estimate_message(ramp(3, 2, 2), {.unit = "Bq/mL", .not_quantitative_because = why}, 1000);
  CHECK(message.substr(80, 16) == std::string("Bq/mL") + std::string(11, '\0'));
  const auto begin = at<std::uint16_t>(message, 6);
  CHECK(begin == 96 + 48);  // 40 letters, filled up to a multiple of 16
  CHECK(message.substr(96, why.size()) == why);
  CHECK(message.size() == begin + 2U * 12);
  CHECK(at<std::uint16_t>(message, message.size() - 2) == 65535);
}

TEST_CASE("an estimate's message says how it was filtered, after why it is not quantitative or alone") {
  const std::string filtered = "smoothed by 5 mm FWHM";
  const std::string alone = estimate_message(ramp(3, 2, 2), {.filtered = filtered}, 1000);
  CHECK(at<std::uint16_t>(alone, 6) == 96 + 32);  // a zero and 21 letters
  CHECK(alone.substr(96, 32) == '\0' + filtered + std::string(10, '\0'));
  const std::string both =
      estimate_message(ramp(3, 2, 2), {.not_quantitative_because = "a gate", .filtered = filtered}, 1000);
  CHECK(both.substr(96, 32) == "a gate" + ('\0' + filtered) + std::string(4, '\0'));
  CHECK(both.size() == 96 + 32 + 2 * 12);
}
// SPDX-License-Identifier: Apache-2.0
