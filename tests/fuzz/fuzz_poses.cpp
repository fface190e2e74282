// Fuzzes the reader of poses off the wire: any payload that a frame's header allows is poses, which are sent again as they
// came, and each is a rotation with a shift or refused in one line.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>

#include "gadgets/io/motion/pose_frames.hpp"

namespace {

using namespace tofstream;
using namespace tofstream::wire;

void read_pose(formats::PoseForm form, const formats::StatedPose& stated) {
  try {
    const RigidPose pose = formats::pose_of(form, stated.numbers);
    double squares = 0;
    for (const double element : pose.rotation) squares += element * element;
    if (!(std::abs(squares - 3) < 1e-6)) std::abort();
  } catch (const std::invalid_argument& refused) {
    if (std::string(refused.what()).find('\n') != std::string::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const Schema schema = data[0] % 2 == 0 ? pose_matrices : pose_quaternions;
  const formats::PoseForm form = form_of(schema);
  const auto payload = std::as_bytes(std::span(data, size).subspan(1));
  if (payload.empty() || payload.size() % pose_bytes(form) != 0) return 0;  // the frame's own check
  const auto poses = read_poses({.header = {.schema = schema}, .payload = payload});
  for (const formats::StatedPose& pose : poses) read_pose(form, pose);
  const PoseFrame again = write_poses(form, poses);
  if (!std::ranges::equal(std::span(again.bytes).subspan(header_bytes), payload)) std::abort();
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
