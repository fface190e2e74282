// Fuzzes the reader of journals: a sound journal with some of the fuzzer's bytes, or only these bytes, is read to its
// end; what the reader gives is as written, and a writer that continues the journal leaves a sound end.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "gadgets/io/journal/find.hpp"
#include "gadgets/io/journal/reader.hpp"
#include "gadgets/io/journal/writer.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace {

namespace journal = tofstream::journal;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t number = 7;  // of the journal

// In memory if the system has such a folder; removed at the end.
class Folder {
 public:
  Folder() {
    const bool in_memory = std::filesystem::is_directory("/dev/shm");
    std::string name = std::string(in_memory ? "/dev/shm" : "/tmp") + "/fuzz-journal-XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

const std::filesystem::path& folder() {
  static const Folder made;
  return made.path();
}

void append(Bytes& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// Entries made of the fuzzer's bytes, with fitting headers; a byte gives the length of the next one.
Bytes sound_segment(std::span<const std::byte> given) {
  Bytes bytes;
  append(bytes, journal::encode(journal::SegmentHeader{.journal = number, .segment = 1}));
  for (std::uint64_t k = 0; !given.empty(); ++k) {
    const std::size_t size = std::min<std::size_t>(std::to_integer<std::size_t>(given[0]), given.size() - 1);
    const auto data = given.subspan(1, size);
    given = given.subspan(1 + size);
    const journal::EntryHeader header{
        .checksum = tofstream::wire::crc32c(data), .size = size, .number = k, .ingress_ns = k, .journal = number};
    append(bytes, journal::encode(header));
    append(bytes, data);
    bytes.resize((bytes.size() + journal::alignment - 1) / journal::alignment * journal::alignment);
  }
  return bytes;
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  ::close(file);
}

std::uint64_t read_all(journal::Reader& reader) {
  std::uint64_t entries = 0;
  while (const auto entry = reader.next()) {
    if (entry->bytes.size() != entry->size) std::abort();
    ++entries;
  }
  if (reader.next() || reader.counts().entries != entries) std::abort();
  return entries;
}

}  // namespace

// If the first byte is 0, rubbish; otherwise a sound segment of the rest, in which that many bytes are changed, each by
// three of the fuzzer's bytes: place and value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  auto given = std::as_bytes(std::span(data, size).subspan(1));
  const std::size_t changes = std::min<std::size_t>(data[0] % 8U, given.size() / 3);
  const auto change = given.first(3 * changes);
  given = given.subspan(3 * changes);
  Bytes bytes = data[0] == 0 ? Bytes(given.begin(), given.end()) : sound_segment(given);
  for (std::size_t k = 0; k < changes && !bytes.empty(); ++k) {
    std::uint16_t place = 0;
    std::memcpy(&place, change.data() + 3 * k, sizeof place);
    bytes[place % bytes.size()] ^= change[3 * k + 2];
  }
  for (const auto& old : std::filesystem::directory_iterator(folder())) std::filesystem::remove(old);
  write_file(folder() / journal::segment_name(1), bytes);
  try {
    journal::Reader reader(folder()), looking(folder());
    (void)journal::find_begin(looking, {1, 0.5});
    const std::uint64_t before = read_all(reader);
    if (data[0] != 0 && changes == 0 && (reader.counts().damaged_places > 0 || reader.counts().torn_bytes > 0))
      std::abort();
    journal::Writer(folder(), {.sync_every = {}}).append_frame(given);
    journal::Reader after(folder());
    if (read_all(after) != before + 1 || after.counts().torn_bytes > 0) std::abort();
  } catch (const std::runtime_error& error) {
    if (std::strchr(error.what(), '\n')) std::abort();
  }
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
