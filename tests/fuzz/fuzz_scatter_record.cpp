// Fuzzes the reader of scatter.tofs, from which a killed run goes on: any bytes, and any entries whose checksums are
// right, are what was known or refused in one line. The input is a kind (even: the file's bytes; odd: entries, each a kind, an
// update, 16 bits of length and so many bytes of content).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

#include "core/base/private_folder.hpp"
#include "gadgets/ring/scatter_record.hpp"

namespace {

using namespace tofstream;

std::filesystem::path record_file() {
  static const PrivateTemporaryFolder folder;
  return folder.path() / "scatter.tofs";
}

void write_bytes(std::span<const std::uint8_t> bytes) {
  std::ofstream(record_file(), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void write_entries(std::span<const std::uint8_t> rest) {
  constexpr std::size_t head = 4, kinds = 8;
  TermsRecord record(record_file());
  record.begin();
  while (rest.size() >= head) {
    std::uint16_t length = 0;
    std::memcpy(&length, rest.data() + 2, sizeof length);
    const auto content = rest.subspan(head, std::min<std::size_t>(length, rest.size() - head));
    record.append(static_cast<TermsEntry>(rest[0] % kinds), rest[1], std::as_bytes(content));
    rest = rest.subspan(head + content.size());
  }
}

void read_up_to(std::int64_t update) {
  try {
    const RecordedScatter known = read_scatter_record(record_file(), update);
    if (known.estimate) validate(*known.estimate);
    if (known.renewal && known.renewal->image) validate(known.renewal->image->grid);
    if (known.has_tails && known.tails.stride == 0) std::abort();
  } catch (const std::runtime_error& refused) {
    if (std::string(refused.what()).find('\n') != std::string::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto rest = std::span(data, size).subspan(1);
  if (data[0] % 2 == 0)
    write_bytes(rest);
  else
    write_entries(rest);
  constexpr std::int64_t all = 1 << 30;
  for (const std::int64_t update : {std::int64_t{0}, std::int64_t{7}, all}) read_up_to(update);
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
