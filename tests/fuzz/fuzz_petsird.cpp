// Fuzzes the PETSIRD decoder: arbitrary bytes, as a stream, after a good schema or after a good header, must end well
// or with an Error, and with the same result however they are cut into chunks.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "gadgets/io/petsird/describe.hpp"
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/event_codec.hpp"
#include "gadgets/io/petsird/preface.hpp"
#include "gadgets/io/petsird/standard_schema.hpp"
#include "gadgets/io/petsird/writer.hpp"

namespace {

using namespace tofstream::petsird;
using Bytes = std::vector<std::byte>;

struct Outcome {
  bool error = false;
  StreamCounts counts;
  EventSums prompts;
  EventSums delayeds;
  bool operator==(const Outcome&) const = default;
};

Outcome decode(std::span<const std::byte> bytes, std::size_t chunk) {
  Summariser summariser;
  Decoder decoder(summariser);
  Outcome outcome;
  try {
    while (!bytes.empty()) {
      const Bytes piece(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(chunk, bytes.size())));
      decoder.push(piece);
      bytes = bytes.subspan(piece.size());
    }
    decoder.finish();
  } catch (const Error& error) {
    outcome.error = true;
    if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
  }
  const Summary summary = summariser.summary(decoder);
  outcome.counts = summary.counts;
  outcome.prompts = summary.prompts;
  outcome.delayeds = summary.delayeds;
  return outcome;
}

Bytes schema_preface() {
  Bytes bytes;
  for (const unsigned char byte : stream_magic) bytes.push_back(static_cast<std::byte>(byte));
  const std::string schema = standard_schema_text(Version::head);
  append_varint(bytes, schema.size());
  for (const char c : schema) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

/// Two types of modules of a few bins each.
Bytes good_header() {
  Header header;
  ScannerInformation& scanner = header.scanner;
  DetectorModule module;
  module.detecting_elements.transforms.resize(3);
  scanner.geometry.replicated_modules = {{module, {{}, {}}}, {module, {{}}}};
  scanner.tof_bin_edges_mm = {{{-1, 0, 1}}, {{-1, 1}, {-2, 1, 5}}};
  scanner.tof_resolution_fwhm_mm = {{1}, {1, 1}};
  scanner.event_energy_bin_edges_keV = {{400, 600}, {400, 500, 600}};
  Bytes bytes;
  Writer([&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); }, header)
      .flush();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Bytes schema = schema_preface();
  static const Bytes header = good_header();
  if (size < 2) return 0;
  Bytes bytes = data[0] % 3 == 0 ? Bytes() : data[0] % 3 == 1 ? schema : header;
  const std::size_t chunk = data[1] == 0 ? 1 : data[1];
  const auto rest = std::as_bytes(std::span(data, size).subspan(2));
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  const Outcome whole = decode(bytes, bytes.size());
  const Outcome pieces = decode(bytes, chunk);
  if (whole.error != pieces.error) std::abort();
  if (!whole.error && !(whole == pieces)) std::abort();
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
