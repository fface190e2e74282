// Streams written by the standard's own software, if TOFSTREAM_INTEROP_DATA names their folder: what our reader finds
// against their notes, and our writer's bytes against theirs.
#include <nlohmann/json.hpp>

#include "gadgets/io/petsird/describe.hpp"
#include "gadgets/io/petsird/detection_bins.hpp"
#include "gadgets/io/petsird/efficiency.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/petsird/tof_bins.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/interop.hpp"

namespace {

using namespace tofstream::petsird;
using nlohmann::json;
using tofstream::interop_folder_or_skip;
namespace fs = std::filesystem;

json read_json(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

/// The first number in `truth` under any of the names in the notes.
std::uint64_t number(const json& truth, std::initializer_list<const char*> pointers) {
  for (const char* pointer : pointers) {
    if (truth.contains(json::json_pointer(pointer))) return truth[json::json_pointer(pointer)].get<std::uint64_t>();
  }
  FAIL("no such number in the notes");
  return 0;
}

/// What PETSIRD's own analysis tool printed about one event.
struct PrintedEvent {
  TypePair types;
  CoincidenceEvent event;
  double efficiency = 0;
  std::array<Point, 2> centre{};
};

std::vector<PrintedEvent> printed_events(const fs::path& path) {
  std::ifstream file(path);
  std::vector<PrintedEvent> events;
  std::array<PrintedEvent, 1> now;
  PrintedEvent& e = now[0];
  int boxes = 0;
  for (std::string line; std::getline(file, line);) {
    const char* text = line.c_str();
    unsigned box = 0;
    Point p{};
    (void)std::sscanf(text, "---------------------------- prompts for modules : [%u, %u]", &e.types.first,
                      &e.types.second);
    if (std::sscanf(text, "CoincidenceEvent(detectionBins=[%u, %u], tofIdx=%u])", &e.event.bin1, &e.event.bin2,
                    &e.event.tof) == 3)
      boxes = 0;
    (void)std::sscanf(text, " efficiency: %lf", &e.efficiency);
    if (std::sscanf(text, " mean of detection box %u: [%lf, %lf, %lf]", &box, &p[0], &p[1], &p[2]) == 4 && box < 2) {
      e.centre[box] = p;
      if (++boxes == 2) events.push_back(e);
    }
  }
  return events;
}

void check_near(const Point& point, const Point& expected, double tolerance) {
  for (std::size_t axis = 0; axis < 3; ++axis) CHECK(std::abs(point[axis] - expected[axis]) < tolerance);
}

const std::vector<std::string> streams_of_head{"petsird/gen_cpp_head",         "petsird/all_block_types",
                                               "petsird/points_tof_60k",       "petsird/phantom_tof_400k",
                                               "petsird/sim_points_200k_head", "safir/safir_virtual_point5",
                                               "safir/safir_dualring_point0"};

}  // namespace

TEST_CASE("PETSIRD interop: counts, checksums, first events and crystal centres are those of the notes") {
  const fs::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  for (const char* name : {"petsird/points_tof_60k", "petsird/phantom_tof_400k", "petsird/sim_points_200k_head",
                           "safir/safir_virtual_point5", "safir/safir_dualring_point0"}) {
    CAPTURE(name);
    const json truth = read_json(folder / (std::string(name) + ".truth.json"));
    const Summary summary = summarise_file(folder / (std::string(name) + ".petsird"));
    CHECK(summary.version == Version::head);
    CHECK(summary.warnings.empty());
    CHECK(summary.prompts.events == number(truth, {"/n_prompts"}));
    CHECK(summary.counts.prompts == number(truth, {"/n_prompts"}));
    if (truth.contains("n_delayeds")) CHECK(summary.delayeds.events == number(truth, {"/n_delayeds"}));
    if (truth.contains("n_time_blocks")) CHECK(summary.counts.time_blocks() == number(truth, {"/n_time_blocks"}));
    CHECK(summary.prompts.bin1 == number(truth, {"/checksums/sum_bin0", "/checksums/prompt_sum_bin0", "/sums/0"}));
    CHECK(summary.prompts.bin2 == number(truth, {"/checksums/sum_bin1", "/checksums/prompt_sum_bin1", "/sums/1"}));
    if (!truth.contains("layout")) CHECK(summary.prompts.tof == number(truth, {"/checksums/sum_tof", "/sums/2"}));
    const json& first = truth.contains("first_prompts") ? truth["first_prompts"] : truth["first_events_bins"];
    for (std::size_t i = 0; i < first.size(); ++i) {
      CHECK(summary.first_prompts[i].bin1 == first[i][0]);
      CHECK(summary.first_prompts[i].bin2 == first[i][1]);
      if (first[i].size() > 2) CHECK(summary.first_prompts[i].tof == first[i][2]);
    }
    for (const auto& [bin, centre] : truth["crystal_centres_mm"].items()) {
      check_near(bin_centre(summary.header.scanner, {0, static_cast<std::uint32_t>(std::stoul(bin))}),
                 centre.get<Point>(), 1e-3);
    }
  }
}

TEST_CASE("PETSIRD interop: events a block") {
  const fs::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  for (const char* name : {"petsird/points_tof_60k", "safir/safir_virtual_point5", "safir/safir_dualring_point0"}) {
    const json truth = read_json(folder / (std::string(name) + ".truth.json"));
    const json& expected =
        truth.contains("events_per_block") ? truth["events_per_block"] : truth["prompts_delayeds_per_block"];
    toy::Recording recording;
    toy::decode(toy::read_file(folder / (std::string(name) + ".petsird")), recording, 1000);
    REQUIRE(recording.blocks.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      std::array<std::size_t, 2> counts{};
      for (const auto& list : recording.blocks[i].lists)
        counts[list.kind == EventKind::prompt ? 0 : 1] += list.events.size();
      CHECK(counts[0] == expected[i][0]);
      CHECK(counts[1] == expected[i][1]);
    }
  }
}

TEST_CASE("PETSIRD interop: every kind of block") {
  const fs::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  const toy::Bytes bytes = toy::read_file(folder / "petsird/all_block_types.petsird");
  toy::Recording recording;
  const StreamCounts counts = toy::decode(bytes, recording, 1);
  CHECK(counts.blocks == std::array<std::uint64_t, 7>{2, 2, 1, 1, 2, 1, 0});
  CHECK(counts.prompts == 6);
  CHECK(counts.delayeds == 3);
  CHECK(counts.singles == 3);
  CHECK(counts.triples == 2);
  CHECK(counts.quadruples == 1);
  const ScannerInformation& scanner = recording.header.scanner;
  CHECK(detection_bins(scanner) == 80);
  CHECK(scanner.collimator_type == "RING");
  CHECK(scanner.prompt_event_policy == CoincidencePolicy::multiples_as_all_coincidences);
  CHECK(scanner.quadruple_event_policy == MultiplesPolicy::other);
  REQUIRE(recording.header.exam);
  CHECK(recording.header.exam->subject.id == "42");
  REQUIRE(recording.blocks.size() == 9);
  CHECK(recording.blocks[0].interval == TimeInterval{0, 4});
  CHECK(recording.blocks[1].other == OtherBlock(ExternalSignalBlock{{0, 4}, 3, {0.5F, -1.25F, 3e8F}}));
  const auto& histogram = std::get<SinglesHistogramBlock>(*recording.blocks[5].other);
  CHECK(histogram.histograms.at(0).at(11) == 11'000'000'000ULL);
  CHECK(histogram.histograms.at(1) == std::vector<std::uint64_t>{1, 2, 3, 1ULL << 40U});
  CHECK(std::get<DeadTimeBlock>(*recording.blocks[6].other).fractions.module_pairs.empty());
  CHECK(std::get<DeadTimeBlock>(*recording.blocks[7].other).fractions.module_pairs.size() == 2);

  toy::Bytes written;  // our own bytes for the blocks that are not events, found in the file
  Writer writer(toy::sink_to(written), recording.header);
  writer.flush();
  for (const auto& block : recording.blocks) {
    if (!block.other) continue;
    written.clear();
    writer.write_block(*block.other);
    writer.flush();
    const auto found = std::search(bytes.begin(), bytes.end(), written.begin() + 1, written.end());
    CHECK(found != bytes.end());
  }
}

TEST_CASE("PETSIRD interop: centres and efficiencies are those that PETSIRD's tool printed") {
  const fs::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  for (const auto& [stream, printed] : {std::pair("gen_cpp_head", "gen_cpp_head.first_events.txt"),
                                        std::pair("points_tof_60k", "points_tof_60k.first_events.txt"),
                                        std::pair("phantom_tof_400k", "phantom_tof_400k.first_events.txt"),
                                        std::pair("all_block_types", "all_block_types.analysis.txt")}) {
    toy::Recording recording;
    toy::decode(toy::read_file(folder / "petsird" / (std::string(stream) + ".petsird")), recording);
    const ScannerInformation& scanner = recording.header.scanner;
    const auto model = to_scanner(scanner);
    const auto events = printed_events(folder / "petsird" / printed);
    CHECK(events.size() >= 4);
    for (const PrintedEvent& e : events) {
      const DetectionBin one{e.types.first, e.event.bin1};
      const DetectionBin two{e.types.second, e.event.bin2};
      CHECK(bin_pair_efficiency(scanner, one, two) == tofstream::approx(e.efficiency).epsilon(1e-5));
      check_near(bin_centre(scanner, one), e.centre[0], 1e-3);
      // the tool looks up the second box with the first type
      if (one.type == two.type) check_near(bin_centre(scanner, two), e.centre[1], 1e-3);
      const auto detector = [&](DetectionBin bin) {
        return model->types[bin.type].first_detector + bin.bin / model->types[bin.type].energy_bins;
      };
      const double pair = crystal_pair_efficiency(scanner, {one.type, one.bin / model->types[one.type].energy_bins},
                                                  {two.type, two.bin / model->types[two.type].energy_bins});
      if (detector(one) != detector(two))
        CHECK(model->efficiency(detector(one), detector(two)) == tofstream::approx(pair).epsilon(1e-5));
    }
  }
}

TEST_CASE("PETSIRD interop: ToF puts events where the sources were") {
  const fs::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  toy::Recording recording;
  toy::decode(toy::read_file(folder / "petsird/points_tof_60k.petsird"), recording);
  const json truth = read_json(folder / "petsird/points_tof_60k.truth.json");
  const auto centres = crystal_centres(recording.header.scanner, 0);
  const BinEdges& edges = tof_edges(recording.header.scanner, {0, 0});
  Point mean{};
  double count = 0;
  for (const auto& block : recording.blocks) {
    for (const CoincidenceEvent& event : block.lists.at(0).events) {
      const Point& p1 = centres[event.bin1 / 2];
      const Point& p2 = centres[event.bin2 / 2];
      const double length = std::hypot(p2[0] - p1[0], p2[1] - p1[1], p2[2] - p1[2]);
      const double along = 0.5 + tof_bin_centre(edges, event.tof) / length;
      for (std::size_t axis = 0; axis < 3; ++axis) mean[axis] += p1[axis] + along * (p2[axis] - p1[axis]);
      ++count;
    }
  }
  for (double& axis : mean) axis /= count;
  check_near(mean, truth["tof_position_mean_mm(correct sign)"].get<Point>(), 1e-3);
}

TEST_CASE("PETSIRD interop: headers written again are the same bytes") {
  const fs::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  for (const std::string& name : streams_of_head) {
    CAPTURE(name);
    const toy::Bytes bytes = toy::read_file(folder / (name + ".petsird"));
    toy::Recording recording;
    toy::decode(bytes, recording);
    toy::Bytes written;
    Writer(toy::sink_to(written), recording.header).flush();
    REQUIRE(written.size() < bytes.size());
    CHECK(std::equal(written.begin(), written.end(), bytes.begin()));
  }
}

TEST_CASE("PETSIRD interop: whole files written again are the same bytes") {
  const fs::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  for (const char* name : {"petsird/gen_cpp_head", "petsird/points_tof_60k", "petsird/phantom_tof_400k",
                           "safir/safir_virtual_point5", "safir/safir_dualring_point0"}) {
    CAPTURE(name);
    const toy::Bytes bytes = toy::read_file(folder / (std::string(name) + ".petsird"));
    toy::Recording recording;
    toy::decode(bytes, recording);
    toy::Bytes written;
    Writer writer(toy::sink_to(written), recording.header);
    for (const auto& block : recording.blocks) {
      std::array<EventLists, 2> lists;
      for (const auto& list : block.lists) lists[list.kind == EventKind::prompt ? 0 : 1] = {list.events};
      writer.write_events(block.interval, lists[0], lists[1]);
    }
    writer.finish();
    CHECK((written == bytes));
  }
}

TEST_CASE("PETSIRD interop: v0.9.1, with the faults of its generator") {
  const fs::path folder = interop_folder_or_skip();
  if (folder.empty()) return;
  const toy::Bytes bytes = toy::read_file(folder / "petsird/gen_py_2types_v0.9.1.petsird");
  toy::Recording recording;
  const StreamCounts counts = toy::decode(bytes, recording, 777);
  CHECK(recording.version == Version::v0_8_to_v0_9);
  CHECK(counts.time_blocks() == 6);
  CHECK(counts.prompts + counts.ignored == 24'600);
  CHECK(counts.prompts == 12'300);
  const ScannerInformation& scanner = recording.header.scanner;
  CHECK(bin_counts(scanner, 0).bins() == 16 * 12 * 3);
  CHECK(bin_counts(scanner, 1).bins() == 5 * 15 * 1);
  CHECK(tof_edges(scanner, {0, 0}).size() == 12);
  CHECK(tof_edges(scanner, {1, 1}).size() == 6);
  CHECK(scanner.prompt_event_policy == CoincidencePolicy::reject_higher_multiples);
  CHECK(scanner.delayed_event_policy == CoincidencePolicy::none);
  CHECK(to_scanner(scanner)->detectors->size() == 16 * 12 + 5 * 15);
}
// SPDX-License-Identifier: Apache-2.0
