// The scan time of PETSIRD's events: blocks of any length, cut into batches, joined to batches or without events; and
// its use by decay, live time, randoms and subsets by seconds.
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "kernels/correct/decay.hpp"
#include "kernels/sort/partition.hpp"
#include "tests/gadgets/live_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

using Batches = std::vector<std::shared_ptr<const EventBatch>>;

/// A ring of 8 modules of 4 crystals; all modules but neighbours are in coincidence.
const Header& header() {
  static const Header made = [] {
    RingScanner ring;
    ring.inner_radius_mm = 100;
    ring.modules_transaxial = 8;
    ring.crystals_transaxial = ring.crystals_axial = 2;
    ring.min_sector_difference = 2;
    Header header = header_of(ring).header;
    header.scanner.delayed_event_policy = header.scanner.prompt_event_policy;
    return header;
  }();
  return made;
}

struct Block {
  TimeInterval interval;
  std::uint32_t prompts = 0, delayeds = 0;
};

/// Coincidences of opposite modules, all in coincidence.
std::vector<CoincidenceEvent> coincidences(std::uint32_t count) {
  std::vector<CoincidenceEvent> events;
  for (std::uint32_t i = 0; i < count; ++i) events.push_back({16 + i % 16, i / 16 % 4 + i % 16 / 4 * 4, 0});
  return events;
}

toy::Bytes stream(const std::vector<Block>& blocks) {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), header());
  for (const Block& block : blocks)
    writer.write_events(block.interval, {coincidences(block.prompts)}, {coincidences(block.delayeds)});
  writer.finish();
  return bytes;
}

Batches decoded(const toy::Bytes& bytes, const std::string& parameters, std::size_t piece = 1 << 20) {
  RegisteredGadgetTest<EventBatch> decoder("petsird_decoder", parameters);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    decoder.send(ByteBlock{{begin, begin + static_cast<std::ptrdiff_t>(std::min(piece, bytes.size() - at))}});
  }
  decoder.finish();
  return decoder.out.all();
}

Batches through(const std::string& gadget, const std::string& parameters, const Batches& batches) {
  RegisteredGadgetTest<EventBatch> test(gadget, parameters);
  for (const auto& batch : batches) test.send(batch);
  test.finish();
  return test.out.all();
}

Batches prompts_of(const Batches& batches) {
  Batches prompts;
  std::ranges::copy_if(batches, std::back_inserter(prompts), [](const auto& batch) { return !batch->delayed; });
  return prompts;
}

}  // namespace

TEST_CASE("a batch begins where its first event is in its block, however long that is and its bytes come") {
  for (const std::uint32_t length_ms : {1U, 40U, 1728U, 20U * 60 * 1000}) {
    CAPTURE(length_ms);
    const double length_s = 1e-3 * length_ms;
    const auto bytes = stream({{{3000, 3000 + length_ms}, 2000}});
    for (const std::int64_t size : {2000, 1000, 300, 7}) {
      CAPTURE(size);
      const std::string parameters = fmt::format("{{batch_events: {}}}", size);
      const Batches batches = decoded(bytes, parameters);
      REQUIRE(batches.size() == static_cast<std::size_t>((2000 + size - 1) / size));
      for (std::size_t k = 0; k < batches.size(); ++k) {
        const double before = static_cast<double>(k) * static_cast<double>(size) / 2000;
        CHECK(batches[k]->start_s == approx(3 + before * length_s).epsilon(1e-12));
        CHECK(batches[k]->duration_s ==
              approx(length_s * static_cast<double>(batches[k]->count) / 2000).epsilon(1e-12));
      }
      for (const std::size_t piece : {std::size_t{1}, std::size_t{997}}) {
        if (piece == 1 && size == 7) continue;  // slow, and tests nothing new
        const Batches pieces = decoded(bytes, parameters, piece);
        REQUIRE(pieces.size() == batches.size());
        for (std::size_t k = 0; k < batches.size(); ++k) {
          CHECK(pieces[k]->start_s == batches[k]->start_s);
          CHECK(pieces[k]->duration_s == batches[k]->duration_s);
        }
      }
    }
  }
}

TEST_CASE("decay is that of the whole block, whatever batches it is cut into") {
  // Half-life 1 s, a block of 1.728 s: 1.078 if each batch, an eighth of the block, had the block's start.
  const auto bytes = stream({{{0, 1728}, 4000}});
  for (const int size : {4000, 524, 10}) {
    CAPTURE(size);
    const Batches batches =
        through("event_corrections", "{normalisation: {from: none}, decay: {half_life_s: 1}, backend: cpu}",
                decoded(bytes, fmt::format("{{batch_events: {}}}", size)));
    double exposed_s = 0, seconds = 0;
    for (const auto& batch : batches) {
      exposed_s += batch->duration_s * batch->exposure;
      seconds += batch->duration_s;
    }
    CHECK(seconds == approx(1.728).epsilon(1e-12));
    CHECK(seconds / exposed_s == approx(1 / mean_decay(0, 1.728, 1)).epsilon(1e-12));
    CHECK(seconds / exposed_s == approx(1.7157).epsilon(1e-4));
  }
}

TEST_CASE("the live fraction is that of a batch's own time within the block") {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), header());
  writer.write_block(DeadTimeBlock{{0, 1000}, {}});
  writer.write_block(DeadTimeBlock{{1000, 2000}, {{std::vector<float>(32, std::sqrt(0.5F))}, {}}});
  writer.write_events({0, 2000}, {coincidences(400)});
  writer.finish();
  const Batches batches = decoded(bytes, "{batch_events: 200}");
  REQUIRE(batches.size() == 2);
  CHECK(batches[0]->exposure == approx(1));
  CHECK(batches[1]->exposure == approx(0.5));
}

TEST_CASE("subsets by seconds end inside a block and inside a batch") {
  const TemporaryFolder folder;  // for the live order
  for (const char* gadget : {"subset_builder", "live_subsets"})
    for (const std::uint32_t length_ms : {10U, 1000U, 20U * 60 * 1000})
      for (const int size : {300, 2000}) {
        CAPTURE(gadget);
        CAPTURE(length_ms);
        CAPTURE(size);
        const double fifth_s = 0.2e-3 * length_ms;
        RegisteredGadgetTest<EventSubset> subsets(gadget, fmt::format("{{seconds: {}, backend: cpu}}", fifth_s),
                                                  folder.path());
        for (const auto& batch : decoded(stream({{{0, length_ms}, 2000}}), fmt::format("{{batch_events: {}}}", size)))
          subsets.send(partition_and_sort(batch->to(Memory::host), Backend::cpu));
        subsets.finish();
        std::vector<std::uint64_t> events;
        for (const auto& subset : subsets.out.all())
          if (!subset->batches.empty() && subset->step.iteration == 1 && !subset->step.replayed) {
            events.push_back(0);
            for (const auto& batch : subset->batches) events.back() += batch->event_count();
            CHECK(subset->time_fraction == approx(fifth_s).epsilon(1e-6));
          }
        CHECK(events == std::vector<std::uint64_t>(5, 400));
      }
}

TEST_CASE("blocks without events give their time to the next events, which begin with it") {
  const Batches batches =
      decoded(stream({{{0, 500}, 0}, {{500, 1000}, 0}, {{1000, 2000}, 10}, {{2000, 3000}, 0}, {{3000, 4000}, 10}}),
              "{batch_events: 10}");
  REQUIRE(batches.size() == 2);
  CHECK(batches[0]->start_s == 0);
  CHECK(batches[0]->duration_s == approx(2));
  CHECK(batches[1]->start_s == approx(2));
  CHECK(batches[1]->duration_s == approx(2));
}

TEST_CASE("small blocks are joined while they follow one another, and a pause begins a new batch") {
  std::vector<Block> blocks;
  for (std::uint32_t ms = 0; ms < 50; ++ms) blocks.push_back({{ms, ms + 1}, 3});
  for (std::uint32_t ms = 60'000; ms < 60'050; ++ms) blocks.push_back({{ms, ms + 1}, 3});
  const Batches batches = decoded(stream(blocks), "{}");
  REQUIRE(batches.size() == 2);
  CHECK(batches[0]->start_s == 0);
  CHECK(batches[0]->duration_s == approx(0.05));
  CHECK(batches[1]->start_s == approx(60));
  CHECK(batches[1]->duration_s == approx(0.05));
}

TEST_CASE("events of further pairs of module types stand for no time, and are of the middle of theirs") {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), toy::header());
  writer.write_events({0, 8000}, {toy::events(10, {24, 24, 5}, true), toy::events(20, {4, 24, 1}, false)});
  writer.finish();
  const Batches batches = decoded(bytes, "{batch_events: 10}");
  REQUIRE(batches.size() == 3);
  CHECK(batches[0]->duration_s == approx(8));
  for (std::size_t k : {1U, 2U}) {
    CHECK(batches[k]->duration_s == 0);
    CHECK(batches[k]->start_s == approx(k == 1 ? 2 : 6));
  }
}

TEST_CASE("delayeds leave before the prompts of their time, at any size of batches") {
  std::vector<Block> blocks;
  for (std::uint32_t k = 0; k < 20; ++k) blocks.push_back({{100 * k, 100 * k + 100}, 160, 40});
  const auto bytes = stream(blocks);
  for (const int size : {200, 400, 1 << 18}) {
    CAPTURE(size);
    double prompts_s = 0, delayeds_s = 0;
    for (const auto& batch : decoded(bytes, fmt::format("{{events: both, batch_events: {}}}", size))) {
      (batch->delayed ? delayeds_s : prompts_s) += batch->duration_s;
      // The events of the block in which the batch ends are still to come.
      if (!batch->delayed) CHECK(delayeds_s >= prompts_s - 0.1 - 1e-9);
    }
    CHECK(delayeds_s == approx(2));
    CHECK(prompts_s == approx(2));
  }
}

TEST_CASE("a simulated file has blocks of the stated time, and randoms by the delayeds so far come to those of all") {
  const TemporaryFolder folder;
  constexpr const char* simulation = R"(
scanner: demo_ring
delayeds: true
gadgets:
  photons: {use: simulator, phantom: uniform_cylinder, events: 40000, randoms_cps: 300000, batch_events: 10000}
  file: {use: petsird_writer, from: photons, file: scan.petsird, block_s: 0.002}
)";
  REQUIRE(Engine(parse_pipeline(simulation, "simulation.yaml"), {.output_dir = folder.path()}).run().exit_code == 0);
  const auto bytes = toy::read_file(folder / "scan.petsird");
  toy::Recording scan;
  toy::decode(bytes, scan);
  REQUIRE(scan.blocks.size() > 10);
  std::uint32_t end_ms = 0;
  for (const auto& block : scan.blocks) {
    CHECK(block.interval.start_ms == end_ms);
    end_ms = block.interval.stop_ms;
    CHECK(end_ms - block.interval.start_ms <= 3);  // 2, plus the rounding of both ends to ms
  }
  // As with the default size: all delayeds fit one batch, which used to leave after all prompts.
  const Batches batches = decoded(bytes, "{events: both, batch_events: 12000}");
  REQUIRE(prompts_of(batches).size() == 4);
  const auto additive = [&](const std::string& randoms) {
    std::vector<double> sums;
    for (const auto& batch :
         through("event_corrections", fmt::format("{{randoms: {}, reference_s: 1, backend: cpu}}", randoms), batches)) {
      if (batch->count == 0) continue;  // an announcement
      sums.push_back(0);
      for (std::int64_t i = 0; i < batch->count && !batch->additive.empty(); ++i)
        sums.back() += std::isfinite(batch->additive[i]) ? static_cast<double>(batch->additive[i]) : 0;
    }
    return sums;
  };
  const auto all = additive("{from: delayeds}"), so_far = additive("{from: delayeds, use: so_far}");
  REQUIRE(so_far.size() == 4);
  for (std::size_t k = 0; k < 4; ++k) {
    CAPTURE(k);
    CHECK(so_far[k] > 0.7 * all[k]);
    CHECK(so_far[k] < 1.3 * all[k]);
  }
  CHECK(so_far[3] == approx(all[3]).epsilon(0.03));
}
// SPDX-License-Identifier: Apache-2.0
