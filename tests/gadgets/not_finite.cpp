// An image that stops being finite ends the run with the update's number, whichever update made it.
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

constexpr std::int64_t broken_update = 4;

/// One voxel of an update's back projection becomes infinite.
struct BreakUpdate {
  void process(std::shared_ptr<const Projected> projected, Emit<Projected>& emit) {
    Projected out = *projected;
    if (out.step.update == broken_update) {
      Image broken = out.back_projection->to(Memory::host);
      broken.voxels[broken.voxels.size() / 2] = std::numeric_limits<float>::infinity();
      out.back_projection = std::make_shared<const Image>(std::move(broken));
    }
    emit(std::move(out));
  }
};
TOFSTREAM_GADGET(BreakUpdate, "test_break_update", "Makes a voxel of one back projection infinite");

std::string broken_pipeline(const std::string& update) {
  return fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {{size: [16, 16, 6], voxel_mm: 20}}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, seconds: 1, activity_scale: 0.003, batch_events: 500,
    attenuation: false}}
  subsets: {{use: subset_builder, subsets: 3, iterations: 4, from: photons}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}},
    sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}}}
  broken: {{use: test_break_update, from: projected}}
  estimate: {{{}, from: broken}}
  file: {{use: nifti_writer, file: image.nii.gz, from: estimate}}
)",
                     update);
}

}  // namespace

TEST_CASE("a voxel that is no longer finite ends the run with the update's number") {
  for (const char* update : {"use: osem_update", "use: map_em_update", "use: ramla_update", "use: bsrem_update",
                             "use: svrg_update, warm_up: 4"}) {
    CAPTURE(update);
    const TemporaryFolder folder;
    const RunReport report =
        Engine(parse_pipeline(broken_pipeline(update), "test.yaml"), {.output_dir = folder.path()}).run();
    CHECK(report.exit_code == 1);
    REQUIRE(report.errors.size() == 1);
    CHECK_MESSAGE(report.errors[0].text().find("iteration 2 of 4, update 4: 1 voxels would no longer be finite") !=
                      std::string::npos,
                  report.errors[0].text());
  }
}
// SPDX-License-Identifier: Apache-2.0
