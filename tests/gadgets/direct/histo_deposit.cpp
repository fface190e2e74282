// histo_deposit and what it and direct_projector refuse.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>

#include "gadgets/additive.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "gadgets/step/projector_kinds.hpp"
#include "gadgets/step/scanner_lines.hpp"
#include "gadgets/views.hpp"
#include "kernels/direct/direct.hpp"
#include "kernels/direct/histo_sensitivity.hpp"
#include "kernels/direct/steepest_line.hpp"
#include "kernels/math/units.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/gadgets/direct/direct_runs.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {
namespace {

using namespace direct_test;

struct SmallScanner {
  TemporaryFolder folder;
  EventSimulator simulator{formats::read_ring_scanner(small_ring(folder.path())),
                           formats::read_phantom(water(folder.path(), true)).phantom,
                           {.seed = 3}};
  std::shared_ptr<const Scanner> scanner = simulator.scanner();
  GadgetRecord record{"histo"};
  Context context{record};

  std::unique_ptr<ListModeProjector> joseph(const Grid& on) {
    const ProjectorKind& kind = table_of<ProjectorKind>().at("joseph_projector");
    return kind.make(kind.default_params().get(), on, Backend::cpu, *scanner, context);
  }
  EventBatch events() { return simulator.next_events(20'000).events; }
  /// All views' terms, [view][k][j][i].
  std::vector<float> terms(const Grid& on, const DirectViews& views, HistoLattice lattice) {
    HistoSensitivity sensitivity(on, views, lattice);
    const auto projector = joseph(sensitivity.lattice_grid());
    std::vector<float> terms(static_cast<std::size_t>(sensitivity.points()), 0.0f);
    lines_of(*scanner).visit(*scanner, sensitivity.box(), {}, [&](const EventView& lines, const float* values, double) {
      sensitivity.add(lines, values, *projector, terms.data());
    });
    return terms;
  }
  /// K^T m of all views.
  std::vector<float> sensitivity(const Grid& on, const DirectViews& views, HistoLattice lattice) {
    const std::vector<float> m = terms(on, views, lattice);
    const ViewSet set = direct_view_set(on, views, lattice);
    DirectSettings settings{.kernel = {.tof_sigma_mm = 19, .radial = {{0, 7.5f}}, .axial_fwhm_mm = 7.5f},
                            .lattice = lattice};
    const auto projector = make_direct_projector(on, set, settings, Backend::cpu);
    ViewBatch batch{.set = std::make_shared<const ViewSet>(set)};
    for (int v = 0; v < views.count(); ++v) batch.records.push_back({.view = v});
    batch.count = views.count() * set.pixels();
    batch.weigh(1);
    batch.multiplicative = Buffer<float>::from(m);
    std::vector<float> image(static_cast<std::size_t>(on.voxels()), 0.0f);
    projector->add_sensitivity(batch.view(), image.data());
    return image;
  }
};

}  // namespace

TEST_CASE("the views' terms sum to the list-mode sensitivity of the lines within the acceptance") {
  SmallScanner with;
  const DirectViews views{.azimuths = 10, .tilts = 3, .acceptance_deg = 4};
  const std::vector<float> terms = with.terms(grid, views, HistoLattice::image);
  std::vector<double> sum(static_cast<std::size_t>(grid.voxels()), 0.0);
  for (std::size_t p = 0; p < terms.size(); ++p) sum[p % sum.size()] += static_cast<double>(terms[p]);

  const auto projector = with.joseph(grid);
  std::vector<float> expected(sum.size(), 0.0f);
  std::int64_t all = 0, accepted = 0;
  const Grid everywhere = Grid::centred(1, 1, 1, {1000, 1000, 1000});
  lines_of(*with.scanner)
      .visit(*with.scanner, everywhere, {}, [&](const EventView& lines, const float* values, double) {
        std::vector<float> kept(values, values + lines.count);
        for (std::int64_t i = 0; i < lines.count; ++i) {
          const Lor lor = lines.lor(i);
          const bool is_in = view_of_line(views, lor.end2 - lor.end1).view >= 0;
          if (!is_in) kept[static_cast<std::size_t>(i)] = 0;
          accepted += is_in;
        }
        all += lines.count;
        projector->back(lines, kept.data(), expected.data());
      });
  CHECK(accepted > 0);
  CHECK(accepted < all);
  const double most = static_cast<double>(*std::ranges::max_element(expected));
  REQUIRE(most > 0);
  double worst = 0;
  for (std::size_t j = 0; j < sum.size(); ++j)
    worst = std::max(worst, std::abs(sum[j] - static_cast<double>(expected[j])) / most);
  CHECK(worst < 1e-5);
}

TEST_CASE("the sensitivity is the same by views that lie along their lines, also where voxels are not square") {
  SmallScanner with;
  const Grid oblong = Grid::centred(40, 34, 9, {5.5f, 6, 6});
  const DirectViews views{.azimuths = 12, .tilts = 3, .acceptance_deg = 9};
  const std::vector<float> by_image = with.sensitivity(oblong, views, HistoLattice::image),
                           by_view = with.sensitivity(oblong, views, HistoLattice::view);
  double worst = 0;
  for (int k = 2; k < 7; ++k)
    for (int j = 0; j < oblong.size[1]; ++j)
      for (int i = 0; i < oblong.size[0]; ++i) {
        const Vec3 at = oblong.centre(i, j, k);
        if (std::hypot(at.x, at.y) > 40) continue;
        const auto v = static_cast<std::size_t>(oblong.index(i, j, k));
        worst = std::max(worst, std::abs(static_cast<double>(by_view[v] / by_image[v]) - 1));
      }
  CHECK(worst < 0.02);  // each view samples its lines along other axes
}

TEST_CASE("each event is deposited or rejected for a reason, and the views carry their scan time and resolution") {
  SmallScanner with;
  EventBatch events = with.events();
  for (const char* deposit : {"nearest", "linear", "nearest, spread: tof_bin", "linear, spread: tof_bin"}) {
    CAPTURE(deposit);
    RegisteredGadgetTest<ViewBatch> test(
        "histo_deposit",
        fmt::format("{{image: {}, views: [12, 1], acceptance_deg: 3, deposit: {}}}", image_words, deposit));
    test.send(EventBatch(events));
    test.finish();
    REQUIRE(test.out.size() == 12);
    std::uint64_t counts = 0;
    double sum = 0;
    for (std::size_t v = 0; v < test.out.size(); ++v) {
      const ViewBatch& view = test.out[v];
      CHECK_NOTHROW(view.view());
      counts += view.event_count();
      for (const float count : view.counts.span()) sum += static_cast<double>(count);
      CHECK(view.set->places[v].duration_s == approx(events.duration_s));
    }
    const std::uint64_t rejected = test.context.recorded().rejected_total();
    CHECK(rejected > 0);
    CHECK(counts + rejected == events.event_count());
    CHECK(sum == approx(static_cast<double>(counts)).epsilon(1e-6));
    // 300 ps, and bins of 75 ps, twice where events are spread over them.
    const double bins = std::string_view(deposit).ends_with("tof_bin") ? 2 : 1;
    const double sigma = 0.5 * speed_of_light_mm_ps * std::hypot(300 / fwhm_per_sigma, 75 * std::sqrt(bins / 12));
    CHECK(static_cast<double>(test.out[0].set->histo.tof_sigma_mm) == approx(sigma).epsilon(1e-4));
  }
}

TEST_CASE("histo_deposit refuses in one line what it cannot lay down") {
  SmallScanner with;
  const EventBatch events = with.events();
  const auto words = [](const char* more) { return fmt::format("{{image: {}{}}}", image_words, more); };
  const auto send = [&](const char* more, EventBatch batch) {
    RegisteredGadgetTest<ViewBatch> test("histo_deposit", words(more));
    test.send(std::move(batch));
  };
  EventBatch without_tof(events);
  without_tof.tof_mm = {};
  CHECK_THROWS_WITH(send(", views: [12, 1], acceptance_deg: 3", std::move(without_tof)),
                    doctest::Contains("histo-images need events with ToF"));
  EventBatch uneven(events);
  uneven.tof_width_mm = Buffer<float>::zeros(Memory::host, events.count);
  CHECK_THROWS_WITH(send(", views: [12, 1], acceptance_deg: 3", std::move(uneven)),
                    doctest::Contains("ToF bins differ in width"));
  EventBatch with_randoms(events);
  with_randoms.additive = Buffer<float>::zeros(Memory::host, events.count);
  CHECK_THROWS_WITH(send(", views: [12, 1], acceptance_deg: 3", std::move(with_randoms)),
                    doctest::Contains("terms for randoms or scatter"));
  EventBatch unknown(events);
  unknown.scanner = nullptr;
  CHECK_THROWS_WITH(send("", std::move(unknown)), doctest::Contains("which scanner recorded them"));
  CHECK_THROWS_WITH(send(", views: [12, 9], acceptance_deg: 60", EventBatch(events)),
                    doctest::Contains("acceptance_deg: 60 degrees is beyond the scanner"));
  // Just as far as the scanner's lines, but in so narrow intervals that some have none.
  CHECK_THROWS_WITH(send(", views: [12, 60], acceptance_deg: 9, most_lines: 1000", EventBatch(events)),
                    doctest::Contains("lower acceptance_deg, or take fewer views"));
  CHECK_THROWS_WITH(send(", views: [4096, 2]", EventBatch(events)), doctest::Contains("views.tilts"));
  CHECK_THROWS_WITH(send(", acceptance_deg: 90", EventBatch(events)), doctest::Contains("acceptance_deg"));
}

TEST_CASE("the steepest line of a scanner is that of all its pairs, and no acceptance may be a little wider") {
  SmallScanner with;
  const auto detectors = static_cast<std::uint32_t>(with.scanner->detectors->size());
  double steepest_deg = 0;
  for (std::uint32_t a = 0; a < detectors; ++a)
    for (std::uint32_t b = 0; b < a; ++b)
      if (with.scanner->in_coincidence(a, b)) {
        const Vec3 along = with.scanner->detectors->position(a) - with.scanner->detectors->position(b);
        const double tangent = static_cast<double>(std::abs(along.z)) / std::hypot(along.x, along.y);
        steepest_deg = std::max(steepest_deg, std::atan(tangent) * 180 / std::numbers::pi);
      }
  CHECK(steepest_line_deg(*with.scanner) == approx(steepest_deg).epsilon(1e-6));
  const EventBatch events = with.events();
  for (const char* gadget : {"histo_deposit", "live_histo"}) {
    CAPTURE(gadget);
    const auto send = [&](double acceptance_deg) {
      const std::string parameters =
          fmt::format("{{image: {}, views: [12, 1], acceptance_deg: {:.4f}, most_lines: 100000{}}}", image_words,
                      acceptance_deg, gadget == std::string("live_histo") ? ", subsets: 1" : "");
      if (gadget == std::string("live_histo")) {
        const TemporaryFolder folder;
        RegisteredGadgetTest<ViewSubset>(gadget, parameters, folder.path()).send(EventBatch(events));
      } else {
        RegisteredGadgetTest<ViewBatch>(gadget, parameters).send(EventBatch(events));
      }
    };
    CHECK_NOTHROW(send(steepest_deg - 0.01));
    const std::string words = fmt::format("whose steepest line has {:.2f}: lower acceptance_deg to that or less",
                                          std::floor(100 * steepest_deg) / 100);
    CHECK_THROWS_WITH_AS(send(steepest_deg + 0.01), doctest::Contains(words.c_str()), std::invalid_argument);
  }
}

TEST_CASE("DIRECT's gadgets refuse a mu_map in another unit than 1/cm") {
  const TemporaryFolder folder;
  const auto file = (folder / "mu.nii").string();
  for (const auto& [value, words] :
       std::map<float, const char*>{{0.0096f, "is it in 1/mm?"}, {1000.0f, "Hounsfield"}}) {
    write_nifti(file, Image::filled(grid, value));
    const std::string direct = fmt::format("{{image: {}, mu_map: {}}}", image_words, file);
    CHECK_THROWS_WITH(RegisteredGadgetTest<ViewBatch>("histo_deposit", direct), doctest::Contains(words));
    CHECK_THROWS_WITH(RegisteredGadgetTest<ViewSubset>("live_histo", direct), doctest::Contains(words));
    CHECK_THROWS_WITH(RegisteredGadgetTest<Additive<ViewBatch>>("direct_scatter", fmt::format("{{mu_map: {}}}", file)),
                      doctest::Contains(words));
  }
}

TEST_CASE("direct_projector refuses histo-images of another image, kernel or lattice than it can project") {
  const TemporaryFolder folder;
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = water(folder.path(), false), .events = 5000};
  with.source = ", attenuation: false";
  with.subsets = "subsets: 2";
  const auto message_of = [&](const std::string& pipeline) {
    try {
      const RunReport report = run_pipeline(pipeline, folder.path());
      return report.errors.empty() ? std::string() : report.errors.front().text();
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
  };
  const auto refused = [&](const std::string& projector, const char* words) {
    with.projector = projector;
    CAPTURE(projector);
    const std::string message = message_of(with.direct());
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  refused("operator: one_stage, lor_fwhm_mm: 7.5", "take lattice image, or operator two_stage");
  refused("operator: fft, lor_fwhm_mm: 7.5", "take lattice image, or operator two_stage");
  refused("lor_fwhm_mm: 5", "take operator one_stage");
  refused("lor_fwhm_mm: 300", "wider than the image's");
  refused("tof_fwhm_ps: 3000, lor_fwhm_mm: 7.5", "wider than the image's");
  refused("lor_fwhm_at_mm: [[10, 8], [5, 9]]", "above the one before it");
  with.update = "use: osem_update, image: {size: [30, 36, 9], voxel_mm: 5}";
  refused("lor_fwhm_mm: 7.5", "where the image asks for");
  with.update = "use: osem_update, image: {size: [36, 36, 9], voxel_mm: 6, centre_mm: [6, 0, 0]}";
  refused("lor_fwhm_mm: 7.5", "put one image at the pipeline's top");
  with.update = "use: ramla_update, relaxation: 1.5";
  refused("lor_fwhm_mm: 7.5", "relaxation");
}

TEST_CASE("direct_projector refuses a kernel that its operator cannot have when it is made, before any data") {
  const TemporaryFolder folder;
  const auto table = folder / "table.yaml";
  std::ofstream(table) << "offset_step_mm: 2\nrows: [{values: [1, 2, 1]}]\n";
  const auto uneven = folder / "uneven.yaml";
  std::ofstream(uneven) << "offset_step_mm: 2\nrows: [{values: [1, 2, 0]}]\n";
  const auto made = [](const std::string& parameters) {
    RegisteredGadgetTest<Projected> test("direct_projector", "{backend: cpu, " + parameters + "}");
  };
  const auto refused = [&](const std::string& parameters, const char* words) {
    CAPTURE(parameters);
    CHECK_THROWS_WITH_AS(made(parameters), doctest::Contains(words), std::invalid_argument);
  };
  const std::string with_table = "lor_table: " + table.string();
  refused("operator: fft, lor_fwhm_at_mm: [[0, 5], [100, 8]]", "operator fft needs one kernel for all voxels");
  refused("operator: fft, parts: [{shift: 1}]", "operator fft needs one kernel for all voxels");
  refused("operator: fft, lor_table: " + uneven.string(), "operator fft needs one kernel for all voxels");
  refused("operator: fft, fft_spectrum: analytic, " + with_table, "take fft_spectrum sampled");
  refused(with_table, "for a radial table take operator one_stage");
  refused("operator: one_stage, parts: [{}], " + with_table, "leave out parts and lor_fwhm_at_mm");
  refused("operator: one_stage, deposit_kernel: true, " + with_table, "leave deposit_kernel out");
  for (const char* other : {"one_stage", "fft"})
    refused(std::string("scheme: paper, operator: ") + other, "scheme paper is one of operator two_stage");
  refused("lor_fwhm_at_mm: [[10, 8], [5, 9]]", "above the one before it");
  made("operator: fft, lor_fwhm_mm: 5");
  made("operator: fft, " + with_table);
  made("operator: one_stage, lor_fwhm_at_mm: [[0, 5], [100, 8]]");
  made("scheme: paper");
}

TEST_CASE("a tof_fwhm_ps that is not the events' is taken, and the report has both, as the log's warning does") {
  const TemporaryFolder folder;
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = water(folder.path(), false), .events = 5000};
  with.source = ", attenuation: false";
  with.subsets = "subsets: 1, iterations: 1";
  const auto figures_of = [&](const std::string& tof) {
    with.projector = "lor_fwhm_mm: 7.5" + tof;
    const RunReport report = run_pipeline(with.direct(), folder.path());
    REQUIRE(report.exit_code == 0);
    return std::ranges::find(report.gadgets, "projected", &GadgetReport::name)->figures;
  };
  constexpr double mm_of_ps = 0.5 * speed_of_light_mm_ps;
  const double own = mm_of_ps * std::hypot(300, 75 * fwhm_per_sigma / std::sqrt(12));
  const auto same = figures_of("");
  CHECK(std::get<double>(same.at("tof_fwhm_mm")) == approx(own).epsilon(1e-4));
  CHECK(!same.contains("tof_fwhm_mm_of_events"));
  CHECK(!figures_of(", tof_fwhm_ps: 310").contains("tof_fwhm_mm_of_events"));
  for (const double other : {290, 400}) {
    const auto differs = figures_of(fmt::format(", tof_fwhm_ps: {}", other));
    CHECK(std::get<double>(differs.at("tof_fwhm_mm")) == approx(mm_of_ps * other).epsilon(1e-4));
    REQUIRE(differs.contains("tof_fwhm_mm_of_events"));
    CHECK(std::get<double>(differs.at("tof_fwhm_mm_of_events")) == approx(own).epsilon(1e-4));
  }
}

TEST_CASE("histo_writer writes a volume of counts for each view") {
  SmallScanner with;
  const TemporaryFolder folder;
  RegisteredGadgetTest<ViewBatch> deposit("histo_deposit",
                                          fmt::format("{{image: {}, views: [12, 1], acceptance_deg: 3}}", image_words));
  deposit.send(with.events());
  deposit.finish();
  RegisteredGadgetTest<void> writer("histo_writer", "{file: histo.nii}", folder.path());
  std::uint64_t counts = 0;
  for (std::size_t v = 0; v < deposit.out.size(); ++v) {
    counts += deposit.out[v].event_count();
    writer.send(ViewBatch(deposit.out[v]));
  }
  writer.finish();
  CHECK(writer.context.recorded().written == counts);
  constexpr std::uintmax_t header = 352;
  const auto bytes = std::filesystem::file_size(folder.path() / "histo.nii");
  const std::uintmax_t voxels = 12 * sizeof(float) * static_cast<std::uintmax_t>(grid.voxels());
  CHECK(bytes > header + voxels);  // and the comment
  const auto comment = read_nifti_comment(folder.path() / "histo.nii");
  CHECK(comment.find("\"lattice\":\"view\"") != std::string::npos);
}

TEST_CASE("histo_writer writes counts of 16 bits as it writes floats") {
  SmallScanner with;
  const EventBatch events = with.events();
  const TemporaryFolder folder;
  const auto written = [&](const char* counts) {
    RegisteredGadgetTest<ViewBatch> deposit(
        "histo_deposit", fmt::format("{{image: {}, views: [12, 1], acceptance_deg: 3, deposit: nearest, counts: {}}}",
                                     image_words, counts));
    deposit.send(EventBatch(events));
    deposit.finish();
    CHECK(deposit.out[0].counts.empty() == (std::string_view(counts) == "uint16"));
    RegisteredGadgetTest<void> writer("histo_writer", fmt::format("{{file: {}.nii}}", counts), folder.path());
    for (std::size_t v = 0; v < deposit.out.size(); ++v) writer.send(ViewBatch(deposit.out[v]));
    writer.finish();
    std::ifstream file(folder.path() / fmt::format("{}.nii", counts), std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const std::string floats = written("float");
  CHECK(written("uint16") == floats);
}

TEST_CASE("DIRECT: counts of 16 bits give the image of floats, bit for bit, and events over their bins its activity") {
  const TemporaryFolder folder;
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = water(folder.path(), false)};
  with.mu_map = mu_map_of(with.phantom, folder.path());
  with.events = 200'000;
  with.subsets = "subsets: 12, iterations: 2";
  const auto image_of = [&](const std::string& deposit) {
    with.deposit = deposit;
    const RunReport report = run_pipeline(with.direct(), folder.path());
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors.front().text()));
    CHECK(report.books.balanced());
    return last_image();
  };
  const auto floats = image_of(", deposit: nearest")->image->voxels.to_vector();
  CHECK(image_of(", deposit: nearest, counts: uint16")->image->voxels.to_vector() == floats);
  CHECK(mean_of_water(*image_of(", spread: tof_bin")->image) == approx(water_Bq_mL).epsilon(0.03));
  // A LOR too narrow for two_stage by itself is wide enough with the deposit's blur.
  const std::string projector = std::exchange(with.projector, "lor_fwhm_mm: 5, deposit_kernel: true");
  CHECK(mean_of_water(*image_of("")->image) == approx(water_Bq_mL).epsilon(0.03));
  with.projector = projector;
  with.deposit = ", counts: uint16";
  const RunReport shares = run_pipeline(with.direct(), folder.path());
  REQUIRE(!shares.errors.empty());
  CHECK(shares.errors.front().text().find("take deposit nearest without spread") != std::string::npos);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
