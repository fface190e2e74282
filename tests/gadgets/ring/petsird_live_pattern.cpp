// Live fractions of pairs of modules on their way from dead-time blocks to batches, subsets and the sensitivity's
// pattern; blocks that leave time uncovered, or come too late.
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/types/live_pattern.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

/// Pairs of modules of type 0 with this live fraction, all others with 1.
DeadTimeBlock live_block(std::uint32_t start_ms, std::uint32_t stop_ms, float fraction) {
  return {{start_ms, stop_ms},
          {{}, {{{{1}, {fraction, 1}, {fraction, fraction, 1}}}, {{{1, 1, 1}, {1, 1, 1}}, {{1}, {1, 1}}}}}};
}

struct LivePiece {
  std::uint32_t start_ms, stop_ms;
};

/// Ten events in each piece, with these dead-time blocks before the events, or after them.
ByteBlock live_stream(const std::vector<DeadTimeBlock>& blocks, const std::vector<LivePiece>& pieces,
                      bool late = false) {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), toy::header());
  const auto ten = toy::events(10, {24, 24, 5}, true);
  const auto write_blocks = [&] {
    for (const DeadTimeBlock& block : blocks) writer.write_block(block);
  };
  if (!late) write_blocks();
  for (const LivePiece& piece : pieces) writer.write_events({piece.start_ms, piece.stop_ms}, {ten});
  if (late) write_blocks();
  writer.finish();
  return {std::move(bytes)};
}

std::vector<std::shared_ptr<const EventBatch>> decode_live(RegisteredGadgetTest<EventBatch>& decoder,
                                                           ByteBlock stream) {
  decoder.send(std::make_shared<const ByteBlock>(std::move(stream)));
  decoder.finish();
  return decoder.out.all();
}

double live_of_pair(const EventBatch& batch, std::uint32_t module1, std::uint32_t module2) {
  return batch.exposure * (batch.live ? static_cast<double>(batch.live->of(module1, module2)) : 1.0);
}

}  // namespace

TEST_CASE("a batch's exposure times its pattern is the live fraction of each pair of modules over its time") {
  RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", "{batch_events: 10}");
  const auto batches = decode_live(
      decoder, live_stream({live_block(0, 1000, 0.5F), live_block(1000, 2000, 0.9F), live_block(2000, 3000, 1)},
                           {{0, 1000}, {500, 1500}, {2000, 3000}}));
  REQUIRE(batches.size() == 3);
  CHECK(live_of_pair(*batches[0], 1, 0) == approx(0.5));
  CHECK(live_of_pair(*batches[0], 0, 2) == approx(0.5));
  CHECK(live_of_pair(*batches[0], 3, 0) == approx(1));
  CHECK(live_of_pair(*batches[1], 1, 0) == approx(0.7));
  CHECK(live_of_pair(*batches[1], 4, 1) == approx(1));
  CHECK(batches[2]->live == nullptr);  // all alike
  CHECK(batches[2]->exposure == 1);
  CHECK(std::get<double>(decoder.context.figures().at("live_fraction_spread")) > 0.1);
}

TEST_CASE("events of a time that no dead-time block covers are an error") {
  const auto error_of = [](std::vector<DeadTimeBlock> blocks, const char* params) -> std::string {
    RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", params);
    try {
      decode_live(decoder, live_stream(blocks, {{0, 1000}, {1000, 2000}, {2000, 3000}}));
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  };
  const char* params = "{batch_events: 10}";
  CHECK(error_of({live_block(0, 3000, 0.5F)}, params).empty());
  CHECK(error_of({live_block(2000, 3000, 0.5F), live_block(0, 2000, 0.5F)}, params).empty());
  CHECK(error_of({live_block(0, 1000, 0.5F), live_block(2000, 3000, 0.6F)}, params).find("leave 1 to 2 s uncovered") !=
        std::string::npos);
  CHECK(error_of({live_block(0, 2500, 0.5F)}, params).find("leave 2.5 to 3 s uncovered") != std::string::npos);
  CHECK(error_of({live_block(500, 3000, 0.5F)}, params).find("leave 0 to 0.5 s") != std::string::npos);
  CHECK(error_of({live_block(0, 1000, 0.5F)}, "{batch_events: 10, dead_time: false}").empty());
  CHECK(error_of({}, params).empty());
}

TEST_CASE(
    "subsets of the whole scan carry the mean pattern over the scan, and those that go out as they come the mean so "
    "far") {
  for (const bool whole : {true, false}) {
    RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", "{batch_events: 10}");
    const auto batches = decode_live(
        decoder, live_stream({live_block(0, 1000, 0.5F), live_block(1000, 2000, 1)}, {{0, 1000}, {1000, 2000}}));
    RegisteredGadgetTest<EventSubset> subsets("subset_builder", whole ? "{subsets: 2, iterations: 2, backend: cpu}"
                                                                      : "{events: 10, iterations: 2, backend: cpu}");
    for (const auto& batch : batches) subsets.send(batch);
    subsets.finish();
    const auto all = subsets.out.all();
    REQUIRE(all.size() == 5);  // an announcement, and twice two subsets
    CHECK((all[0]->conditions.live == nullptr) ==
          whole);  // the sensitivity waits for the mean, or begins with the first pattern
    REQUIRE(all[0]->announced->live != nullptr);
    const double e1 = batches[0]->exposure, pair = (0.5 + 1) / (e1 + 1), other = 2 / (e1 + 1);
    for (std::size_t k = whole ? 1 : 2; k < 5; ++k) {
      REQUIRE(all[k]->conditions.live != nullptr);
      CHECK(all[k]->conditions.live->of(1, 0) == approx(pair));
      CHECK(all[k]->conditions.live->of(3, 0) == approx(other));
    }
    if (!whole) CHECK(all[1]->conditions.live == batches[0]->live);
  }
}

TEST_CASE("live subsets carry the mean pattern of the subsets that went out so far") {
  RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", "{batch_events: 10}");
  const auto batches = decode_live(
      decoder, live_stream({live_block(0, 1000, 0.5F), live_block(1000, 2000, 1)}, {{0, 1000}, {1000, 2000}}));
  RegisteredGadgetTest<EventSubset> subsets("live_subsets", "{events: 10, iterations: 1, backend: cpu, order: ''}");
  for (const auto& batch : batches) subsets.send(batch);
  subsets.finish();
  const auto all = subsets.out.all();
  REQUIRE(all.size() >= 3);
  CHECK(all[0]->conditions.live == batches[0]->live);
  CHECK(all[1]->conditions.live->of(1, 0) * batches[0]->exposure == approx(0.5));
  CHECK(all[2]->conditions.live->of(1, 0) == approx(1.5 / (batches[0]->exposure + 1)));
}

TEST_CASE("the time of a batch that a window emptied has its pattern") {
  RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", "{batch_events: 10}");
  const auto batches = decode_live(
      decoder, live_stream({live_block(0, 1000, 0.5F), live_block(1000, 2000, 1)}, {{0, 1000}, {1000, 2000}}));
  EventBatch emptied = batches[0]->without_arrays();
  emptied.count = 0;
  RegisteredGadgetTest<EventSubset> subsets("subset_builder", "{subsets: 1, backend: cpu}");
  subsets.send(std::move(emptied));
  subsets.send(batches[1]);
  subsets.finish();
  CHECK(subsets.out.all().back()->conditions.live->of(1, 0) == approx(1.5 / (batches[0]->exposure + 1)));
}
// SPDX-License-Identifier: Apache-2.0
