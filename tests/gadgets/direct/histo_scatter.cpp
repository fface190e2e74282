// The scatter that histo-images hold: from a file against a sum over pairs, estimated in whole reconstructions, while the
// scan runs, and on a GPU.
#include "gadgets/direct/histo_scatter.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "gadgets/ring/io/scatter_nifti.hpp"
#include "gadgets/step/line_scatter.hpp"
#include "gadgets/step/scanner_lines.hpp"
#include "gadgets/views.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/gadgets/direct/direct_runs.hpp"
#include "tests/gadgets/direct/sum_over_pairs.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

namespace tofstream {
namespace {

using namespace direct_test;

/// Smooth, and different from end to end, from side to side and along ToF, so that no sign may be wrong.
ScatterEstimate lopsided_scatter() {
  ScatterEstimate estimate{{15, 24, 4, 4, 23}, 24, 16, 20, {}};
  for (int t = 0; t < 23; ++t)
    for (int b = 0; b < 4; ++b)
      for (int a = 0; a < 4; ++a)
        for (int phi = 0; phi < 24; ++phi)
          for (int s = 0; s < 15; ++s) {
            const Lor lor = estimate.line({s, phi, a, b, t}, 200);
            const Vec3 along = lor.end2 - lor.end1;
            const Vec3 at = 0.5f * (lor.end1 + lor.end2) + (lor.tof_mm / norm(along)) * along;
            const float x = at.x - 30, y = at.y + 20, z = at.z - 5;
            estimate.values.push_back(1e-3f * std::exp(-(x * x + y * y) / 12800 - z * z / 5000));
          }
  return estimate;
}

struct RingWithScatter {
  TemporaryFolder folder;
  std::string ring = small_ring(folder.path());
  EventSimulator simulator{formats::read_ring_scanner(ring), formats::read_phantom(water(folder.path(), false)).phantom,
                           SimulationOptions{.seed = 3}};
  std::string file = (folder / "scatter.nii.gz").string();

  RingWithScatter() { write_scatter(file, lopsided_scatter()); }

  std::vector<ViewBatch> histo(const std::string& more, const EventBatch& events) {
    RegisteredGadgetTest<ViewBatch> test(
        "histo_deposit", fmt::format("{{image: {}, views: [12, 3], acceptance_deg: 9{}}}", image_words, more));
    test.send(EventBatch(events));
    test.finish();
    std::vector<ViewBatch> views;
    for (std::size_t v = 0; v < test.out.size(); ++v) views.push_back(std::move(test.out[v]));
    return views;
  }
};

double difference_of(const std::vector<ViewBatch>& views, const std::vector<double>& expected) {
  double squares = 0;
  std::size_t at = 0;
  for (const ViewBatch& view : views)
    for (const float count : view.additive.span()) {
      const double error = static_cast<double>(count) - expected[at++];
      squares += error * error;
    }
  REQUIRE(at == expected.size());
  return std::sqrt(squares / static_cast<double>(at)) / *std::ranges::max_element(expected);
}

/// A narrow cylinder of water, beside which there is room for scatter.
std::string narrow_water(const std::filesystem::path& folder) {
  const auto file = folder / "narrow.yaml";
  std::ofstream(file) << "name: narrow\nmu_keV: 511\nsolids:\n  - {name: water, shape: cylinder, radius_mm: 60, "
                         "length_mm: 44, activity_Bq_mL: 10000, mu_per_cm: 0.096}\n";
  return file.string();
}

DirectPipeline scattered_water(const TemporaryFolder& folder) {
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = narrow_water(folder.path())};
  with.mu_map = mu_map_of(with.phantom, folder.path());
  with.events = 200'000;
  with.source = ", scatter: true";
  return with;
}

std::string with_direct_scatter(const DirectPipeline& pipeline, const std::string& more = "") {
  std::string text = pipeline.direct();
  const std::string inputs = "{views: subsets, image: estimate}";
  text.replace(text.find(inputs), inputs.size(), "{views: subsets, image: estimate, additive: scatter}");
  return text + fmt::format("  scatter: {{use: direct_scatter, from: {}, point_mm: 30{}}}\n", inputs, more);
}

}  // namespace

TEST_CASE("the scatter of histo-images is that of all pairs by their efficiency, along their lines by ToF") {
  RingWithScatter with;
  const EventBatch events = with.simulator.next_events(5000).events;
  const Grid everywhere = Grid::centred(1, 1, 1, {1000, 1000, 1000});
  const ScatterEstimate estimate = lopsided_scatter();
  for (const HistoLattice kind : {HistoLattice::view, HistoLattice::image}) {
    CAPTURE(static_cast<int>(kind));
    SumOverPairs sum({.azimuths = 12, .tilts = 3, .acceptance_deg = 9}, kind);
    std::int64_t number = 0;
    lines_of(*events.scanner)
        .visit(*events.scanner, everywhere, {}, [&](const EventView& lines, const float* values, double) {
          for (std::int64_t i = 0; i < lines.count; ++i) {
            const double golden = 0.618034 * static_cast<double>(number++), value = static_cast<double>(values[i]);
            sum.add(lines.lor(i), golden - std::floor(golden), [&](const Lor& at) {
              return events.duration_s * value * static_cast<double>(scatter_at(estimate, sinogram_place(at)));
            });
          }
        });
    for (const bool is_attenuated : {false, true}) {
      CAPTURE(is_attenuated);
      if (is_attenuated) mu_map_of(water(with.folder.path(), false), with.folder.path());
      const auto views = with.histo(
          fmt::format(", lattice: {}, scatter: {{file: {}}}{}", kind == HistoLattice::view ? "view" : "image",
                      with.file, is_attenuated ? ", mu_map: " + (with.folder / "mu.nii.gz").string() : ""),
          events);
      REQUIRE(views.size() == 36);
      for (std::size_t v = 0; v < views.size(); ++v) {
        CAPTURE(v);
        REQUIRE(views[v].additive.size() == views[v].count);
        double of_view = 0;
        for (const float count : views[v].additive.span()) of_view += static_cast<double>(count);
        CHECK(of_view == approx(sum.all[v]).epsilon(0.03));
      }
      CHECK(difference_of(views, sum.counts) < 0.02);
    }
  }
}

TEST_CASE("scatter from a file adds to randoms, and grows with the exposed time") {
  RingWithScatter with;
  EventBatch events = with.simulator.next_events(5000).events;
  events.quantity = std::make_shared<const Quantity>();
  const std::string randoms = ", randoms: {from: rate, rate_cps: 5000}";
  const std::string scatter = fmt::format(", scatter: {{file: {}}}", with.file);
  const auto of_randoms = with.histo(randoms, events), of_scatter = with.histo(scatter, events),
             of_both = with.histo(randoms + scatter, events);
  events.exposure = 0.5;
  const auto less = with.histo(scatter, events);
  REQUIRE(of_both.front().quantity);
  CHECK((*of_both.front().quantity)[Correction::scatter].state == CorrectionState::made);
  for (std::size_t v = 0; v < of_both.size(); ++v)
    for (std::int64_t p = 0; p < of_both[v].count; p += 7) {
      CHECK(of_both[v].additive[p] == approx(of_randoms[v].additive[p] + of_scatter[v].additive[p]).epsilon(1e-5));
      CHECK(less[v].additive[p] == approx(0.5f * of_scatter[v].additive[p]).epsilon(1e-5));
    }
}

TEST_CASE("DIRECT: scattered water comes out with its activity if scatter is estimated or given, and too high if not") {
  const TemporaryFolder folder;
  const DirectPipeline with = scattered_water(folder);
  const auto mean_of = [&](const std::string& pipeline, CorrectionState state) {
    const RunReport report = run_pipeline(pipeline, folder.path());
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors.front().text()));
    CHECK(report.books.balanced());
    REQUIRE(last_image()->quantity);
    CHECK((*last_image()->quantity)[Correction::scatter].state == state);
    return mean_of_water(*last_image()->image, 45);
  };
  const double without = mean_of(with.direct(), CorrectionState::called_for);
  CHECK(without > 1.08 * water_Bq_mL);
  CHECK(mean_of(with_direct_scatter(with), CorrectionState::made) == approx(water_Bq_mL).epsilon(0.025));
  // What it wrote is what histo_deposit reads.
  DirectPipeline given = with;
  std::filesystem::rename(folder / "scatter.nii.gz", folder / "kept.nii.gz");
  given.deposit = fmt::format(", scatter: {{file: {}}}", (folder / "kept.nii.gz").string());
  CHECK(mean_of(given.direct(), CorrectionState::made) == approx(water_Bq_mL).epsilon(0.025));
}

TEST_CASE("DIRECT: with the other orders by Monte Carlo the tails ask for less of the scatter") {
  const TemporaryFolder folder;
  DirectPipeline with = scattered_water(folder);
  with.events = 100'000;
  with.subsets = "subsets: 6, iterations: 2";
  with.deposit = ", most_lines: 50000";
  const auto figures_of = [&](const std::string& more) {
    std::string pipeline = with_direct_scatter(with, ", at_iterations: [2], most_lines: 50000" + more);
    const std::string point = "point_mm: 30";
    pipeline.replace(pipeline.find(point), point.size(), "point_mm: 50");
    const RunReport report = run_pipeline(pipeline, folder.path());
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors.front().text()));
    return std::ranges::find(report.gadgets, "scatter", &GadgetReport::name)->figures;
  };
  const auto single = figures_of(""), all = figures_of(", multiple: monte_carlo, multiple_error: 0.9");
  const auto first = [](const auto& figures, const char* name) {
    return std::get<std::vector<double>>(figures.at(name)).front();
  };
  CHECK(first(all, "multiple_share") > 0.05);
  CHECK(first(all, "multiple_share") < 0.4);
  // They are wider, so that beside the body there are more of them than on average.
  CHECK(first(all, "tail_factor") < first(single, "tail_factor") * (1 - first(all, "multiple_share")));
  CHECK(first(all, "tail_factor") > 0.5 * first(single, "tail_factor"));
  CHECK(first(single, "tail_chi2") > 0.3);
  CHECK(first(single, "tail_chi2") < 3);
}

TEST_CASE("DIRECT: the tails of scatter see counts of 16 bits as they see floats") {
  const TemporaryFolder folder;
  DirectPipeline with = scattered_water(folder);
  with.events = 100'000;
  with.subsets = "subsets: 6, iterations: 2";
  const auto factor_of = [&](const std::string& counts) {
    with.deposit = ", deposit: nearest, most_lines: 50000" + counts;
    std::string pipeline = with_direct_scatter(with, ", at_iterations: [2], most_lines: 50000");
    const std::string point = "point_mm: 30";
    pipeline.replace(pipeline.find(point), point.size(), "point_mm: 50");
    const RunReport report = run_pipeline(pipeline, folder.path());
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors.front().text()));
    const auto scatter = std::ranges::find(report.gadgets, "scatter", &GadgetReport::name);
    CHECK(std::get<double>(scatter->figures.at("tail_counts")) > 100);
    return std::get<std::vector<double>>(scatter->figures.at("tail_factor"));
  };
  CHECK(factor_of(", counts: uint16") == factor_of(""));
}

TEST_CASE("DIRECT: a run with scatter that broke off goes on to the image of a run that did not, to the last bit") {
  const TemporaryFolder folder;
  DirectPipeline with = scattered_water(folder);
  with.events = 15'000;
  with.subsets = "subsets: 3, iterations: 4";
  with.deposit = ", most_lines: 50000";
  const auto run = [&](const std::string& out, const std::string& fault, const std::string& resume_from) {
    with.projector = "lor_fwhm_mm: 7.5" + fault;
    std::string pipeline = with_direct_scatter(with, ", at_iterations: [2, 3], most_lines: 50000");
    const std::string point = "point_mm: 30";
    pipeline.replace(pipeline.find(point), point.size(), "point_mm: 50");
    pipeline += "  checkpoint: {use: checkpoint_writer, from: estimate, every_s: 0}\n";
    if (!resume_from.empty()) pipeline = "resume_from: " + (folder / resume_from).string() + "\n" + pipeline;
    return run_pipeline(pipeline, folder / out);
  };
  const auto voxels = [] { return last_image()->image->voxels.to_vector(); };
  REQUIRE(run("whole", "", "").exit_code == 0);
  const std::vector<float> whole = voxels();
  for (const int at : {2, 5, 6, 8, 11}) {  // the first of 12 updates is message 1
    CAPTURE(at);
    const std::string broken = fmt::format("broken{}", at), on = broken + "_on";
    CHECK(run(broken, fmt::format(", fault: {{throw_at: {}, delay_ms: 20}}", at), "").exit_code == 1);
    const RunReport went_on = run(on, "", broken);
    REQUIRE_MESSAGE(went_on.exit_code == 0, (went_on.errors.empty() ? "the books" : went_on.errors.front().text()));
    CHECK(voxels() == whole);
    CHECK(text_of(folder / on / "scatter.tofs") == text_of(folder / "whole" / "scatter.tofs"));
  }
}

TEST_CASE("live_histo has the scatter of a file in every image, and the offline one's bits in the last") {
  RingWithScatter with;
  const auto image_of = [&](const std::string& histo, const std::string& views) {
    const std::string pipeline = fmt::format(
        "backend: cpu\nimage: {}\ngadgets:\n  photons: {{use: simulator, scanner: {}, phantom: {}, events: 20000}}\n"
        "  histo: {{use: {}, from: photons, views: [6, 1], acceptance_deg: 9, scatter: {{file: {}}}}}\n"
        "  projected: {{use: direct_projector, from: {{views: {}, image: estimate}}, lor_fwhm_mm: 7.5}}\n"
        "  estimate: {{use: osem_update, from: projected}}\n  kept: {{use: test_keep_last_image, from: estimate}}\n",
        image_words, with.ring, water(with.folder.path(), false), histo, with.file, views);
    const RunReport report = run_pipeline(
        pipeline + (views == "histo" ? "" : "  subsets: {use: view_subsets, from: histo, subsets: 3, iterations: 2}\n"),
        with.folder.path());
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors.front().text()));
    CHECK((*last_image()->quantity)[Correction::scatter].state == CorrectionState::made);
    return last_image()->image->voxels.to_vector();
  };
  const auto offline = image_of("histo_deposit", "subsets");
  CHECK(image_of("live_histo, subsets: 3, iterations: 2, final: offline", "histo") == offline);
  image_of("live_histo, subsets: 3, iterations: 2, final: converged", "histo");
}

TEST_CASE("scatter that cannot be laid down is refused in one line") {
  RingWithScatter with;
  const EventBatch events = with.simulator.next_events(2000).events;
  const auto plain = (with.folder / "plain.nii").string();
  write_scatter(plain, lopsided_scatter().without_tof());
  CHECK_THROWS_WITH(with.histo(fmt::format(", scatter: {{file: {}}}", plain), events), doctest::Contains("has no ToF"));
  CHECK_THROWS_WITH(with.histo(", scatter: {file: nowhere.nii}", events), doctest::Contains("no such file"));

  const TemporaryFolder folder;
  DirectPipeline both = scattered_water(folder);
  both.events = 5000;
  both.deposit = fmt::format(", most_lines: 50000, scatter: {{file: {}}}", with.file);
  const auto refusal_of = [&](const std::string& pipeline) {
    std::string text;
    try {
      const RunReport report = run_pipeline(pipeline, folder.path());
      CHECK(report.exit_code != 0);
      for (const auto& error : report.errors) text += error.text();
    } catch (const std::exception& error) {
      text = error.what();
    }
    return text;
  };
  CHECK(refusal_of(with_direct_scatter(both)).find("hold scatter already") != std::string::npos);
  both.deposit = ", most_lines: 50000";
  CHECK(refusal_of(with_direct_scatter(both, ", at_iterations: [1]")).find("from 2 on") != std::string::npos);
  CHECK(refusal_of(with_direct_scatter(both, ", file: scatter.txt")).find("must end in .nii") != std::string::npos);
}

TEST_CASE("scatter of histo-images: a GPU lays down what the CPU does") {
  if (!gpu_or_skip()) return;
  RingWithScatter with;
  const auto scanner = with.simulator.next_events(100).events.scanner;
  const HistoPlace place{grid, {.azimuths = 12, .tilts = 3, .acceptance_deg = 9}, HistoLattice::view, 100'000};
  const auto scatter = scatter_of(*scanner).read(with.file);
  const std::int64_t points = HistoLines(place.grid, place.views, place.lattice, 200).points();
  std::vector<float> terms(static_cast<std::size_t>(points * place.views.count()));
  for (std::size_t p = 0; p < terms.size(); ++p) terms[p] = 1 + static_cast<float>(p % 13);
  const HistoScatter laid(place, *scanner, terms);
  for (const int view : {0, 17, 35}) {
    std::vector<float> here(static_cast<std::size_t>(points));
    laid.add(*scatter, view, 3, terms.data(), here.data(), Memory::host);
    const Buffer<float> before = Buffer<float>::from(std::span(terms).first(here.size())).to(Memory::device);
    Buffer<float> there(Memory::device, points);
    laid.add(*scatter, view, 3, before.data(), there.data(), Memory::device);
    const std::vector<float> back = there.to_vector();
    for (std::size_t p = 0; p < here.size(); p += 11) CHECK(back[p] == approx(here[p]).epsilon(1e-4));
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
