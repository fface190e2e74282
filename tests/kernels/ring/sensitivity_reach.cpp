// A projector's stated reach: the sensitivity leaves out lines beyond it, and every voxel must still equal that of all
// lines.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "kernels/blob/blob.hpp"
#include "kernels/ring/blob/blob_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"

using namespace tofstream;

namespace {

/// Every pair in coincidence at once, whether it meets the image or not.
Image of_all_lines(const Scanner& scanner, ListModeProjector& projector) {
  std::vector<std::uint32_t> detector1, detector2;
  std::vector<float> values;
  const auto count = static_cast<std::uint32_t>(scanner.detectors->size());
  for (std::uint32_t d1 = 0; d1 < count; ++d1)
    for (std::uint32_t d2 = 0; d2 < d1; ++d2)
      if (scanner.in_coincidence(d1, d2)) {
        detector1.push_back(d1);
        detector2.push_back(d2);
        values.push_back(scanner.efficiency(d1, d2));
      }
  EventView events;
  events.count = static_cast<std::int64_t>(values.size());
  events.detectors = scanner.detectors->on(Memory::host);
  events.detector1 = detector1.data();
  events.detector2 = detector2.data();
  Image result = Image::zeros(projector.grid());
  projector.back(events, values.data(), result.voxels.data());
  return result;
}

/// The largest error of a voxel, relative to the voxel.
double worst_error(ListModeProjector& projector) {
  const Scanner scanner = testing::toy_scanner();
  const Image expected = of_all_lines(scanner, projector);
  const Sensitivity actual = compute_sensitivity(scanner, projector);
  CHECK(actual.exact);
  double worst = 0;
  for (std::int64_t v = 0; v < expected.voxels.size(); ++v) {
    const auto truth = static_cast<double>(expected.voxels[v]);
    const double error = std::abs(static_cast<double>(actual.image.voxels[v]) - truth);
    if (error > 0) worst = std::max(worst, error / truth);
  }
  return worst;
}

/// A projector that states a wrong reach.
class Misstated final : public ListModeProjector {
 public:
  Misstated(std::unique_ptr<ListModeProjector> projector, float reach_mm)
      : projector_(std::move(projector)), reach_mm_(reach_mm) {}
  const Grid& grid() const override { return projector_->grid(); }
  Backend backend() const override { return projector_->backend(); }
  float reach_mm() const override { return reach_mm_; }
  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    projector_->forward(events, image, expectation, stream);
  }
  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    projector_->back(events, values, image, stream);
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    return projector_->em_step(events, image, accumulator, stream);
  }

 private:
  std::unique_ptr<ListModeProjector> projector_;
  float reach_mm_;
};

std::unique_ptr<ListModeProjector> tube(const Grid& reached, float width_voxels) {
  const float radius = 0.5f * width_voxels * reached.voxel_mm.z;  // its largest edge
  return make_tor_projector(reached, {.response = RadialResponse::gaussian(0.86f * radius, radius)}, Backend::cpu);
}

// Off the ring's axis, so that lines pass on every side of it.
const Grid reached = {{20, 16, 12}, {2, 2, 2.5f}, {-4, -30, -12}};

}  // namespace

TEST_CASE("the sensitivity holds every line that touches the image, however wide the tube") {
  for (const float width : {0.5f, 3.0f, 15.0f, 32.0f, 64.0f}) {
    CAPTURE(width);
    CHECK(worst_error(*tube(reached, width)) < 1e-5);
  }
}

TEST_CASE("a reach of 8 voxels, whatever the tube, leaves out lines of wide ones") {
  const float once = 8 * reached.voxel_mm.z;
  Misstated narrow(tube(reached, 15), once), wide(tube(reached, 32), once), widest(tube(reached, 64), once);
  CHECK(worst_error(narrow) < 1e-5);
  CHECK(worst_error(wide) > 0.02);
  CHECK(worst_error(widest) > 0.1);
}

TEST_CASE("the sensitivity holds every line that touches the image by Joseph's weights and by blobs") {
  for (const auto edge : {JosephSettings::Edge::full, JosephSettings::Edge::clipped})
    CHECK(worst_error(*make_joseph_projector(reached, {.edge = edge}, Backend::cpu)) < 1e-5);
  Grid blobs = reached;
  blobs.voxel_mm = {3, 3, 3};
  for (const float radius : {3.0f, 24.0f}) {
    blobs.blob = {radius, 8};
    CHECK(worst_error(*make_blob_projector(blobs, {}, Backend::cpu)) < 1e-5);
  }
}
// SPDX-License-Identifier: Apache-2.0
