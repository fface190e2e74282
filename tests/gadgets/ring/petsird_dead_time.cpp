// Dead-time blocks of a PETSIRD stream reach the events' exposure, and so event_corrections and subsets.
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

/// Ten events in each of two seconds, all of one pair of types; half of the pairs' coincidences are lost in the second.
ByteBlock dead_time_stream() {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), toy::header());
  const auto ten = toy::events(10, {24, 24, 5}, true);
  writer.write_block(DeadTimeBlock{{0, 1000}, {}});
  writer.write_events({0, 1000}, {ten});
  const float half = std::sqrt(0.5F);
  writer.write_block(DeadTimeBlock{{1000, 2000}, {{std::vector<float>(24, half), std::vector<float>(4, half)}, {}}});
  writer.write_events({1000, 2000}, {ten});
  writer.finish();
  return {std::move(bytes)};
}

std::vector<std::shared_ptr<const EventBatch>> decoded(RegisteredGadgetTest<EventBatch>& decoder) {
  decoder.send(std::make_shared<const ByteBlock>(dead_time_stream()));
  decoder.finish();
  return decoder.out.all();
}

}  // namespace

TEST_CASE("batches are exposed for the share of their time that the scanner was live") {
  RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", "{batch_events: 10}");
  const auto batches = decoded(decoder);
  REQUIRE(batches.size() == 2);
  CHECK(batches[0]->exposure == approx(1));
  CHECK(batches[1]->exposure == approx(0.5));
  CHECK(std::get<double>(decoder.context.figures().at("live_fraction")) == approx(0.75));
  RegisteredGadgetTest<EventBatch> joined("petsird_decoder", "{batch_events: 20}");
  CHECK(decoded(joined)[0]->exposure == approx(0.75));
  RegisteredGadgetTest<EventBatch> ignoring("petsird_decoder", "{batch_events: 10, dead_time: false}");
  CHECK(decoded(ignoring)[1]->exposure == 1);
}

TEST_CASE("what the stream states of dead time goes into corrections once") {
  RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", "{batch_events: 10}");
  const auto batches = decoded(decoder);
  RegisteredGadgetTest<EventBatch> corrections("event_corrections", "{normalisation: {from: none}, backend: cpu}");
  for (const auto& batch : batches) corrections.send(batch);
  corrections.finish();
  CHECK(corrections.out.pointer(1)->exposure == approx(0.5));
  // Some of the events are on pairs not in coincidence, whose terms are 0.
  CHECK(std::ranges::max(corrections.out.pointer(1)->multiplicative.span()) == approx(0.5));
  RegisteredGadgetTest<EventBatch> twice("event_corrections", "{dead_time: {live_fraction: 0.9}, backend: cpu}");
  CHECK_THROWS_WITH(twice.send(batches[1]), doctest::Contains("leave out dead_time.live_fraction"));
}
// SPDX-License-Identifier: Apache-2.0
