// Rotating gamma cameras as a kind of scanner.
#include "gadgets/io/scanner_kinds.hpp"
#include "gadgets/spect/io/camera_yaml.hpp"

namespace tofstream {
namespace {

void check_camera(const std::filesystem::path& file) {
  formats::read_camera(file);
}

TOFSTREAM_SCANNER("camera", .words = "a gamma camera", .check = check_camera, .simulator = "spect_simulator",
                  .writer = "projections_writer");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
