// Fuzzes the frame decoder: arbitrary bytes, or bytes with a fitting header (magic, sizes, checksum), must be either a
// frame that encodes to the same bytes, or refused in one line.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gadgets/io/wire/checksum.hpp"
#include "gadgets/io/wire/frame.hpp"
#include "gadgets/io/wire/payload_kinds.hpp"
#include "gadgets/io/wire/record_kinds.hpp"

namespace {

using namespace tofstream::wire;

void put(std::span<std::byte> bytes, std::size_t at, std::uint64_t value, std::size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
}

// Sets what a fuzzer would not guess, at the places given in share/doc/wire.md.
void make_fit(std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), frame_magic.data(), frame_magic.size());
  put(bytes, 4, frame_version, 2);
  put(bytes, 6, header_bytes, 2);
  put(bytes, 72, bytes.size() - header_bytes, 8);
  put(bytes, 8, crc32c(bytes.subspan(12), crc32c(bytes.first(8))), 4);
}

// tofstream's own kinds of records, as far as a frame knows them.
const bool has_records = [] {
  auto& kinds = tofstream::table_of<RecordKind>();
  kinds.add({.schema = Schema::coincidences, .bytes = 8});
  kinds.add({.schema = Schema::tof_coincidences, .bytes = 12});
  auto& payloads = tofstream::table_of<PayloadKind>();
  const auto any = [](const FrameHeader&, std::uint64_t) -> std::string_view { return ""; };
  payloads.add({.schema = Schema{5}, .frame = FrameKind::data, .objection = any});
  payloads.add({.schema = Schema{7}, .frame = FrameKind::stream_header, .objection = any});
  return true;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto given = std::as_bytes(std::span(data, size).subspan(1));
  std::vector<std::byte> bytes(given.begin(), given.end());
  if (data[0] % 2 == 1 && bytes.size() >= header_bytes) make_fit(bytes);
  const auto decoded = decode_frame(bytes);
  if (const auto* bad = std::get_if<BadFrame>(&decoded)) {
    if (bad->what.empty() || bad->what.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const Frame& frame = std::get<Frame>(decoded);
  if (encode_frame(frame.header, frame.payload) != bytes) std::abort();
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
