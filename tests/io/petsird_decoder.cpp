// Streams written and decoded again: everything written comes back, however the bytes are cut.
#include "gadgets/io/petsird/decoder.hpp"
#include "tests/io/petsird_toy.hpp"

namespace {

using namespace tofstream::petsird;

}  // namespace

TEST_CASE("PETSIRD decoder: header, events and blocks come back as they were written") {
  toy::Recording recording;
  const StreamCounts counts = toy::decode(toy::stream(), recording);
  CHECK(recording.version == Version::head);
  CHECK(recording.header == toy::header());
  CHECK(recording.warnings.empty());
  REQUIRE(recording.blocks.size() == 3 + toy::other_blocks().size());
  CHECK(recording.blocks_ended == recording.blocks.size());

  const auto& first = recording.blocks.front();
  CHECK(first.kind == BlockKind::event);
  CHECK(first.interval == TimeInterval{0, 4});
  REQUIRE(first.lists.size() == 4);
  CHECK(first.lists[0] == toy::Recording::List{EventKind::prompt, {0, 0}, toy::events(3000, {24, 24, 5}, true)});
  CHECK(first.lists[1] == toy::Recording::List{EventKind::prompt, {1, 0}, toy::events(7, {4, 24, 1}, false)});
  CHECK(first.lists[2] == toy::Recording::List{EventKind::prompt, {1, 1}, toy::events(2, {4, 4, 4}, true)});
  CHECK(first.lists[3] == toy::Recording::List{EventKind::delayed, {1, 0}, toy::events(3, {4, 24, 1}, false)});
  for (std::size_t i = 0; i < toy::other_blocks().size(); ++i) {
    const auto& block = recording.blocks[i + 1];
    CHECK(block.other == toy::other_blocks()[i]);
    CHECK(static_cast<std::size_t>(block.kind) == toy::other_blocks()[i].index() + 1);
  }
  CHECK(recording.blocks[8].lists.empty());
  CHECK(recording.blocks[9].lists.size() == 2);

  CHECK(counts.prompts == 3000 + 7 + 2 + 4);
  CHECK(counts.delayeds == 3);
  CHECK(counts.blocks == std::array<std::uint64_t, 7>{3, 2, 1, 1, 2, 1, 0});
  CHECK(counts.time_blocks() == 10);
  CHECK(counts.rejected == 0);
  CHECK(counts.ignored == 0);
}

TEST_CASE("PETSIRD decoder: every chunking gives the same") {
  const toy::Bytes bytes = toy::stream(1500);
  toy::Recording whole;
  const StreamCounts counts = toy::decode(bytes, whole);
  for (const std::size_t chunk : {1, 2, 3, 5, 7, 13, 64, 71, 72, 73, 100, 1000, 4096}) {
    CAPTURE(chunk);
    toy::Recording recording;
    CHECK(toy::decode(bytes, recording, chunk) == counts);
    CHECK(recording.header == whole.header);
    CHECK(recording.blocks == whole.blocks);
  }
}

TEST_CASE("PETSIRD decoder: cut in two anywhere gives the same") {
  const toy::Bytes bytes = toy::stream(40);
  toy::Recording whole;
  toy::decode(bytes, whole);
  for (std::size_t cut = 12'900; cut < bytes.size(); ++cut) {
    toy::Recording recording;
    Decoder decoder(recording);
    decoder.push(std::span(bytes).first(cut));
    decoder.push({});
    decoder.push(std::span(bytes).subspan(cut));
    decoder.finish();
    REQUIRE(recording.blocks == whole.blocks);
    REQUIRE(recording.header == whole.header);
  }
}

TEST_CASE("PETSIRD decoder: events are delivered while their list is still arriving, in bounded pieces") {
  const toy::Bytes bytes = toy::stream(100'000);
  toy::Recording recording;
  Decoder decoder(recording);
  decoder.push(std::span(bytes).first(100'000));
  REQUIRE(recording.blocks.size() == 1);
  REQUIRE(recording.blocks[0].lists.size() == 1);
  const std::size_t first = recording.blocks[0].lists[0].events.size();
  CHECK(first > 20'000);
  CHECK(first < 100'000);
  decoder.push(std::span(bytes).subspan(100'000));
  decoder.finish();
  CHECK(recording.blocks[0].lists[0].events.size() == 100'000);
  CHECK(recording.largest_piece <= 1024);
  CHECK(recording.put_by_cores > 50'000);
  toy::Recording slow;
  Decoder in_small_chunks(slow);
  for (std::size_t at = 0; at < bytes.size(); at += 100'000)
    in_small_chunks.push(std::span(bytes).subspan(at, std::min<std::size_t>(100'000, bytes.size() - at)));
  in_small_chunks.finish();
  CHECK(slow.largest_piece <= 1024);
  CHECK(slow.put_by_cores > 0);
  CHECK(slow.blocks[0].lists[0].events == recording.blocks[0].lists[0].events);
}

TEST_CASE("PETSIRD decoder: stream items may come several at a time") {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), toy::header());
  writer.flush();
  const std::size_t start = bytes.size();
  const auto events = toy::events(9, {24, 24, 5}, true);
  writer.write_events({1, 2}, {events});
  writer.flush();
  const toy::Bytes block(bytes.begin() + static_cast<std::ptrdiff_t>(start) + 1,
                         bytes.end());  // without its count of 1
  bytes.resize(start);
  bytes.push_back(std::byte{3});
  for (int i = 0; i < 3; ++i) bytes.insert(bytes.end(), block.begin(), block.end());
  bytes.push_back(std::byte{1});
  bytes.insert(bytes.end(), block.begin(), block.end());
  bytes.push_back(std::byte{0});
  toy::Recording recording;
  CHECK(toy::decode(bytes, recording, 11).prompts == 36);
  CHECK(recording.blocks.size() == 4);
}

TEST_CASE("PETSIRD decoder: an end between blocks without the end mark is a warning") {
  toy::Bytes bytes = toy::stream(5);
  bytes.pop_back();
  toy::Recording recording;
  toy::decode(bytes, recording);
  REQUIRE(recording.warnings.size() == 1);
  CHECK(recording.warnings[0].find("after 10 time blocks without its end mark") != std::string::npos);
}

TEST_CASE("PETSIRD decoder: exceptions of the handler pass through") {
  struct Throwing : Handler {
    void on_header(Header&&) override { throw std::out_of_range("mine"); }
  };
  Throwing handler;
  Decoder decoder(handler);
  const toy::Bytes bytes = toy::stream(1);
  CHECK_THROWS_AS(decoder.push(bytes), std::out_of_range);
  CHECK_THROWS_AS(decoder.push(bytes), Error);
}
// SPDX-License-Identifier: Apache-2.0
