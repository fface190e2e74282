// The writer: its order of events, what it refuses, and that it needs little memory.
#include "gadgets/io/petsird/standard_schema.hpp"
#include "gadgets/io/petsird/writer.hpp"
#include "tests/io/petsird_toy.hpp"

namespace {

using namespace tofstream::petsird;

std::string error_of_events(const Header& header, const EventLists& prompts, const EventLists& delayeds) {
  Writer writer([](std::span<const std::byte>) {}, header);
  try {
    writer.write_events({0, 1}, prompts, delayeds);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("PETSIRD writer: an event whose smaller bin is first is turned over, its ToF bin with it") {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), toy::header());
  const std::vector<CoincidenceEvent> same{{3, 9, 0}, {9, 3, 0}, {5, 5, 1}, {2, 4, 2}};
  const std::vector<CoincidenceEvent> mixed{{1, 20, 0}};
  const std::vector<CoincidenceEvent> unequal{{0, 1, 0}, {0, 1, 2}};  // ToF centres -24 and 10
  writer.write_events({0, 1}, {same, mixed, unequal});
  writer.finish();
  toy::Recording recording;
  toy::decode(bytes, recording);
  const auto& lists = recording.blocks.at(0).lists;
  CHECK(lists.at(0).events == std::vector<CoincidenceEvent>{{9, 3, 4}, {9, 3, 0}, {5, 5, 1}, {4, 2, 2}});
  CHECK(lists.at(1).events == mixed);
  CHECK(lists.at(2).events == std::vector<CoincidenceEvent>{{1, 0, 3}, {1, 0, 0}});
}

TEST_CASE("PETSIRD writer: v0.10.0 is HEAD without the collimator") {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), toy::header(), Version::v0_10);
  writer.write_events({0, 1}, {});
  writer.finish();
  toy::Recording recording;
  toy::decode(bytes, recording, 3);
  CHECK(recording.version == Version::v0_10);
  Header expected = toy::header();
  expected.scanner.collimator_type.clear();
  CHECK(recording.header == expected);
  CHECK_THROWS_AS(Writer(toy::sink_to(bytes), toy::header(), Version::v0_8_to_v0_9), Error);
}

TEST_CASE("PETSIRD writer: a list whose policy is 'none' is absent, and events for it are an error") {
  Header header = toy::header();
  header.scanner.delayed_event_policy = CoincidencePolicy::none;
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), header);
  writer.flush();
  bytes.clear();
  writer.write_events({0, 1}, {});
  writer.finish();
  const toy::Bytes expected{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{1}, std::byte{0},  // one block, 0..1 ms
                            std::byte{2}, std::byte{1}, std::byte{0}, std::byte{2}, std::byte{0},
                            std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}};
  CHECK(bytes == expected);
  const std::vector<CoincidenceEvent> one{{1, 0, 0}};
  CHECK(error_of_events(header, {}, {one}).find("delayedEventPolicy is 'none'") != std::string::npos);
}

TEST_CASE("PETSIRD writer: what it refuses") {
  const Header header = toy::header();
  const std::vector<CoincidenceEvent> bin{{24, 0, 0}};
  const std::vector<CoincidenceEvent> tof{{2, 1, 5}};
  const std::vector<CoincidenceEvent> good{{2, 1, 0}};
  CHECK(error_of_events(header, {bin}, {}).find("bins (24, 0) in ToF bin 0 for types 0 and 0") != std::string::npos);
  CHECK(error_of_events(header, {tof}, {}).find("ToF bin 5") != std::string::npos);
  CHECK(error_of_events(header, {good, {}, {}, good}, {}).find("4 lists of prompts for 2 types") != std::string::npos);
  Header one_sided = header;
  one_sided.scanner.tof_bin_edges_mm[0][0] = {10, 20, 30};
  const std::vector<CoincidenceEvent> reversed{{1, 2, 0}};
  CHECK(error_of_events(one_sided, {reversed}, {}).find("make tofBinEdges symmetric") != std::string::npos);
  Writer writer([](std::span<const std::byte>) {}, header);
  writer.finish();
  CHECK_THROWS_AS(writer.write_events({0, 1}, {}), Error);
}

TEST_CASE("PETSIRD writer: a large block leaves in pieces") {
  std::size_t pieces = 0;
  std::size_t largest = 0;
  Writer writer(
      [&](std::span<const std::byte> piece) {
        ++pieces;
        largest = std::max(largest, piece.size());
      },
      toy::header());
  const auto events = toy::events(200'000, {24, 24, 5}, true);
  writer.write_events({0, 1000}, {events});
  writer.finish();
  CHECK(pieces >= 9);
  CHECK(largest < (1U << 16U) + 100);
}

TEST_CASE("PETSIRD writer: what the sink throws passes through") {
  CHECK_THROWS_AS(
      Writer([](std::span<const std::byte>) { throw std::runtime_error("disk full"); }, toy::header()).flush(),
      std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
