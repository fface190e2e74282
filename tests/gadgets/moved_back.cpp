// A phantom that moved by whole voxels, and whose events are given the poses that take it back: the EM step is that of the
// list in which nothing moved.
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/analysis/compare.hpp"
#include "kernels/project/list_mode_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "kernels/types/rigid_pose.hpp"
#include "kernels/types/scanner.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/small_ring.hpp"

using namespace tofstream;

namespace {

constexpr double module_pitch_mm = 49;  // of the ring's modules along the axis: four voxels
const Grid moved_grid = Grid::centred(20, 20, 12, {10, 10, 12.25f});

/// Turned about its axis, so that no line runs at 45 degrees, where rounding decides which axis is the predominant one.
std::shared_ptr<const Scanner> turned_ring() {
  auto scanner = std::make_shared<Scanner>(*make_scanner(testing::small_ring()));
  scanner->detectors = moved(*scanner->detectors, pose_of_quaternion({1, 0, 0, 0.07}, {}));
  return scanner;
}

/// Lines between crystals of the first ring of modules.
EventBatch still_events(const std::shared_ptr<const Scanner>& scanner, std::int64_t count) {
  std::mt19937 random(5);
  std::vector<std::uint32_t> low;  // crystals of the first ring of modules
  for (std::uint32_t d = 0; d < scanner->detectors->size(); ++d)
    if (scanner->detectors->position(d).z < 0) low.push_back(d);
  const auto any = [&] { return low[random() % low.size()]; };
  EventBatch batch;
  batch.count = count;
  batch.scanner = scanner;
  batch.detectors = scanner->detectors;
  batch.tof = scanner->tof.front();
  std::vector<std::uint32_t> first, second;
  std::vector<float> tof_mm;
  while (first.size() < static_cast<std::size_t>(count)) {
    const std::uint32_t a = any(), b = any();
    const Vec3 ends = scanner->detectors->position(a) - scanner->detectors->position(b);
    if (norm(ends) < 200) continue;
    first.push_back(a);
    second.push_back(b);
    tof_mm.push_back(static_cast<float>(random() % 81) - 40);
  }
  batch.detector1 = Buffer<std::uint32_t>::from(first);
  batch.detector2 = Buffer<std::uint32_t>::from(second);
  batch.tof_mm = Buffer<float>::from(tof_mm);
  batch.duration_s = 5;
  return batch;
}

/// The same events of the second ring of modules.
EventBatch in_next_ring(EventBatch batch) {
  const DetectorTable& table = *batch.detectors;
  std::vector<std::uint32_t> above(static_cast<std::size_t>(table.size()));
  for (std::uint32_t d = 0; d < table.size(); ++d)
    for (std::uint32_t other = 0; other < table.size(); ++other)
      if (norm(table.position(other) - table.position(d) - Vec3{0, 0, static_cast<float>(module_pitch_mm)}) < 0.01f)
        above[d] = other;
  for (Buffer<std::uint32_t>* ends : {&batch.detector1, &batch.detector2})
    for (std::uint32_t& d : ends->span()) d = above[d];
  return batch;
}

/// The same events of a scanner that stands elsewhere, as of a phantom that was moved within a wide one.
EventBatch of_scanner_moved_by(EventBatch batch, const std::array<double, 3>& shift_mm) {
  auto scanner = std::make_shared<Scanner>(*batch.scanner);
  scanner->detectors = moved(*scanner->detectors, {.shift_mm = shift_mm});
  batch.detectors = scanner->detectors;
  batch.scanner = scanner;
  return batch;
}

/// What rigid_motion makes of a batch, by a pose that takes the object to where it was.
std::shared_ptr<const EventBatch> taken_back(EventBatch batch, const std::array<double, 3>& shift_mm) {
  const TemporaryFolder folder;
  std::ofstream(folder / "t.csv") << fmt::format("time_s,qw,qx,qy,qz,tx_mm,ty_mm,tz_mm\n0,1,0,0,0,{},{},{}\n",
                                                 shift_mm[0], shift_mm[1], shift_mm[2]);
  RegisteredGadgetTest<EventBatch> gadget(
      "rigid_motion", fmt::format("{{file: {}, maps: object_to_scanner}}", (folder / "t.csv").string()));
  gadget.send(std::move(batch));
  gadget.finish();
  REQUIRE(gadget.out.all().size() == 1);
  return gadget.out.pointer(0);
}

Image step_of(ListModeProjector& projector, const EventBatch& batch, const Image& image) {
  Image sum = Image::zeros(projector.grid());
  const EmTally tally = projector.em_step(batch.view(), image.voxels.data(), sum.voxels.data());
  CHECK(tally.used > 19'000);  // the others miss the image
  return sum;
}

}  // namespace

TEST_CASE("events of a phantom that moved by whole voxels, with the poses that take it back, give the still EM step") {
  const auto scanner = turned_ring();
  Image image = Image::zeros(moved_grid);
  for (std::int64_t v = 0; v < moved_grid.voxels(); ++v)
    image.voxels[v] = 1 + static_cast<float>((v * 7919) % 101) / 10;
  const EventBatch still = still_events(scanner, 20'000);
  const std::array<double, 3> along = {0, 0, module_pitch_mm}, across = {20, -10, 24.5};
  const EventBatch next = in_next_ring(still.to(Memory::host)),
                   elsewhere = of_scanner_moved_by(still.to(Memory::host), across);
  for (const bool tubes : {false, true}) {
    CAPTURE(tubes);
    const auto projector = tubes ? make_tor_projector(moved_grid, {RadialResponse::gaussian(10, 24)}, Backend::cpu)
                                 : make_joseph_projector(moved_grid, {}, Backend::cpu);
    const Image expected = step_of(*projector, still, image);
    CHECK(compare(step_of(*projector, *taken_back(next.to(Memory::host), along), image), expected).nrms < 1e-6);
    CHECK(compare(step_of(*projector, *taken_back(elsewhere.to(Memory::host), across), image), expected).nrms < 1e-6);
    CHECK(compare(step_of(*projector, next, image), expected).nrms > 1e-2);  // without the pose
  }
}
// SPDX-License-Identifier: Apache-2.0
