// Fuzzes the reader of views off the wire: any text is a camera's header or refused in one line, and any payload is
// views that a camera can have counted, which are sent again as they came, or told in one line what they are not.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>

#include "gadgets/io/shared_files.hpp"
#include "gadgets/spect/io/view_frames.hpp"

namespace {

using namespace tofstream;
using namespace tofstream::wire;

CameraStream fuzzed_camera() {
  ViewSet set{.name = "fuzz", .pixel_mm = {4, 4, 0}};
  set.size[0] = set.size[1] = 2;
  set.windows = {{126, 154}, {100, 120}};
  for (int v = 0; v < 4; ++v) set.places.push_back({.angle_deg = 90.0F * static_cast<float>(v), .radius_mm = 100});
  return {std::make_shared<const ViewSet>(set), nullptr};
}

void read_text(std::span<const std::byte> text) {
  try {
    const CameraStream camera = read_camera_header(text);
    camera.set->validate();
    if (!(*read_camera_header(write_camera_header(*camera.set, *camera.quantity)).set == *camera.set) &&
        !camera.set->windows.empty() && camera.set->name.empty() && camera.set->collimator.empty())
      std::abort();
  } catch (const std::runtime_error& refused) {
    if (std::string(refused.what()).find('\n') != std::string::npos) std::abort();
  }
}

void read_payload(Schema schema, std::span<const std::byte> payload) {
  static const CameraStream camera = fuzzed_camera();
  if (payload.size() < view_frame_head + bytes_a_view + pixel_bytes(schema)) return;  // the frame's own check
  Frame frame{.header = {.schema = schema}, .payload = payload};
  std::string wrong;
  frame.header.events = read_views(frame, camera, wrong).event_count();  // as a sender says it
  wrong.clear();
  const ViewBatch batch = read_views(frame, camera, wrong);
  if (wrong.find('\n') != std::string::npos) std::abort();
  if (!wrong.empty()) return;
  const auto pixels = schema == views_of_integers ? ViewPixels::uint16 : ViewPixels::float32;
  const ViewFrame again = write_views(batch, pixels);
  if (!std::ranges::equal(std::span(again.bytes).subspan(header_bytes), payload)) std::abort();
}

}  // namespace

// Nothing here opens a file.
void tofstream::require_readable(const std::filesystem::path&, std::string_view) {}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto rest = std::as_bytes(std::span(data, size).subspan(1));
  if (data[0] % 3 == 0) read_text(rest);
  if (data[0] % 3 == 1) read_payload(views_of_floats, rest);
  if (data[0] % 3 == 2) read_payload(views_of_integers, rest);
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
