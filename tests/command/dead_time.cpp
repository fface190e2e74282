// A count-rate curve as a user would measure it: scans of one source, of which modules lose unlike shares, up to half
// of all coincidences. By the stream's dead-time blocks images are flat in rate and in space; so are those of a scan in
// which the losses change.
#include <cmath>
#include <fstream>
#include <random>

#include <fmt/format.h>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/petsird/tof_bins.hpp"
#include "gadgets/io/petsird/writer.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "kernels/analysis/roi.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/small_ring.hpp"

using namespace tofstream;

namespace {

constexpr double source_Bq_mL = 10000;

RingScanner counting_ring() {
  RingScanner ring = testing::small_ring();
  ring.name = "counting";
  return ring;
}

/// Modules towards +x lose six times as much as those opposite; `load` from 0 to 1.
double live_of(const Scanner& scanner, std::uint32_t module, double load) {
  const Vec3 at = scanner.detectors->position(module * 16);
  const double towards_x =
      0.5 + 0.5 * static_cast<double>(at.x) / std::hypot(static_cast<double>(at.x), static_cast<double>(at.y));
  return 1 - load * (0.1 + 0.5 * towards_x);
}

petsird::DeadTimeBlock dead_time_block(const Scanner& scanner, std::uint32_t start_ms, std::uint32_t stop_ms,
                                       double load) {
  petsird::DeadTimeBlock block{{start_ms, stop_ms}, {}};
  petsird::Table<float> pairs;
  for (std::uint32_t a = 0; a < scanner.modules(); ++a) {
    pairs.emplace_back();
    for (std::uint32_t b = 0; b <= a; ++b)
      pairs.back().push_back(static_cast<float>(live_of(scanner, a, load) * live_of(scanner, b, load)));
  }
  block.fractions.module_pairs = {{pairs}};
  return block;
}

std::vector<petsird::CoincidenceEvent> kept_of(const EventBatch& batch, double load, const petsird::BinEdges& edges_mm,
                                               std::mt19937& random) {
  const Scanner& scanner = *batch.scanner;
  std::vector<petsird::CoincidenceEvent> kept;
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const double live = live_of(scanner, scanner.module_of(batch.detector1[i]), load) *
                        live_of(scanner, scanner.module_of(batch.detector2[i]), load);
    if (static_cast<double>(random()) / 4294967296.0 < live)
      kept.push_back({batch.detector1[i], batch.detector2[i],
                      petsird::tof_bin_of(edges_mm, static_cast<double>(batch.tof_mm[i]))});
  }
  return kept;
}

/// A scan of a cylinder with randoms, whose loads each last a second.
void write_losses(const std::filesystem::path& file, const std::vector<double>& loads) {
  Solid cylinder(Shape::cylinder, {}, {60, 60, 45});
  cylinder.activity_Bq_mL = source_Bq_mL;
  EventSimulator simulator(counting_ring(), Phantom("cylinder", {cylinder}),
                           {.attenuation = false, .randoms_cps = 20000, .delayeds = true});
  petsird::Header header = petsird::header_of(counting_ring()).header;
  header.scanner.delayed_event_policy = header.scanner.prompt_event_policy;
  const petsird::BinEdges edges_mm = header.scanner.tof_bin_edges_mm[0][0];
  std::ofstream out(file, std::ios::binary);
  petsird::Writer writer(
      [&](std::span<const std::byte> bytes) {
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      },
      header);
  std::mt19937 random(7);
  for (std::uint32_t second = 0; second < loads.size(); ++second) {
    const double load = loads[second];
    writer.write_block(dead_time_block(*simulator.scanner(), 1000 * second, 1000 * (second + 1), load));
    for (std::uint32_t tenth = 0; tenth < 10; ++tenth) {
      const auto made = simulator.next_seconds(0.1);
      const auto prompts = kept_of(made.events, load, edges_mm, random),
                 delayeds = kept_of(made.delayeds, load, edges_mm, random);
      writer.write_events({1000 * second + 100 * tenth, 1000 * second + 100 * (tenth + 1)}, {prompts}, {delayeds});
    }
  }
  writer.finish();
}

struct SidesOfCylinder {
  double all = 0, left = 0, right = 0;
  std::string said = {};
};

SidesOfCylinder image_of(const TemporaryFolder& folder, const std::vector<double>& loads,
                         const std::string& more = "") {
  const auto scan = folder / "scan.petsird", pipeline = folder / "p.yaml";
  write_losses(scan, loads);
  std::ofstream(pipeline) << "pipeline: count_rate\n"
                             "image: {size: [26, 26, 12], voxel_mm: [6, 6, 8]}\nbackend: cpu\n"
                             "gadgets:\n"
                             "  feed: {use: file_source, path: scan.petsird}\n"
                             "  events: {use: petsird_decoder, from: feed, events: both, batch_events: 50000}\n"
                             "  corrected: {use: event_corrections, from: events, randoms: {from: delayeds}}\n"
                             "  sorted: {use: tof_partition, from: corrected}\n"
                             "  subsets: {use: subset_builder, from: sorted, subsets: 4, iterations: 2}\n"
                             "  projected: {use: joseph_projector, from: {events: subsets, image: estimate}, "
                             "sensitivity: {cache: false}}\n"
                             "  estimate: {use: osem_update, from: projected}\n"
                             "  file: {use: nifti_writer, from: estimate}\n";
  const auto ran = run_command(fmt::format("run {} --quiet --set feed.path={} {} --overwrite --out {}",
                                           pipeline.string(), scan.string(), more, (folder / "run").string()));
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const Image image = read_nifti(folder / "run" / "image.nii.gz");
  return {statistics(image, Cylinder{{0, 0, 0}, 45, 50}).mean, statistics(image, Cylinder{{-30, 0, 0}, 18, 50}).mean,
          statistics(image, Cylinder{{30, 0, 0}, 18, 50}).mean, ran.out + ran.err};
}

}  // namespace

TEST_CASE("a count-rate curve is flat to 1 % with modules that lose unlike shares, up to more than half") {
  const TemporaryFolder folder;
  const SidesOfCylinder free = image_of(folder, {0});
  CHECK(free.all == approx(source_Bq_mL).epsilon(0.02));
  for (const double load : {0.5, 1.0}) {
    CAPTURE(load);
    const SidesOfCylinder loaded = image_of(folder, {load});
    CHECK(loaded.all / free.all == approx(1).epsilon(0.01));
    CHECK(loaded.left / free.left == approx(1).epsilon(0.015));  // a fifth of the events
    CHECK(loaded.right / free.right == approx(1).epsilon(0.015));
  }
  // Subsets in time order differ in their losses, and are warned of; each covers the scan if they are dealt out.
  const SidesOfCylinder changing = image_of(folder, {1, 0.6, 0.2}, "--set subsets.cut=interleaved");
  CHECK(changing.all / free.all == approx(1).epsilon(0.01));
  CHECK(changing.right / changing.left == approx(free.right / free.left).epsilon(0.015));
  // Without them the source has lost more than a third, and the more the nearer to the busy modules.
  const SidesOfCylinder ignored = image_of(folder, {1}, "--set events.dead_time=false");
  CHECK(ignored.all / free.all < 0.6);
}

TEST_CASE("subsets whose losses are unlike the mean are warned of") {
  const TemporaryFolder folder;
  const std::string said = image_of(folder, {1, 0}, "--set subsets.subsets=2 --set subsets.iterations=1").said;
  CHECK(said.find("in a subset differ by up to") != std::string::npos);
  CHECK(said.find("cut: interleaved") != std::string::npos);
  CHECK(image_of(folder, {1, 0}, "--set subsets.cut=interleaved --set subsets.iterations=1").said.find("differ by") ==
        std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
