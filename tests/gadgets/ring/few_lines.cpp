// A sensitivity of few lines drawn at random: the run says that the image has their noise, and when it does not.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

/// What the projector of a scan, whose image has no symmetry, says of its sensitivity's lines; empty: nothing.
std::string said_of(int events, const std::string& sensitivity) {
  const TemporaryFolder folder;
  const std::string yaml = fmt::format(R"(
scanner: explore_vista
backend: cpu
image: {{size: [40, 40, 30], voxel_mm: 1.5, centre_mm: [1, 2, 1.5]}}
gadgets:
  photons: {{use: simulator, phantom: mouse, events: {}, attenuation: false}}
  subsets: {{use: subset_builder, from: photons, subsets: 2, least_events: 1000, iterations: 1}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}}, sensitivity: {{{}, cache: false}}}}
  estimate: {{use: osem_update, from: projected}}
)",
                                       events, sensitivity);
  const RunReport report = Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder / "out"}).run();
  REQUIRE(report.exit_code == 0);
  const auto& figures = std::ranges::find(report.gadgets, "projected", &GadgetReport::name)->figures;
  const auto said = figures.find("few_lines");
  return said == figures.end() ? "" : std::get<std::string>(said->second);
}

}  // namespace

TEST_CASE("a sensitivity of less than four random lines for each event is told, and one of more is not") {
  const std::string few = said_of(40'000, "exact_pairs: 0, sampled_pairs: 16000");
  CHECK_MESSAGE(few.find("lines drawn at random, less than four for each event") != std::string::npos, few);
  CHECK(said_of(4'000, "exact_pairs: 0, sampled_pairs: 1000000").empty());
  CHECK(said_of(40'000, "exact_pairs: 2000000").empty());  // evenly chosen, and so are these:
  const std::string evenly = said_of(1'000'000, "exact_pairs: 500000, error: 0.9");
  CHECK_MESSAGE(evenly.find("less than four for each event") != std::string::npos, evenly);
}
// SPDX-License-Identifier: Apache-2.0
