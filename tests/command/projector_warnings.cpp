// Parameters of a projector that give a wrong image: a warning, with what to do.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

std::string said_of(const std::string& projector) {
  const TemporaryFolder folder;
  const auto file = folder / "few.yaml";
  std::ofstream(file) << fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {{size: [20, 20, 8], voxel_mm: 12}}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, events: 200}}
  subsets: {{use: subset_builder, from: photons, subsets: 1}}
  projected: {{use: {}, from: {{events: subsets, image: estimate}}, sensitivity: {{exact_pairs: 0, sampled_pairs: 20000,
    error: 1, cache: false}}}}
  estimate: {{use: osem_update, from: projected}}
)",
                                     projector);
  const CommandResult result =
      run_line(fmt::format("{} run {} --quiet --out {}", program().string(), file.string(), (folder / "out").string()));
  CHECK_MESSAGE(result.code == 0, result.err);
  return result.err;
}

bool warns(const std::string& said, const std::string& part) {
  return said.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a ToF response that is cut where it still counts is warned of") {
  const std::string why = "leaves out 32 % of the ToF response";
  CHECK(warns(said_of("joseph_projector, tof_cut_sigma: 1"), why));
  CHECK(warns(said_of("tor_projector, tof_cut_sigma: 1"), why));
  CHECK(!warns(said_of("joseph_projector, tof_cut_sigma: 1, tof: false"), "ToF response"));
  CHECK(!warns(said_of("tor_projector, tof_cut_sigma: 2.6"), "ToF response"));
}

TEST_CASE("a response narrower than the voxels can hold is warned of") {
  CHECK(warns(said_of("tor_projector, fwhm_mm: 2"), "a FWHM of 2 mm is narrower than the voxels can hold"));
  CHECK(!warns(said_of("tor_projector"), "narrower than"));
}
// SPDX-License-Identifier: Apache-2.0
