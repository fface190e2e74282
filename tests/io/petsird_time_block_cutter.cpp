// A PETSIRD stream cut into header and time blocks: the bytes are the stream's, however they arrive.
#include "gadgets/io/petsird/event_codec.hpp"
#include "gadgets/io/petsird/time_block_cutter.hpp"
#include "tests/io/petsird_toy.hpp"

using namespace tofstream::petsird;
using toy::Bytes;

namespace {

struct Cut {
  Bytes header;
  std::vector<Bytes> blocks;
  std::vector<TimeBlockCutter::Block> facts;
};

Cut cut(const Bytes& stream, std::size_t piece) {
  Cut got;
  TimeBlockCutter cutter(
      {.on_header = [&](std::span<const std::byte> bytes) { got.header.assign(bytes.begin(), bytes.end()); },
       .on_block =
           [&](const TimeBlockCutter::Block& block) {
             got.blocks.emplace_back(block.bytes.begin(), block.bytes.end());
             got.facts.push_back(block);
           },
       .on_warning = [](std::string_view) {}});
  for (std::size_t at = 0; at < stream.size(); at += piece)
    cutter.push(std::span(stream).subspan(at, std::min(piece, stream.size() - at)));
  cutter.finish();
  return got;
}

Bytes joined(const Cut& got, bool one_chunk) {
  Bytes all = got.header;
  if (one_chunk) append_varint(all, got.blocks.size());
  for (const Bytes& block : got.blocks) {
    if (!one_chunk) append_varint(all, 1);
    all.insert(all.end(), block.begin(), block.end());
  }
  all.push_back({});
  return all;
}

}  // namespace

TEST_CASE("header and time blocks together are the stream, in pieces of any size, in chunks of one or many blocks") {
  Bytes stream;
  Writer writer(toy::sink_to(stream), toy::header());
  const std::uint32_t events[] = {3, 0, 200};
  for (std::uint32_t k = 0; k < 3; ++k)
    writer.write_events({100 * k, 100 * k + 100}, {toy::events(events[k], {24, 24, 5}, true)});
  writer.finish();
  for (const std::size_t piece : {stream.size(), std::size_t{1}, std::size_t{37}}) {
    const Cut got = cut(stream, piece);
    REQUIRE(got.blocks.size() == 3);
    CHECK(joined(got, false) == stream);
    for (std::uint32_t k = 0; k < 3; ++k) {
      CHECK(got.facts[k].events == events[k]);
      CHECK(got.facts[k].interval == TimeInterval{100 * k, 100 * k + 100});
      CHECK(got.facts[k].kind == BlockKind::event);
    }
    const Bytes in_one_chunk = joined(got, true);
    CHECK(cut(in_one_chunk, piece).blocks == got.blocks);
  }
}

TEST_CASE("a stream that is cut short is an error, as for the decoder") {
  Bytes stream;
  Writer(toy::sink_to(stream), toy::header()).finish();
  stream.resize(stream.size() / 2);
  CHECK_THROWS_AS(cut(stream, 100), tofstream::petsird::Error);
}
// SPDX-License-Identifier: Apache-2.0
