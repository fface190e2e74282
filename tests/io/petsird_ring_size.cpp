// A scanner's size as people name it, from the crystals of its header; and a scan in words.
#include "gadgets/io/petsird/describe.hpp"
#include "gadgets/io/petsird/ring_size.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream::petsird;

TEST_CASE("PETSIRD ring size: diameter between faces, length, crystals and rings") {
  tofstream::RingScanner ring;
  ring.inner_radius_mm = 150;
  ring.modules_transaxial = 12;
  ring.crystals_transaxial = 4;
  ring.crystals_axial = 5;
  const Header header = header_of(ring).header;
  const RingSize size = ring_size(header.scanner);
  CHECK(size.diameter_mm == tofstream::approx(300).epsilon(2e-4));
  CHECK(size.crystals == 12U * 4 * 5 * static_cast<unsigned>(ring.modules_axial));
  CHECK(size.rings == 5U * static_cast<unsigned>(ring.modules_axial));
  const auto geometry = tofstream::ring_geometry(ring);
  tofstream::Vec3 low = geometry.crystal_corners[0], high = low;
  for (const auto& corner : geometry.crystal_corners)
    for (int axis = 0; axis < 3; ++axis) {
      low.set(axis, std::min(low[axis], corner[axis]));
      high.set(axis, std::max(high[axis], corner[axis]));
    }
  const double volume = static_cast<double>((high - low).x * (high - low).y * (high - low).z);
  CHECK(size.tangential_mm * size.axial_mm * size.depth_mm == tofstream::approx(volume).epsilon(1e-4));
  CHECK(size.axial_length_mm == tofstream::approx(ring.axial_length_mm()).epsilon(1e-5));
  ScannerInformation none;
  CHECK(ring_size(none).crystals == 0);
}

TEST_CASE("PETSIRD summary in words: what a person asks of a scan") {
  Summariser summariser;
  Decoder decoder(summariser);
  const toy::Bytes bytes = toy::stream(3000);
  decoder.push(bytes);
  decoder.finish();
  const std::string words = in_words(summariser.summary(decoder));
  CAPTURE(words);
  for (const char* text : {"scanner ", " mm in diameter, ", "crystals ", "of 2 types", "time of flight ", " ps FWHM (",
                           "energy window ", "duration        0.4 s from ", "prompts         3,013, 7532 a second",
                           "delayeds        3", "corrections     the file has efficiencies, delayeds for the randoms",
                           "its events need randoms", "image           auto is {size: [", "format          PETSIRD "})
    CHECK_MESSAGE(words.find(text) != std::string::npos, text);
}
// SPDX-License-Identifier: Apache-2.0
