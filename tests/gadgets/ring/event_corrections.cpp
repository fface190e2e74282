// The gadget: its parameters, its use of delayeds, the order and time of events, and one chain from a simulated PETSIRD
// file to corrected events.
#include <cmath>
#include <fstream>

#include "core/testing.hpp"
#include "gadgets/additive.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/io/scatter_nifti.hpp"
#include "kernels/correct/decay.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/ring/correct/randoms.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

std::shared_ptr<const Scanner> scanner() {
  RingScanner ring;
  ring.inner_radius_mm = 100;
  ring.modules_transaxial = 8;
  ring.crystals_transaxial = ring.crystals_axial = 2;
  ring.tof_fwhm_ps = 300;
  ring.tof_bins = 11;
  ring.tof_bin_ps = 100;
  ring.min_sector_difference = 2;
  static const auto made = make_scanner(ring);
  return made;
}

/// `count` events of one pair, or delayeds over all pairs in turn.
EventBatch batch_of(std::int64_t count, double start_s, double duration_s, bool delayed = false) {
  EventBatch batch;
  batch.count = count;
  batch.scanner = scanner();
  batch.detectors = batch.scanner->detectors;
  batch.tof = batch.scanner->tof.front();
  batch.start_s = start_s;
  batch.duration_s = duration_s;
  batch.delayed = delayed;
  batch.detector1 = batch.detector2 = Buffer<std::uint32_t>(Memory::host, count);
  batch.tof_mm = Buffer<float>::zeros(Memory::host, count);
  std::uint32_t a = 0, b = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    do {
      if (++b >= a) ++a %= 32, b = 0;
    } while (b >= a || !scanner()->in_coincidence(a, b));
    batch.detector1[i] = delayed ? a : 17;
    batch.detector2[i] = delayed ? b : 1;
  }
  return batch;
}

std::int64_t coincident_pairs() {
  std::int64_t pairs = 0;
  for (std::uint32_t a = 0; a < 32; ++a)
    for (std::uint32_t b = 0; b < a; ++b) pairs += scanner()->in_coincidence(a, b) ? 1 : 0;
  return pairs;
}

/// c/m of the events' pair for randoms of `cps` in all.
double randoms_term(double cps, double reference_s = 1) {
  const RandomsModel model = randoms_of_rate(*scanner(), cps);
  return reference_s * static_cast<double>(model.rate(17, 1)) / 11 / static_cast<double>(scanner()->efficiency(17, 1));
}

}  // namespace

TEST_CASE("with the delayeds of the whole scan events wait for its end, and keep their order and time") {
  RegisteredGadgetTest<EventBatch> gadget("event_corrections",
                                          "{randoms: {from: delayeds}, reference_s: 2, backend: cpu}");
  const std::int64_t pairs = coincident_pairs();
  for (int k = 0; k < 3; ++k) {
    gadget.send(batch_of(10 + k, 4 * k, 4));
    gadget.send(batch_of(pairs, 4 * k, 4, true));
  }
  REQUIRE(gadget.out.all().size() == 1);  // an announcement of the scanner, for which a projector prepares meanwhile
  CHECK(gadget.out.pointer(0)->count == 0);
  CHECK(gadget.out.pointer(0)->duration_s == 0);
  CHECK(gadget.out.pointer(0)->scanner == scanner());
  gadget.finish();
  REQUIRE(gadget.out.all().size() == 4);
  const double cps = 3 * static_cast<double>(pairs) / 12;
  for (int k = 0; k < 3; ++k) {
    const auto batch = gadget.out.pointer(static_cast<std::size_t>(k) + 1);
    CHECK(batch->count == 10 + k);
    CHECK(batch->start_s == 4 * k);
    CHECK(batch->exposure == 1);
    CHECK(batch->additive[3] == approx(randoms_term(cps, 2)).epsilon(1e-4));
    CHECK(batch->multiplicative[3] == approx(scanner()->efficiency(17, 1)));
  }
  const BookEntries books = gadget.context.recorded();
  CHECK(books.rejected_total() == 3 * static_cast<std::uint64_t>(pairs));
}

TEST_CASE("on a GPU events come out there, with the CPU's terms and in their order") {
  if (!gpu_or_skip()) return;
  for (const char* use : {"whole_scan", "so_far"}) {
    std::vector<std::vector<float>> terms[2];
    for (const bool gpu : {false, true}) {
      RegisteredGadgetTest<EventBatch> gadget(
          "event_corrections", fmt::format("{{randoms: {{from: delayeds, use: {}}}, reference_s: 2, backend: {}}}", use,
                                           gpu ? "cuda" : "cpu"));
      for (int k = 0; k < 5; ++k) {
        gadget.send(batch_of(3 * coincident_pairs(), 4 * k, 4, true));
        gadget.send(batch_of(1000 + k, 4 * k, 4));
      }
      gadget.finish();
      int k = 0;
      for (const auto& batch : gadget.out.all()) {
        if (batch->count == 0) continue;  // an announcement
        CHECK(batch->memory() == (gpu ? Memory::device : Memory::host));
        CHECK(batch->count == 1000 + k++);
        terms[gpu].push_back(batch->multiplicative.to_vector());
        terms[gpu].push_back(batch->additive.to_vector());
      }
    }
    REQUIRE(terms[1].size() == 10);
    REQUIRE(terms[0].size() == 10);
    for (std::size_t k = 0; k < 10; ++k)
      for (std::size_t i = 0; i < terms[0][k].size(); ++i)
        REQUIRE(terms[1][k][i] == approx(terms[0][k][i]).epsilon(1e-5));
  }
}

TEST_CASE("a live stream is corrected by the delayeds that have come") {
  RegisteredGadgetTest<EventBatch> gadget("event_corrections",
                                          "{randoms: {from: delayeds, use: so_far}, reference_s: 1, backend: cpu}");
  const std::int64_t pairs = coincident_pairs();
  gadget.send(batch_of(5, 0, 1));
  REQUIRE(gadget.out.all().size() == 1);
  CHECK(gadget.out.pointer(0)->additive[0] == 0);  // nothing is known yet
  gadget.send(batch_of(10 * pairs, 0, 1, true));
  gadget.send(batch_of(5, 1, 1));
  CHECK(gadget.out.pointer(1)->additive[0] == approx(randoms_term(10 * static_cast<double>(pairs))).epsilon(1e-4));
  gadget.send(batch_of(30 * pairs, 1, 1, true));
  gadget.send(batch_of(5, 2, 1));
  CHECK(gadget.out.pointer(2)->additive[0] == approx(randoms_term(20 * static_cast<double>(pairs))).epsilon(1e-4));
}

TEST_CASE("randoms are fitted in each interval of the scan, by the middle of a batch's time") {
  RegisteredGadgetTest<EventBatch> gadget("event_corrections",
                                          "{backend: cpu, randoms: {from: delayeds, interval_s: 10}, reference_s: 1}");
  const auto pairs = static_cast<double>(coincident_pairs());
  for (int k = 0; k < 4; ++k) {
    gadget.send(batch_of((40 - 10 * k) * coincident_pairs(), 5 * k, 5, true));  // 40, 30, 20, 10 a pair
    gadget.send(batch_of(5, 5 * k, 5));
  }
  gadget.send(batch_of(5, 18, 2 + 1e-6));  // its middle lies in the second interval, and it lengthens that
  gadget.send(batch_of(5, 30, 5));         // no delayeds came
  gadget.finish();
  const auto additive = [&](std::size_t k) { return gadget.out.pointer(1 + k)->additive[0]; };
  for (const std::size_t k : {0, 1}) CHECK(additive(k) == approx(randoms_term(70 * pairs / 10)).epsilon(1e-4));
  for (const std::size_t k : {2, 3, 4}) CHECK(additive(k) == approx(randoms_term(30 * pairs / 12)).epsilon(1e-4));
  CHECK(additive(5) == 0);
  CHECK(std::get<std::int64_t>(gadget.context.figures().at("intervals_without_delayeds")) == 1);
}

TEST_CASE("decay and dead time scale the exposure, and randoms fall twice as fast") {
  RegisteredGadgetTest<EventBatch> gadget("event_corrections",
                                          "{backend: cpu, randoms: {from: delayeds}, reference_s: 1, decay: {isotope: "
                                          "O-15, reference_time_s: 10}, dead_time: "
                                          "{live_fraction: 0.9}}");
  gadget.send(batch_of(5, 0, 60));
  gadget.send(batch_of(5, 60, 60));
  gadget.send(batch_of(12 * coincident_pairs(), 0, 120, true));
  gadget.finish();
  const auto one = gadget.out.pointer(1), two = gadget.out.pointer(2);
  CHECK(one->exposure == approx(0.9 * mean_decay(-10, 60, half_life_s("O-15", Emission::positrons))));
  CHECK(two->exposure == approx(0.9 * mean_decay(50, 60, half_life_s("O-15", Emission::positrons))));
  CHECK(one->multiplicative[0] == approx(one->exposure * static_cast<double>(scanner()->efficiency(17, 1))));
  const double fall = std::exp2(-60 / half_life_s("O-15", Emission::positrons));
  // c falls by the square of m's factor.
  CHECK(two->additive[0] / one->additive[0] == approx(fall).epsilon(1e-5));
  const double c = 0.5 * (static_cast<double>(one->additive[0]) * one->exposure +
                          static_cast<double>(two->additive[0]) * two->exposure);
  CHECK(c == approx(randoms_term(0.1 * static_cast<double>(coincident_pairs()))).epsilon(1e-4));
}

TEST_CASE("a given rate needs no delayeds, which are counted as not used") {
  RegisteredGadgetTest<EventBatch> gadget("event_corrections",
                                          "{randoms: {from: rate, rate_cps: 500}, reference_s: 1, backend: cpu}");
  gadget.send(batch_of(7, 0, 1, true));
  gadget.send(batch_of(5, 0, 1));
  CHECK(gadget.out.pointer(0)->additive[0] == approx(randoms_term(500)));
  CHECK(gadget.context.recorded().rejected.at("delayed coincidences, not used") == 7);
}

TEST_CASE("another normalisation goes with the events, so that the sensitivity meets it too") {
  const TemporaryFolder folder;
  std::ofstream file(folder / "n.yaml");
  file << "crystal_efficiency: [0.5";
  for (int d = 1; d < 32; ++d) file << ", " << 1 + 0.1 * (d == 17);
  file << "]\n";
  file.close();
  RegisteredGadgetTest<EventBatch> gadget(
      "event_corrections",
      fmt::format("{{backend: cpu, normalisation: {{from: file, file: {}}}}}", (folder / "n.yaml").string()));
  gadget.send(batch_of(5, 0, 1));
  gadget.send(batch_of(5, 1, 1));
  const auto batch = gadget.out.pointer(0);
  CHECK(batch->scanner->efficiency(17, 1) == approx(1.1 * static_cast<double>(scanner()->efficiency(17, 1))));
  CHECK(batch->multiplicative[0] == batch->scanner->efficiency(17, 1));
  CHECK(batch->additive.empty());
  CHECK(gadget.out.pointer(1)->scanner == batch->scanner);
}

TEST_CASE("a calibration gives images its unit, and events of a dead crystal are skipped") {
  const TemporaryFolder folder;
  std::ofstream file(folder / "n.yaml");
  file << "calibration: 0.01\nunit: Bq/mL\ndead: [17]\ncrystal_efficiency: [1";
  for (int d = 1; d < 32; ++d) file << ", " << (d == 17 ? 0 : 1);
  file << "]\n";
  file.close();
  RegisteredGadgetTest<EventBatch> gadget(
      "event_corrections",
      fmt::format("{{backend: cpu, normalisation: {{from: file, file: {}}}}}", (folder / "n.yaml").string()));
  gadget.send(batch_of(5, 0, 1));  // of crystals 17 and 1
  const auto batch = gadget.out.pointer(0);
  CHECK(std::isinf(batch->additive[0]));
  REQUIRE(batch->quantity != nullptr);
  CHECK(batch->quantity->unit == "Bq/mL");
  CHECK(batch->quantity->scale.starts_with("calibration of "));
}

TEST_CASE("parameters that do not fit together are refused in plain words") {
  const auto refused = [](const char* yaml, const char* why) {
    CHECK_THROWS_WITH(RegisteredGadgetTest<EventBatch>("event_corrections", yaml), doctest::Contains(why));
  };
  refused("{randoms: {from: delayeds}, reference_s: 0}", "reference_s");
  refused("{randoms: {from: rate}, reference_s: 1}", "rate_cps");
  refused("{randoms: {rate_cps: 5}}", "from: rate");
  refused("{normalisation: {from: file}}", "normalisation");
  refused("{randoms: {from: rate, rate_cps: 3, interval_s: 5}}", "`interval_s` goes with");
  refused("{randoms: {interval_s: 5}}", "`interval_s` goes with");
  refused("{decay: {isotope: F-18, half_life_s: 5}}", "not both");
  refused("{decay: {isotope: Xx-1}}", "F-18");
  refused("{decay: {isotope: Tc-99m}}", "Tc-99m is imaged by its single photons (SPECT)");
  refused("{mu_map: nowhere.nii}",
          "nowhere.nii: no such file; --set mu_map=FILE names another, and 'tofstream phantom");
  refused("{scatter: {file: nowhere.nii}, reference_s: 1}", "no such file");
}

TEST_CASE("a mu map in Hounsfield units or 1/mm is refused by events, projectors and scatter, of hardware too") {
  const TemporaryFolder folder;
  const auto file_of = [&](float per_cm, const char* name) {
    write_nifti(folder / name, Image::filled(Grid::centred(4, 4, 4, {10, 10, 10}), per_cm));
    return (folder / name).string();
  };
  const std::string hounsfield = file_of(45, "hu.nii"), per_mm = file_of(0.0096f, "mm.nii");
  const auto refused = [](const std::string& map, const std::string& file, const char* why) {
    const std::string yaml = fmt::format("{{{}: {}}}", map, file);
    CHECK_THROWS_WITH(RegisteredGadgetTest<EventBatch>("event_corrections", yaml), doctest::Contains(why));
  };
  for (const char* map : {"mu_map", "hardware_mu_map"}) {
    refused(map, hounsfield, "hu.nii: its largest value is 45, and attenuation at 511 keV in 1/cm has 0.096 in water");
    refused(map, per_mm, "is it in 1/mm?");
    refused(map, (folder / "none.nii").string(), fmt::format("no such file; --set {}=FILE names another", map).c_str());
  }
  CHECK_THROWS_WITH(
      RegisteredGadgetTest<Additive<EventBatch>>("single_scatter", fmt::format("{{mu_map: {}}}", hounsfield)),
      doctest::Contains("is it in Hounsfield units, which 'tofstream mu-map' converts"));
}

TEST_CASE("events that say that their activity does not decay are not corrected for it") {
  Quantity simulated{.unit = "Bq/mL"};
  simulated[Correction::decay] = {CorrectionState::not_needed, "not simulated"};
  RegisteredGadgetTest<EventBatch> gadget(
      "event_corrections", "{backend: cpu, randoms: {from: delayeds}, reference_s: 1, decay: {isotope: O-15}}");
  for (const bool delayed : {false, true}) {
    EventBatch batch = batch_of(delayed ? 12 * coincident_pairs() : 5, 0, 120, delayed);
    batch.quantity = std::make_shared<const Quantity>(simulated);
    gadget.send(std::move(batch));
  }
  gadget.finish();
  const auto events = gadget.out.all().back();
  CHECK(events->exposure == 1);
  CHECK((*events->quantity)[Correction::decay].state == CorrectionState::not_needed);
  CHECK_FALSE(gadget.context.figures().contains("half_life_s"));
  // As many randoms as delayeds, in each second.
  CHECK(static_cast<double>(events->additive[0]) ==
        approx(12.0 / 120 / 11 / static_cast<double>(scanner()->efficiency(17, 1))).epsilon(0.1));
}

TEST_CASE("events that say that they have no scatter are not given that of a file") {
  const TemporaryFolder folder;
  const std::string file = (folder / "scatter.nii").string();
  write_scatter(file, {{5, 4, 3, 3, 2}, 100, 30, 50, std::vector<float>(360, 0.5f)});
  for (const auto state : {CorrectionState::called_for, CorrectionState::not_needed}) {
    RegisteredGadgetTest<EventBatch> gadget(
        "event_corrections", fmt::format("{{backend: cpu, reference_s: 1, scatter: {{file: {}}}}}", file));
    EventBatch batch = batch_of(5, 0, 1);
    Quantity simulated{.unit = "Bq/mL"};
    simulated[Correction::scatter] = {state, "not simulated"};
    batch.quantity = std::make_shared<const Quantity>(simulated);
    gadget.send(std::move(batch));
    gadget.finish();
    const auto events = gadget.out.all().back();
    const bool is_needed = state == CorrectionState::called_for;
    CHECK((*events->quantity)[Correction::scatter].state == (is_needed ? CorrectionState::made : state));
    CHECK((events->additive.empty() || events->additive[0] == 0) == !is_needed);
  }
}

TEST_CASE("events say what they were corrected for, and by what") {
  Quantity simulated{.unit = "Bq/mL"};
  simulated.corrections.fill({CorrectionState::called_for, ""});
  simulated[Correction::normalisation].state = CorrectionState::made;
  const auto said = std::make_shared<const Quantity>(simulated);
  const auto after = [&](const char* yaml, bool with_delayeds) {
    RegisteredGadgetTest<EventBatch> gadget("event_corrections", yaml);
    for (const bool delayed : {true, false}) {
      if (delayed && !with_delayeds) continue;
      EventBatch batch = batch_of(20, 0, 1, delayed);
      batch.quantity = said;
      gadget.send(std::move(batch));
    }
    gadget.finish();
    return *gadget.out.all().back()->quantity;
  };
  const Quantity decayed = after("{decay: {isotope: F-18}, dead_time: {live_fraction: 0.9}}", false);
  CHECK(decayed[Correction::decay].state == CorrectionState::made);
  CHECK(decayed[Correction::dead_time].how == "live fraction 0.9");
  CHECK(decayed[Correction::randoms].state == CorrectionState::called_for);
  CHECK(decayed.attenuated_by.gadget == "event_corrections");
  CHECK(decayed.reference_s == 0);  // nothing in the events depends on it
  const Quantity relative = after("{normalisation: {from: none}}", false);
  CHECK(relative[Correction::normalisation].state == CorrectionState::called_for);
  CHECK(relative.unit.empty());
  const Quantity randoms = after("{randoms: {from: delayeds}, reference_s: 5}", true);
  CHECK(randoms[Correction::randoms].state == CorrectionState::made);
  CHECK(randoms.reference_s == 5);
  CHECK(after("{randoms: {from: delayeds}}", false)[Correction::randoms].how == "no delayed coincidence has come");
}
// SPDX-License-Identifier: Apache-2.0
