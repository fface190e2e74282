// What single_scatter knows after each update, as a run that was killed finds it again.
#include "gadgets/ring/scatter_record.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/testing.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

Phantom water_in_a_ring() {
  Solid water(Shape::cylinder, {0, 0, 0}, {40, 40, 30});
  water.mu_per_cm = 0.096;
  water.activity_Bq_mL = 1e3;
  return {"water", {water}};
}

Image attenuation_per_mm(const Phantom& phantom) {
  Image mu = phantom.mu_image(Grid::centred(20, 20, 16, {6, 6, 6}));
  for (float& value : mu.voxels.span()) value *= 0.1f;
  return mu;
}

std::vector<EventBatch> batches_beside(const Phantom& phantom, int count) {
  RingScanner ring{.name = "few", .inner_radius_mm = 300, .modules_transaxial = 36, .crystals_transaxial = 2};
  ring.crystals_axial = 6;
  ring.crystal_transaxial_mm = ring.pitch_transaxial_mm = 26;
  ring.crystal_axial_mm = ring.pitch_axial_mm = ring.module_pitch_axial_mm = 30;
  EventSimulator simulator(ring, phantom, {.seed = 4, .randoms_cps = 50000});
  std::vector<EventBatch> made;
  for (int n = 0; n < count; ++n) {
    SimulatedEvents events = simulator.next_seconds(0.05);
    events.events.scanner = simulator.scanner();
    events.events.detectors = simulator.scanner()->detectors;
    made.push_back(std::move(events.events));
  }
  return made;
}

void check_same_tails(const ScatterTails::Noted& a, const ScatterTails::Noted& b) {
  CHECK(a.seen == b.seen);
  CHECK(a.stride == b.stride);
  CHECK(a.looked_at == b.looked_at);
  CHECK(a.exposed_s == b.exposed_s);
  CHECK(a.has_tof == b.has_tof);
  REQUIRE(a.events.size() == b.events.size());
  for (std::size_t n = 0; n < a.events.size(); ++n) {
    CHECK(a.events[n].number == b.events[n].number);
    CHECK(a.events[n].place.phi == b.events[n].place.phi);
    CHECK(a.events[n].additive == b.events[n].additive);
  }
}

ScatterEstimate estimate_of(float value) {
  return {{2, 3, 2, 2, 1}, 20, 40, 1, std::vector<float>(24, value)};
}

void append_to(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::app) << text;
}

}  // namespace

TEST_CASE("a record of scatter has what was known after each update, however events are thinned out") {
  const TemporaryFolder folder;
  const Phantom phantom = water_in_a_ring();
  const auto batches = batches_beside(phantom, 6);
  ScatterTails tails(attenuation_per_mm(phantom));
  TermsRecord record(folder / "a.tofs");
  record.begin();
  std::vector<ScatterTails::Noted> after;
  for (std::size_t n = 0; n < batches.size(); ++n) {
    const auto update = static_cast<std::int64_t>(n + 1);
    const std::uint64_t seen = tails.noted().seen;
    tails.add(batches[n], batches[0].count * 2);  // from the third on every second event, then every fourth
    record_tails(record, update, tails.noted(), seen);
    if (n == 3) record_scatter(record, update, estimate_of(0.1f), 2, 3.5);
    if (n == 4) record.append(TermsEntry::begun_anew, update);
    after.push_back(tails.noted());
  }
  REQUIRE(after.back().stride >= 4);
  REQUIRE(after.back().events.size() > 100);
  for (std::size_t n = 0; n < after.size(); ++n) {
    const RecordedScatter known = read_scatter_record(folder / "a.tofs", static_cast<std::int64_t>(n + 1));
    check_same_tails(known.tails, after[n]);
    CHECK(static_cast<bool>(known.estimate) == (n == 3));
    if (n != 3) continue;
    CHECK(known.estimate->values == estimate_of(0.1f).values);
    CHECK(known.estimate->size == estimate_of(0).size);
    CHECK(known.estimate->axial_mm == 40);
    CHECK(known.iteration == 2);
    CHECK(known.reference_s == 3.5);
  }
  CHECK_FALSE(read_scatter_record(folder / "a.tofs", 0).has_tails);

  // A run that goes on from the third update, in its own folder, forgets what the other one did after it.
  TermsRecord on = TermsRecord::going_on(folder / "a.tofs", folder / "a.tofs", 3);
  on.begin();
  check_same_tails(read_scatter_record(folder / "a.tofs", 100).tails, after[2]);
}

TEST_CASE("a record of a live stream's scatter has what was being made, and when the next one is due") {
  const TemporaryFolder folder;
  const auto file = folder / "live.tofs";
  const Phantom phantom = water_in_a_ring();
  const auto batches = batches_beside(phantom, 3);
  ScatterTails tails(attenuation_per_mm(phantom));
  auto image = std::make_shared<Image>(Image::filled(Grid::centred(4, 3, 2, {2, 3, 4}), 7));
  image->voxels[5] = 0.1f;
  TermsRecord record(file);
  std::vector<ScatterTails::Noted> after;
  const auto note = [&](std::int64_t update, const EventBatch& batch) {
    const std::uint64_t seen = tails.noted().seen;
    tails.add(batch);
    record_tails(record, update, tails.noted(), seen);
    after.push_back(tails.noted());
  };
  note(1, batches[0]);
  record.append(TermsEntry::all_noted, 1);
  note(2, batches[1]);
  record_renewal(record, 2, {{20, 15}, 2, image, 2.5, {}});
  record.append(TermsEntry::all_noted, 2);
  note(3, batches[2]);
  record.append(TermsEntry::all_noted, 3);
  record_scatter(record, 4, estimate_of(3), 1, 2.5);
  record_renewal(record, 4, {{20, {}}, 2, nullptr, 1, {}});
  record.append(TermsEntry::all_noted, 4);
  record_scatter(record, 6, estimate_of(4), 1, 2.5);
  record_renewal(record, 6, {{30, {}}, 5, nullptr, 1, {}});

  CHECK_FALSE(read_scatter_record(file, 1).renewal);
  const RecordedScatter making = read_scatter_record(file, 3);
  CHECK_FALSE(making.estimate);
  CHECK_FALSE(making.is_behind);
  REQUIRE(making.renewal);
  CHECK(making.renewal->times.due_s == 20);
  CHECK(making.renewal->times.place_s == 15);
  CHECK(making.renewal->of_update == 2);
  CHECK(making.renewal->reference_s == 2.5);
  REQUIRE(making.renewal->image);
  CHECK(making.renewal->image->grid == image->grid);
  CHECK(making.renewal->image->voxels.to_vector() == image->voxels.to_vector());
  check_same_tails(making.renewal->tails, after[1]);
  check_same_tails(making.tails, after[2]);

  const RecordedScatter made = read_scatter_record(file, 4);
  CHECK(made.estimate->values == estimate_of(3).values);
  CHECK(made.from_update == 4);
  CHECK_FALSE(made.renewal->image);
  CHECK_FALSE(made.renewal->times.place_s);
  CHECK(read_scatter_record(file, 5).is_behind);  // killed between the checkpoint of update 5 and what it noted

  // Shortened, it has what is needed from the fourth update on, and can be written on.
  record.shorten(4);
  record.append(TermsEntry::all_noted, 6);
  CHECK(read_scatter_record(file, 4).estimate->values == estimate_of(3).values);
  CHECK(read_scatter_record(file, 6).estimate->values == estimate_of(4).values);
  check_same_tails(read_scatter_record(file, 6).tails, after[2]);
  CHECK_FALSE(read_scatter_record(file, 6).is_behind);
  const RecordedScatter before = read_scatter_record(file, 3);
  CHECK_FALSE(before.estimate);
  CHECK_FALSE(before.renewal);
  CHECK(before.shortened_to == 4);
  CHECK(read_scatter_record(file, 0).shortened_to == 0);
  record.append(TermsEntry::begun_anew, 7);
  const RecordedScatter anew = read_scatter_record(file, 8);
  CHECK_FALSE(anew.estimate);
  CHECK_FALSE(anew.renewal);
  CHECK_FALSE(anew.is_behind);
}

TEST_CASE("a record of scatter that was cut short is read as far as it goes, and a damaged one refused") {
  const TemporaryFolder folder;
  const auto file = folder / "b.tofs";
  TermsRecord record(file);
  record.begin();
  record_scatter(record, 1, estimate_of(1), 2, 1);
  const auto first = std::filesystem::file_size(file);
  record_scatter(record, 2, estimate_of(2), 3, 1);
  for (const std::uintmax_t bytes : {first + 1, first + 40}) {
    std::filesystem::copy_file(file, folder / "cut", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(folder / "cut", bytes);
    CHECK(read_scatter_record(folder / "cut", 2).estimate->values[0] == 1);
  }
  TermsRecord wrong(folder / "wrong");
  const std::vector<float> voxels(3);
  record_renewal(wrong, 1,
                 {{20, 15}, 1, std::make_shared<Image>(Image::zeros(Grid::centred(2, 1, 1, {1, 1, 1}))), 1, {}});
  CHECK(read_scatter_record(folder / "wrong", 1).renewal);
  std::vector<std::byte> head(72);  // an image of no voxel, with three values
  wrong.append(TermsEntry::renewal, 2, head, std::as_bytes(std::span(voxels)));
  CHECK_THROWS_WITH(read_scatter_record(folder / "wrong", 2), doctest::Contains("is no record of this version"));
  const std::array<std::int32_t, 3> edges = {1 << 30, 1 << 30, 1 << 30};  // whose product overflows
  std::memcpy(head.data() + 32, edges.data(), sizeof edges);
  TermsRecord far(folder / "far");
  far.append(TermsEntry::renewal, 2, head, std::as_bytes(std::span(voxels)));
  CHECK_THROWS_WITH(read_scatter_record(folder / "far", 2), doctest::Contains("is no record of this version"));
  TermsRecord negative(folder / "negative");
  record_scatter(negative, 1, estimate_of(-1), 2, 1);
  CHECK_THROWS_WITH(read_scatter_record(folder / "negative", 2), doctest::Contains("is no record of this version"));
  append_to(file, std::string(64, 'x'));
  CHECK_THROWS_WITH(read_scatter_record(file, 9), doctest::Contains("delete it, and the scatter is estimated anew"));
  CHECK_FALSE(read_scatter_record(folder / "none", 9).estimate);
  TermsRecord nowhere(folder / "no" / "folder.tofs");
  CHECK_THROWS_AS(nowhere.begin(), std::system_error);
}
// SPDX-License-Identifier: Apache-2.0
