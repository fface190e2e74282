// Histo-images by the C interface: their operator, the deposit of events, and what both refuse.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/gadget/gadget_record.hpp"
#include "gadgets/direct/histo_randoms.hpp"
#include "gadgets/direct/histo_terms.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "tests/support/approx.hpp"
#include "tools/c/tofstream.h"

namespace {

constexpr tof_grid histo_grid{
    .size = sizeof(tof_grid), .voxels = {20, 20, 8}, .voxel_mm = {8, 8, 8}, .origin_mm = {-76, -76, -28}};
constexpr tof_directions histo_directions{
    .size = sizeof(tof_directions), .azimuths = 6, .tilts = 2, .acceptance_deg = 30, .on_image = 0};
constexpr std::size_t histo_points = 6 * 2 * 8 * 20 * 20;

struct DropHisto {
  void operator()(tof_operator* op) const { tof_operator_drop(op); }
};
using HistoOp = std::unique_ptr<tof_operator, DropHisto>;

HistoOp histo_operator(const tof_directions& directions = histo_directions,
                       const char* parameters = "{tof_fwhm_ps: 300, lor_fwhm_mm: 10}") {
  tof_operator* op = nullptr;
  const auto status =
      tof_operator_of_directions("direct_projector", parameters, &histo_grid, &directions, TOF_CPU, &op);
  CHECK((status == TOF_OK) == (op != nullptr));
  return HistoOp(op);
}

// Lines through the grid between points of a ring of 200 mm.
struct HistoEvents {
  static constexpr std::int64_t count = 2000;
  std::vector<float> ends[6], tof_mm;
  tof_events events{.size = sizeof(tof_events), .count = count};
  HistoEvents() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> angle(0, 6.2831853F), z(-30, 30), tof(-60, 60);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::size_t end = 0; end < 6; end += 3) {
        const float at = angle(random);
        ends[end].push_back(200 * std::cos(at));
        ends[end + 1].push_back(200 * std::sin(at));
        ends[end + 2].push_back(z(random));
      }
      tof_mm.push_back(tof(random));
    }
    events.x1 = ends[0].data(), events.y1 = ends[1].data(), events.z1 = ends[2].data();
    events.x2 = ends[3].data(), events.y2 = ends[4].data(), events.z2 = ends[5].data();
    events.tof_mm = tof_mm.data();
    events.tof_sigma_mm = 20;
  }
};

}  // namespace

TEST_CASE("histo-images in C: four axes, and all events are deposited or have a reason") {
  const HistoOp op = histo_operator();
  REQUIRE_MESSAGE(op, tof_error());
  std::int64_t image[3], data[4];
  std::int32_t axes = 0;
  REQUIRE(tof_operator_shape(op.get(), image, data, &axes, nullptr) == TOF_OK);
  CHECK(axes == 4);
  CHECK(std::vector<std::int64_t>(data, data + 4) == std::vector<std::int64_t>{12, 8, 20, 20});

  const HistoEvents with;
  std::vector<float> linear(histo_points, 7), nearest(histo_points, 7);
  tof_deposited what{.size = sizeof(tof_deposited)};
  REQUIRE_MESSAGE(tof_deposit(op.get(), &with.events, 0, linear.data(), &what, nullptr) == TOF_OK, tof_error());
  CHECK(what.deposited + what.beyond_acceptance + what.outside + what.no_line == HistoEvents::count);
  CHECK(what.deposited > 300);
  CHECK(what.outside > 0);
  CHECK(std::accumulate(linear.begin(), linear.end(), 0.0) ==
        tofstream::approx(static_cast<double>(what.deposited)).epsilon(1e-6));
  REQUIRE(tof_deposit(op.get(), &with.events, 1, nearest.data(), nullptr, nullptr) == TOF_OK);
  for (const float counts : nearest) CHECK(counts == std::round(counts));

  // One update of MLEM keeps the counts.
  std::vector<float> x(20 * 20 * 8, 1), step(x.size()), s(x.size());
  REQUIRE(tof_em_step(op.get(), x.data(), linear.data(), nullptr, nullptr, step.data(), nullptr, nullptr) == TOF_OK);
  REQUIRE(tof_sensitivity(op.get(), nullptr, s.data(), nullptr) == TOF_OK);
  double sum = 0;
  for (std::size_t v = 0; v < x.size(); ++v) sum += static_cast<double>(x[v]) * static_cast<double>(step[v]);
  CHECK(sum == tofstream::approx(static_cast<double>(what.deposited)).epsilon(1e-5));
}

TEST_CASE("histo-images in C: what is wrong is told in one line") {
  const auto refused = [](const tof_directions& directions, const char* parameters, const char* words) {
    CHECK(!histo_operator(directions, parameters));
    const std::string error = tof_error();
    CHECK_MESSAGE(error.find(words) != std::string::npos, error);
    CHECK(error.find('\n') == std::string::npos);
  };
  constexpr auto* good = "{tof_fwhm_ps: 300, lor_fwhm_mm: 10}";
  tof_directions wrong = histo_directions;
  wrong.azimuths = 0;
  refused(wrong, good, "directions: views.azimuths");
  wrong = histo_directions;
  wrong.acceptance_deg = 100;
  refused(wrong, good, "acceptance");
  wrong = histo_directions;
  wrong.size = 3;
  refused(wrong, good, "directions");
  refused(histo_directions, "{lor_fwhm_mm: 10}", "tof_fwhm_ps");

  const HistoOp op = histo_operator();
  HistoEvents with;
  std::vector<float> data(histo_points);
  const auto deposit = [&](tof_operator* to) {
    CHECK(tof_deposit(to, &with.events, 0, data.data(), nullptr, nullptr) == TOF_INVALID);
    return std::string(tof_error());
  };
  tof_operator* part = nullptr;
  REQUIRE(tof_operator_part(op.get(), 0, 2, &part) == TOF_OK);
  const HistoOp half(part);
  CHECK(deposit(part).find("take no part of it") != std::string::npos);
  CHECK(deposit(nullptr).find("op") != std::string::npos);
  with.events.tof_width_mm = with.tof_mm.data();
  CHECK(deposit(op.get()).find("tof_width_mm") != std::string::npos);
  with.events.tof_width_mm = nullptr;
  with.events.tof_mm = nullptr;
  CHECK(deposit(op.get()).find("time of flight") != std::string::npos);
}

TEST_CASE("the terms of a scanner in C are those of a run, attenuated where a map is given") {
  const HistoOp op = histo_operator();
  std::vector<float> terms(histo_points), attenuated(histo_points);
  tof_lines what{.size = sizeof(tof_lines)};
  const auto made = [&](const tof_array* mu, float* into) {
    return tof_direction_terms(op.get(), "demo_ring", mu, 200'000, into, &what, nullptr);
  };
  REQUIRE_MESSAGE(made(nullptr, terms.data()) == TOF_OK, tof_error());
  CHECK(what.accepted > 0);
  CHECK(what.accepted <= what.drawn);
  CHECK(what.drawn < what.all);

  tofstream::GadgetRecord record("histo");
  tofstream::Context context(record);
  const auto scanner = tofstream::petsird::to_scanner(
      tofstream::formats::petsird_header_of(tofstream::find_shared("scanners", "demo_ring"), 0).header.scanner);
  const tofstream::Grid grid{{20, 20, 8}, {8, 8, 8}, {-76, -76, -28}};
  const auto of_a_run = tofstream::histo_terms(grid, {6, 2, 30}, tofstream::HistoLattice::view, *scanner,
                                               {.most_lines = 200'000}, context);
  CHECK(std::ranges::equal(of_a_run.values.span(), terms));
  CHECK(of_a_run.accepted == what.accepted);

  std::vector<float> water(20 * 20 * 8, 0.096F);
  tof_array mu{.size = sizeof(tof_array), .name = "mu", .grid = histo_grid, .voxels = water.data()};
  REQUIRE_MESSAGE(made(&mu, attenuated.data()) == TOF_OK, tof_error());
  const std::size_t middle = (5 * 8 + 4) * 400 + 10 * 20 + 10;
  CHECK(terms[middle] > 0);
  CHECK(attenuated[middle] > 0);
  CHECK(attenuated[middle] < 0.4F * terms[middle]);  // through 160 mm of water: exp(-1.5)

  const auto refused = [&](tof_status status, const char* words) {
    CHECK(status != TOF_OK);
    const std::string error = tof_error();
    CHECK_MESSAGE(error.find(words) != std::string::npos, error);
    CHECK(error.find('\n') == std::string::npos);
  };
  refused(tof_direction_terms(op.get(), "demo_rng", nullptr, 0, terms.data(), nullptr, nullptr), "demo_rng");
  refused(tof_direction_terms(op.get(), "jpet_strip", nullptr, 0, terms.data(), nullptr, nullptr),
          "acceptance_deg: no line of the scanner is in the view");  // two strips have one
  refused(tof_direction_terms(op.get(), nullptr, nullptr, 0, terms.data(), nullptr, nullptr), "scanner");
  refused(tof_direction_terms(op.get(), "demo_ring", nullptr, 10, terms.data(), nullptr, nullptr), "most_lines is 10");
  refused(tof_direction_terms(op.get(), "demo_ring", nullptr, 0, nullptr, nullptr, nullptr), "data is null");
  water.assign(water.size(), 40);
  refused(made(&mu, terms.data()), "memory:mu");
  tof_operator* part = nullptr;
  REQUIRE(tof_operator_part(op.get(), 0, 2, &part) == TOF_OK);
  const HistoOp half(part);
  refused(tof_direction_terms(part, "demo_ring", nullptr, 0, terms.data(), nullptr, nullptr), "take no part of it");
}

TEST_CASE("the randoms of a scan in C are those of a run, from a rate and from delayed coincidences") {
  const HistoOp op = histo_operator();
  std::vector<float> of_rate(histo_points), of_delayeds(histo_points);
  tof_randoms from{.size = sizeof(tof_randoms),
                   .scanner = "demo_ring",
                   .seconds = 10,
                   .rate_cps = 500,
                   .window_mm = 900,
                   .most_lines = 100'000};
  REQUIRE_MESSAGE(tof_direction_randoms(op.get(), &from, of_rate.data(), nullptr) == TOF_OK, tof_error());
  std::vector<std::uint32_t> first, second;
  std::mt19937 random(9);
  std::uniform_int_distribution<std::uint32_t> detector(0, 6143);
  for (int i = 0; i < 5000; ++i) first.push_back(detector(random)), second.push_back(detector(random));
  tof_events delayeds{.size = sizeof(tof_events), .count = 5000, .detector1 = first.data(), .detector2 = second.data()};
  from.delayeds = &delayeds;
  from.rate_cps = 0;
  REQUIRE_MESSAGE(tof_direction_randoms(op.get(), &from, of_delayeds.data(), nullptr) == TOF_OK, tof_error());

  tofstream::GadgetRecord record("histo");
  tofstream::Context context(record);
  const auto scanner = tofstream::petsird::to_scanner(
      tofstream::formats::petsird_header_of(tofstream::find_shared("scanners", "demo_ring"), 0).header.scanner);
  const tofstream::HistoPlace place{
      .grid = {{20, 20, 8}, {8, 8, 8}, {-76, -76, -28}}, .views = {6, 2, 30}, .most_lines = 100'000};
  const auto of_a_run = [&](const tofstream::HistoRandomsParams& params, bool with_delayeds) {
    tofstream::HistoRandoms randoms(params);
    randoms.begin(scanner);
    randoms.note_window({.window_mm = 900});
    if (with_delayeds) {
      tofstream::EventBatch batch{.count = 5000, .scanner = scanner};
      batch.detectors = scanner->detectors;
      batch.detector1 = tofstream::Buffer<std::uint32_t>::from(first);
      batch.detector2 = tofstream::Buffer<std::uint32_t>::from(second);
      randoms.take_delayeds(batch, context);
    }
    return randoms.lay_down(place, 10, context);
  };
  CHECK(std::accumulate(of_rate.begin(), of_rate.end(), 0.0) > 0);
  CHECK(std::ranges::equal(of_a_run({.from = tofstream::HistoRandomsFrom::rate, .rate_cps = 500}, false).span(),
                           of_rate));
  CHECK(std::ranges::equal(of_a_run({.from = tofstream::HistoRandomsFrom::delayeds}, true).span(), of_delayeds));

  const auto refused = [&](const char* words) {
    CHECK(tof_direction_randoms(op.get(), &from, of_rate.data(), nullptr) != TOF_OK);
    const std::string error = tof_error();
    CHECK_MESSAGE(error.find(words) != std::string::npos, error);
    CHECK(error.find('\n') == std::string::npos);
  };
  from.rate_cps = 1;
  refused("from.rate_cps is 1, and from.delayeds are given: give one of them");
  from.rate_cps = 0;
  delayeds.scanner = "jpet_strip";
  refused("from.delayeds.scanner is 'jpet_strip', and from.scanner 'demo_ring': give one");
  delayeds.scanner = nullptr;
  first[7] = 7000;
  refused("events.detector1[7] is 7000");
  delayeds.detector1 = nullptr;
  refused("from.delayeds has no detector1 and detector2");
  from.delayeds = nullptr;
  refused("give one of them");
  from.rate_cps = 5;
  from.seconds = -1;
  refused("from.seconds is -1: it must be positive");
  from.seconds = 1;
  from.scanner = "no_such";
  refused("no_such");
  from.scanner = "demo_ring";
  from.size = 3;
  refused("from.size is 3");
  from.size = sizeof(tof_randoms);
  tof_operator* part = nullptr;
  REQUIRE(tof_operator_part(op.get(), 0, 2, &part) == TOF_OK);
  const HistoOp half(part);
  CHECK(tof_direction_randoms(part, &from, of_rate.data(), nullptr) == TOF_INVALID);
}
// SPDX-License-Identifier: Apache-2.0
