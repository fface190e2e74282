// Fuzzes the reader of Interfile headers, and of the views of SPECT, the projection data of PET and the images that they
// describe: arbitrary text is read, or refused in one line; what was read is asked for every number and list in it.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/private_folder.hpp"
#include "gadgets/io/interfile/bin_reader.hpp"
#include "gadgets/io/interfile/header.hpp"
#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/spect/io/view_reader.hpp"

namespace {

using namespace tofstream;
using namespace tofstream::formats;

void one_line_or_abort(const std::runtime_error& refused) {
  if (std::string(refused.what()).find('\n') != std::string::npos) std::abort();
}

template <class Read>
void read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const std::runtime_error& refused) {
    one_line_or_abort(refused);
  }
}

void read_header(std::string_view text) {
  const InterfileHeader header = parse_interfile(text, "fuzz");
  for (const InterfileEntry& entry : header.entries()) {
    read_or_refuse([&] { (void)header.number(entry); });
    read_or_refuse([&] { (void)header.whole(entry, 0, 1000); });
    read_or_refuse([&] { (void)header.numbers(entry); });
    if (!entry.is_comment && !header.find(entry.key)) std::abort();
  }
}

// With a data file of 64 bytes, which a seed's header describes.
void read_views(std::string_view text) {
  static const PrivateTemporaryFolder folder;
  const auto path = folder.path() / "scan.hs";
  std::ofstream(path, std::ios::binary) << text;
  static const bool has_data =
      (std::ofstream(folder.path() / "scan.s", std::ios::binary) << std::string(64, '\1')).good();
  if (!has_data) std::abort();
  const auto reader = open_interfile_views(path, {.radius_mm = 200});
  (void)reader->summary();
  std::int64_t views = 0;
  while (reader->next()) ++views;
  if (views != reader->views()) std::abort();
}

// Reads a PET header with as many bytes of data as it describes.
void read_bins(std::string_view text) {
  static const PrivateTemporaryFolder folder;
  interfile::ProjectionHeader header = interfile::parse_projection_header(text, folder.path() / "pet.hs");
  const std::string written = interfile::projection_header_text(header);
  if (interfile::projection_header_text(interfile::parse_projection_header(written, header.file)) != written)
    std::abort();
  constexpr std::int64_t few = 1 << 14;
  if (header.offset > few || header.numbers_in_file() > few) return;
  header.data = folder.path() / "pet.s";
  std::ofstream(header.data, std::ios::binary)
      << std::string(static_cast<std::size_t>(header.offset + header.numbers_in_file() * header.numbers.bytes), '\0');
  interfile::BinReader reader(header, {.batch_events = 7, .factors = {}});
  while (const auto batch = reader.next()) (void)batch->view();
  const auto& lines = *reader.scanner()->lines;
  if (lines.lines(0, lines.size()).count > lines.size()) std::abort();
}

void read_image_of_pet(std::string_view text) {
  static const PrivateTemporaryFolder folder;
  const auto path = folder.path() / "image.hv";
  std::ofstream(path, std::ios::binary) << text;
  static const bool has_data =
      (std::ofstream(folder.path() / "image.v", std::ios::binary) << std::string(64, '\0')).good();
  if (!has_data) std::abort();
  (void)interfile::read_image(path);
}

}  // namespace

// The files are there: this program wrote them.
void tofstream::require_readable(const std::filesystem::path&, std::string_view) {}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] { read_header(text); });
  if (!is_interfile(text)) return 0;
  read_or_refuse([&] { read_views(text); });
  read_or_refuse([&] { read_bins(text); });
  read_or_refuse([&] { read_image_of_pet(text); });
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
