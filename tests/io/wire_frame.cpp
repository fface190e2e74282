// Frames on the wire: round trips, and every damaged byte and every cut is detected and reported.
#include <cstring>

#include "gadgets/io/wire/checksum.hpp"
#include "gadgets/io/wire/frame.hpp"

using namespace tofstream;
using namespace tofstream::wire;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Two events with ToF: 24 bytes.
FrameHeader data_header() {
  return {.kind = FrameKind::data,
          .schema = wire::Schema::tof_coincidences,
          .flags = flag_delayed,
          .stream = 0x0123456789abcdef,
          .sequence = 7,
          .first_event = 1ULL << 40U,
          .events = 2,
          .start_ns = 1'500'000'000,
          .duration_ns = 1'000'000,
          .sent_ns = 1'790'000'000'000'000'000};
}
const Bytes payload = bytes_of("abcdefghijklmnopqrstuvwx");

BadFrame bad(const Bytes& bytes) {
  const auto decoded = decode_frame(bytes);
  REQUIRE(std::holds_alternative<BadFrame>(decoded));
  return std::get<BadFrame>(decoded);
}

/// The frame with other bytes at a place in its header and a matching checksum.
Bytes changed(Bytes frame, std::size_t at, std::uint64_t value, std::size_t size) {
  std::memcpy(frame.data() + at, &value, size);
  const std::span<const std::byte> all(frame);
  const std::uint32_t checksum = crc32c(all.subspan(12), crc32c(all.first(8)));
  std::memcpy(frame.data() + 8, &checksum, sizeof checksum);
  return frame;
}

}  // namespace

TEST_CASE("CRC32C gives the check values of RFC 3720, in one piece and in two") {
  CHECK(crc32c({}) == 0);
  CHECK(crc32c(bytes_of("123456789")) == 0xe3069283U);
  CHECK(crc32c(Bytes(32, std::byte{0})) == 0x8a9136aaU);
  CHECK(crc32c(Bytes(32, std::byte{0xff})) == 0x62a8ab43U);
  const Bytes nine = bytes_of("123456789");
  for (std::size_t cut = 0; cut <= nine.size(); ++cut)
    CHECK(crc32c(std::span(nine).subspan(cut), crc32c(std::span(nine).first(cut))) == 0xe3069283U);
}

TEST_CASE("frames of every kind come back as they went") {
  const FrameHeader start{.kind = FrameKind::stream_header, .schema = wire::Schema::petsird, .stream = 5, .sent_ns = 9};
  const FrameHeader petsird{.schema = wire::Schema::petsird, .stream = 5, .sequence = 1, .events = 8};
  const FrameHeader end{.kind = FrameKind::end, .stream = 5, .sequence = 2, .first_event = 8};
  for (const auto& [header, content] :
       {std::pair{start, payload}, {petsird, payload}, {data_header(), payload}, {end, Bytes()}}) {
    const Bytes bytes = encode_frame(header, content);
    CHECK(bytes.size() == header_bytes + content.size());
    const auto decoded = decode_frame(bytes);
    REQUIRE(std::holds_alternative<Frame>(decoded));
    const Frame& frame = std::get<Frame>(decoded);
    CHECK(frame.header == header);
    CHECK(std::ranges::equal(frame.payload, content));
    CHECK(static_cast<const void*>(frame.payload.data()) == bytes.data() + header_bytes);
  }
}

TEST_CASE("a frame has the bytes that share/doc/wire.md shows") {
  const unsigned char header[] = {
      'T',  'O',  'F',  'W',  1,    0,    80,   0,    0,    0,    0,    0, 2, 3, 1, 0,   // checksum left out
      0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 7,    0,    0,    0, 0, 0, 0, 0,   // stream, sequence
      0,    0,    0,    0,    0,    1,    0,    0,    2,    0,    0,    0, 0, 0, 0, 0,   // first event, events
      0,    0x2f, 0x68, 0x59, 0,    0,    0,    0,    0x40, 0x42, 0x0f, 0, 0, 0, 0, 0,   // start, duration
      0,    0,    0xf3, 0x23, 0x84, 0x5b, 0xd7, 0x18, 24,   0,    0,    0, 0, 0, 0, 0};  // sent, payload
  Bytes bytes = encode_frame(data_header(), payload);
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + 8, sizeof checksum);
  std::memset(bytes.data() + 8, 0, sizeof checksum);
  CHECK(std::memcmp(bytes.data(), header, sizeof header) == 0);
  CHECK(checksum ==
        crc32c(std::span<const std::byte>(bytes).subspan(12), crc32c(std::span<const std::byte>(bytes).first(8))));
}

TEST_CASE("every byte of a frame that is changed in any way is noticed") {
  const Bytes whole = encode_frame(data_header(), payload);
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (unsigned flip = 1; flip < 256; ++flip) {
      Bytes damaged = whole;
      damaged[at] ^= static_cast<std::byte>(flip);
      CAPTURE(at);
      CHECK(std::holds_alternative<BadFrame>(decode_frame(damaged)));
    }
}

TEST_CASE("a frame cut anywhere, and one with something behind it, is noticed") {
  Bytes bytes = encode_frame(data_header(), payload);
  bytes.push_back({});
  CHECK(bad(bytes).fault == FrameFault::payload_size);
  for (bytes.resize(bytes.size() - 2);; bytes.pop_back()) {
    CHECK(bad(bytes).fault == (bytes.size() < header_bytes ? FrameFault::too_short : FrameFault::payload_size));
    if (bytes.empty()) break;
  }
}

TEST_CASE("what is wrong with a frame is said, with what to do") {
  const Bytes whole = encode_frame(data_header(), payload);
  CHECK(bad(bytes_of("rubbish")).what ==
        "a message of 7 bytes is no frame, whose header alone has 80: send whole "
        "frames, one a message");
  const BadFrame stranger = bad(changed(whole, 0, 0x0a505448, 4));
  CHECK(stranger.fault == FrameFault::magic);
  CHECK(stranger.what.find("begins with 'HTP?'") != std::string::npos);
  const BadFrame newer = bad(changed(whole, 4, 2, 2));
  CHECK(newer.fault == FrameFault::version);
  CHECK(newer.what.find("version 2, but only version 1 is known") != std::string::npos);
  CHECK(bad(changed(whole, 6, 96, 2)).fault == FrameFault::header_size);
  for (const std::uint64_t lie : {0ULL, 23ULL, 25ULL, ~0ULL, ~0ULL - header_bytes + 1 + 24})
    CHECK(bad(changed(whole, 72, lie, 8)).fault == FrameFault::payload_size);
  Bytes damaged = whole;
  damaged.back() ^= std::byte{1};
  CHECK(bad(damaged).fault == FrameFault::checksum);
}

TEST_CASE("fields that contradict each other are noticed, whoever made the checksum fit") {
  struct Lie {
    std::size_t at;
    std::uint64_t value;
    std::size_t size;
    const char* said;
  };
  const Bytes whole = encode_frame(data_header(), payload);
  for (const Lie& lie :
       {Lie{12, 0, 1, "an unknown kind of frame"}, Lie{12, 1, 1, "of an unknown schema"},
        Lie{12, 4, 1, "an unknown kind of frame"}, Lie{13, 0, 1, "unknown flags"}, Lie{13, 9, 1, "unknown flags"},
        Lie{14, 3, 2, "unknown flags"}, Lie{24, 0, 8, "sequence number 0"}, Lie{24, ~0ULL, 8, "none can follow"},
        Lie{32, ~0ULL, 8, "more events than can be counted"}, Lie{40, 0, 8, "records of no event"},
        Lie{40, 3, 8, "disagree"}, Lie{40, 0x1555555555555557ULL, 8, "disagree"}, Lie{48, ~0ULL, 8, "a time beyond"}}) {
    CAPTURE(lie.at);
    CAPTURE(lie.value);
    const BadFrame frame = bad(changed(whole, lie.at, lie.value, lie.size));
    CHECK(frame.fault == FrameFault::contents);
    CHECK_MESSAGE(frame.what.find(lie.said) != std::string::npos, frame.what);
  }
}

TEST_CASE("a frame that cannot be is not made") {
  const auto refuses = [](FrameHeader header, const Bytes& content) {
    CHECK_THROWS_AS(encode_frame(header, content), std::invalid_argument);
  };
  FrameHeader data = data_header();
  data.events = 3;
  refuses(data, payload);
  refuses({.kind = FrameKind::stream_header, .schema = wire::Schema::tof_coincidences}, payload);
  refuses({.kind = FrameKind::stream_header, .schema = wire::Schema::petsird}, {});
  refuses({.kind = FrameKind::stream_header, .schema = wire::Schema::petsird, .sequence = 1}, payload);
  refuses({.kind = FrameKind::stream_header, .schema = wire::Schema::petsird, .events = 1}, payload);
  refuses({.kind = FrameKind::data, .schema = wire::Schema::petsird, .sequence = 1, .events = 9}, payload);
  refuses({.kind = FrameKind::data, .schema = wire::Schema::petsird, .sequence = 1}, {});
  refuses({.kind = FrameKind::data, .schema = wire::Schema::none, .sequence = 1}, payload);
  refuses({.kind = FrameKind::end, .sequence = 1}, payload);
  refuses({.kind = FrameKind::end, .sequence = 1, .events = 1}, {});
  refuses({.kind = FrameKind::end}, {});
  Bytes small(header_bytes - 1);
  CHECK_THROWS_AS(seal_frame(data_header(), small), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
