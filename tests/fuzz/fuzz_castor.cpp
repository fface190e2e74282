// Fuzzes the readers of CASToR's headers, scanners and events: any text and any bytes are read, or refused in one line.
// The input is a kind (0: a header and its events, 1: a .geom, 2: a .hscan with its table), the text up to a zero byte,
// and the bytes of the other file.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/private_folder.hpp"
#include "gadgets/io/castor/event_reader.hpp"
#include "gadgets/io/castor/geometry.hpp"
#include "gadgets/io/castor/listed_lines.hpp"
#include "gadgets/io/castor/to_scanner.hpp"
#include "gadgets/io/shared_files.hpp"

namespace {

using namespace tofstream;
using namespace tofstream::castor;

constexpr auto* eight_crystals =
    "modality: PET\nnumber of elements: 8\nnumber of layers: 1\nscanner radius: 100\nnumber of rsectors: 8\n"
    "number of crystals transaxial: 1\nnumber of crystals axial: 1\ncrystals size depth: 10\ncrystals size trans: 4\n"
    "crystals size axial: 4\n";

const std::filesystem::path& folder() {
  static const PrivateTemporaryFolder made;
  static const std::filesystem::path path = made.path();
  return path;
}

std::filesystem::path write(const char* name, std::string_view bytes) {
  const auto path = folder() / name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// Whatever its header calls it, the data lie in one file.
void read_events(std::string_view text, std::string_view bytes) {
  DataHeader header = parse_data_header(text, folder() / "scan.cdh");
  if (data_header_text(parse_data_header(data_header_text(header), header.file)) != data_header_text(header))
    std::abort();
  header.data = write("scan.cdf", bytes);
  static const Geometry eight = read_geometry(write("eight.geom", eight_crystals));
  const auto scanner = to_scanner(eight, header, Frame::castor).scanner;
  if (header.mode != DataMode::list) {
    const ListedLines lines(header, header, scanner);
    if (lines.lines(0, lines.size()).count > lines.size()) std::abort();
  }
  EventReader reader(header, scanner, {.batch_events = 7});
  std::uint64_t events = 0;
  while (const auto batch = reader.next()) {
    (void)batch->view();
    events += batch->event_count();
  }
  if (events + reader.impossible() != reader.received()) std::abort();
}

void read_scanner(const std::filesystem::path& file) {
  const Geometry geometry = read_geometry(file);
  if (constexpr std::size_t few = 4096; geometry.crystals.size() > few) return;
  const auto made = to_scanner(geometry, {}, Frame::gantry);
  if (made.scanner->detectors->size() != static_cast<std::int64_t>(geometry.crystals.size())) std::abort();
}

}  // namespace

// The files are there: this program wrote them.
void tofstream::require_readable(const std::filesystem::path&, std::string_view) {}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(1, input.find('\0', 1) - 1);
  const std::string_view bytes = input.substr(std::min(input.size(), 2 + text.size()));
  try {
    if (data[0] % 3 == 0) read_events(text, bytes);
    if (data[0] % 3 == 1) read_scanner(write("s.geom", text));
    if (data[0] % 3 == 2) {
      (void)write("t.lut", bytes);
      read_scanner(write("t.hscan", text));
    }
  } catch (const std::runtime_error& refused) {
    if (std::string(refused.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
