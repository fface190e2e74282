// Tables of moved detectors: see posed_detectors.hpp.
#include "kernels/ring/sensitivity/posed_detectors.hpp"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/types/rigid_pose.hpp"

namespace tofstream::detail {

PosedDetectors::PosedDetectors(const Scanner& scanner, Memory memory, Stream stream, bool keeps_still) {
  if (!scanner.poses || scanner.poses->empty()) return;
  const PoseShares& poses = *scanner.poses;
  const auto table = static_cast<std::size_t>(scanner.detectors->size());
  if (table * poses.size() > std::numeric_limits<std::uint32_t>::max())
    throw std::invalid_argument(fmt::format(
        "{} detectors in {} poses are more than a sensitivity can number: take fewer poses (tolerance_mm of "
        "rigid_motion)",
        table, poses.size()));
  std::vector<float> shares, ends;
  double sum = 0;
  for (const PoseShare& each : poses) {
    shares.push_back(static_cast<float>(each.share));
    ends.push_back(static_cast<float>(sum += each.share));
  }
  const auto all = static_cast<std::int64_t>(table * poses.size());
  detectors_ = Buffer<Detector>(Memory::host, all);
  if (keeps_still) still_ = Buffer<Detector>(Memory::host, all);
  tbb::parallel_for(std::size_t{0}, poses.size(), [&](std::size_t p) {
    for (std::size_t d = 0; d < table; ++d) {
      const Vec3 at = scanner.detectors->position(static_cast<std::uint32_t>(d));
      const auto number = static_cast<std::int64_t>(p * table + d);
      detectors_[number] = {poses[p].pose(at.as<double>()).as<float>(), 0};
      if (keeps_still) still_[number] = {at, 0};
    }
  });
  shares_ = Buffer<float>::from(shares);
  ends_ = Buffer<float>::from(ends);
  if (!on_host(memory)) {
    detectors_ = detectors_.to(memory, stream);
    if (keeps_still) still_ = still_.to(memory, stream);
    shares_ = shares_.to(memory, stream);
    ends_ = ends_.to(memory, stream);
  }
  view_ = {detectors_.data(), shares_.data(), ends_.data(), static_cast<int>(poses.size()),
           static_cast<std::uint32_t>(table)};
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
