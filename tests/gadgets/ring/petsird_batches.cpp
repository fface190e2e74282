// Batches of a PETSIRD stream do not depend, to the last bit of their times, on the pieces in which its bytes came, so
// that a live stream is cut into the same subsets as its recording.
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "tests/io/petsird_toy.hpp"

using namespace tofstream;

namespace {

std::vector<std::shared_ptr<const EventBatch>> batches(const petsird::toy::Bytes& bytes, std::size_t piece) {
  RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", "{batch_events: 700, bed_movement: ignore, gantry_movement: ignore}");
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto end = std::min(at + piece, bytes.size());
    decoder.send(
        ByteBlock{{bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(end)}});
  }
  decoder.finish();
  return decoder.out.all();
}

}  // namespace

TEST_CASE("however a stream's bytes come, its batches and their times are the same") {
  const auto bytes = petsird::toy::stream(3000);
  const auto whole = batches(bytes, bytes.size());
  REQUIRE(whole.size() > 4);
  for (const std::size_t piece : {1, 7, 73, 1000, 4096}) {
    CAPTURE(piece);
    const auto pieces = batches(bytes, piece);
    REQUIRE(pieces.size() == whole.size());
    for (std::size_t k = 0; k < whole.size(); ++k) {
      CHECK(pieces[k]->start_s == whole[k]->start_s);
      CHECK(pieces[k]->duration_s == whole[k]->duration_s);
      CHECK(pieces[k]->exposure == whole[k]->exposure);
      CHECK(std::ranges::equal(pieces[k]->detector1.span(), whole[k]->detector1.span()));
      CHECK(std::ranges::equal(pieces[k]->tof_mm.span(), whole[k]->tof_mm.span()));
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
