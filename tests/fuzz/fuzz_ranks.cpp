// Fuzzes what ranks in other processes are sent: any bytes are a scanner, a camera's views or a batch of which every
// index is in its table, or are refused in one line.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/wire/packed_data.hpp"

namespace {

using namespace tofstream;
using namespace tofstream::wire;

std::shared_ptr<const DetectorTable> fuzzed_table() {
  const std::vector<Vec3> positions(5, Vec3{1, 2, 3});
  return std::make_shared<const DetectorTable>(positions);
}

std::shared_ptr<const ViewSet> fuzzed_set() {
  ViewSet set{.name = "fuzz", .pixel_mm = {4, 4, 0}};
  set.size[0] = set.size[1] = 2;
  for (int v = 0; v < 4; ++v) set.places.push_back({.angle_deg = 90.0F * static_cast<float>(v), .radius_mm = 100});
  return std::make_shared<const ViewSet>(std::move(set));
}

void read(std::uint8_t what, PackReader& from) {
  static const auto table = fuzzed_table();
  static const auto set = fuzzed_set();
  if (what % 7 == 0) {
    unpack_scanner(from);
  } else if (what % 7 == 1) {
    unpack_view_set(from);
  } else if (what % 7 == 2) {
    unpack_grid(from);
  } else if (what % 7 == 3) {
    const auto events = unpack_events(from, table);
    static_cast<void>(events->view());
    for (const std::uint32_t detector : events->detector1.span())
      if (detector >= table->size()) std::abort();
  } else if (what % 7 == 4) {
    const auto scanner = unpack_scanner_with_efficiencies(from);
    for (std::uint32_t detector = 0; detector < scanner->detectors->size(); ++detector)
      static_cast<void>(scanner->efficiency(detector, 0));
  } else if (what % 7 == 5) {
    unpack_image(from);
  } else {
    const auto views = unpack_views(from, set);
    static_cast<void>(views->view());
    for (const std::int32_t view : views->index.span())
      if (view < 0 || view >= 4) std::abort();
  }
  from.require_end();
}

}  // namespace

// Nothing here opens a file.
void tofstream::require_readable(const std::filesystem::path&, std::string_view) {}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::vector<std::byte> message(size - 1);  // aligned, as messages are
  if (size > 1) std::memcpy(message.data(), data + 1, size - 1);
  PackReader from(message);
  try {
    read(data[0], from);
  } catch (const std::exception& refused) {
    if (std::string(refused.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
