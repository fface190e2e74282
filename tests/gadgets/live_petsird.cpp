// The pipeline live_osem_petsird from end to end: a scanner sends PETSIRD's time blocks, and the image is the same as
// the offline pipeline's from a file of these blocks.
#include <thread>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tests/gadgets/live_support.hpp"

using namespace tofstream;

namespace {

constexpr const char* simulation = R"(
scanner: demo_ring
gadgets:
  photons: {use: simulator, phantom: uniform_cylinder, seconds: 3, activity_scale: 0.003, batch_events: 700,
    attenuation: false}
  file: {use: petsird_writer, from: photons, file: scan.petsird}
)";

constexpr const char* from_file = R"(
backend: cpu
image: {size: [16, 16, 8], voxel_mm: [16, 16, 18]}
gadgets:
  feed: {use: file_source, path: scan.petsird}
  events: {use: petsird_decoder, from: feed, batch_events: 900}
  sorted: {use: tof_partition, from: events}
  subsets: {use: subset_builder, from: sorted, seconds: 0.56, least_events: 4500, iterations: 2, reference_s: 1}
  projected: {use: tor_projector, from: {events: subsets, image: estimate},
    sensitivity: {exact_pairs: 0, sampled_pairs: 20000, cache: false}}
  estimate: {use: osem_update, from: projected}
  file: {use: nifti_writer, from: estimate}
)";

Image run_to_image(Pipeline pipeline, const std::filesystem::path& folder) {
  const RunReport report = Engine(std::move(pipeline), {.output_dir = folder}).run();
  REQUIRE_MESSAGE(report.exit_code == 0, live_test::first_error(report));
  CHECK(report.books.balanced());
  CHECK(report.books.received > 10'000);
  CHECK(report.books.lost.empty());
  return read_nifti(folder / "image.nii.gz");
}

}  // namespace

TEST_CASE("live_osem_petsird makes of time blocks as they come the image that offline is made of their file") {
  const TemporaryFolder folder;
  REQUIRE(Engine(parse_pipeline(simulation, "simulation.yaml"), {.output_dir = folder.path()}).run().exit_code == 0);
  petsird::toy::Recording scan;
  petsird::toy::decode(petsird::toy::read_file(folder / "scan.petsird"), scan);
  wire_test::StreamMaker maker(scan.header);
  for (const auto& block : scan.blocks) maker.block(block.interval, block.lists.at(0).events);
  const auto frames = maker.end();
  const std::string endpoint = "ipc://" + (folder / "socket").string();
  std::jthread scanner([&] { live_test::send(endpoint, frames); });
  const Image live = run_to_image(
      load_pipeline(find_shared("pipelines", "live_osem_petsird"),
                    {.sets = {"feed.endpoint=" + endpoint, "events.batch_events=900", "image.size=[16, 16, 8]",
                              "image.voxel_mm=[16, 16, 18]", "subsets.seconds=0.56", "subsets.least_events=4500",
                              "subsets.iterations=2", "subsets.final=offline", "projected.sensitivity.cache=false",
                              "projected.sensitivity.exact_pairs=0", "projected.sensitivity.sampled_pairs=20000"},
                     .backend = "cpu"}),
      folder / "live");
  const Image once = run_to_image(
      parse_pipeline(from_file, "offline.yaml", {.input = (folder / "scan.petsird").string()}), folder / "offline");
  CHECK(std::ranges::equal(live.voxels.span(), once.voxels.span()));
  double sum = 0;
  for (const float value : live.voxels.span()) sum += value;
  CHECK(sum > 0);
}
// SPDX-License-Identifier: Apache-2.0
