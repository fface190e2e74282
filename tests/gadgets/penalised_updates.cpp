// Priors and the updates that take them, as gadgets of a pipeline: MAP-EM, whose objective never falls, BSREM and SVRG,
// which end at the same image; what a checkpoint holds of them; and files that do not fit.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/penalty.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

std::shared_ptr<const Estimate>& newest_penalised() {
  static std::shared_ptr<const Estimate> newest;
  return newest;
}
struct KeepPenalised {
  void process(std::shared_ptr<const Estimate> estimate) { newest_penalised() = std::move(estimate); }
};
TOFSTREAM_GADGET(KeepPenalised, "test_keep_penalised", "Keeps the newest image");

struct PenalisedRun {
  std::string data =
      "photons: {use: simulator, phantom: uniform_cylinder, seconds: 1, activity_scale: 0.01, "
      "batch_events: 5000, attenuation: false}";
  std::string image = "{size: [32, 32, 8], voxel_mm: [8, 8, 18]}";
  std::string prior;  // empty: none
  std::string update = "use: map_em_update";
  int subsets = 1, iterations = 5;
  std::string more;           // of subset_builder
  std::string subset_gadget;  // in its place

  std::string pipeline() const {
    return fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {}
gadgets:
  {}
  subsets: {{{}, from: photons}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}},
    sensitivity: {{exact_pairs: 0, sampled_pairs: 100000, cache: false}}}}
  estimate: {{{}, from: {}}}
  kept: {{use: test_keep_penalised, from: estimate}}
{})",
                       image, data, subset_words(), update,
                       prior.empty() ? "projected" : "{projected: projected, penalty: prior}",
                       prior.empty() ? "" : fmt::format("  prior: {{{}, from: estimate}}\n", prior));
  }
  std::string subset_words() const {
    if (!subset_gadget.empty()) return subset_gadget;
    return fmt::format("use: subset_builder, subsets: {}, iterations: {}, reference_s: 0{}", subsets, iterations, more);
  }
  RunReport report() const {
    const TemporaryFolder folder;
    newest_penalised() = nullptr;
    return Engine(parse_pipeline(pipeline(), "test.yaml"), {.output_dir = folder.path()}).run();
  }
};

struct PenalisedResult {
  std::vector<float> image;
  std::map<std::string, Figure> figures;
  const std::vector<double>& objective() const {
    return std::get<std::vector<double>>(figures.at("penalised_log_likelihood"));
  }
};

PenalisedResult result_of(const PenalisedRun& run) {
  const RunReport report = run.report();
  REQUIRE_MESSAGE(report.exit_code == 0,
                  (report.errors.empty() ? "the books do not balance" : report.errors[0].text()));
  CHECK(report.books.balanced());
  const auto estimate = std::ranges::find(report.gadgets, "estimate", &GadgetReport::name);
  return {newest_penalised()->image->voxels.to_vector(), estimate->figures};
}

std::string error_of(const PenalisedRun& run) {
  const RunReport report = run.report();
  CHECK(report.exit_code != 0);
  return report.errors.empty() ? "" : report.errors[0].text();
}

double roughness_along_x(const std::vector<float>& image) {
  double sum = 0, all = 0;
  for (std::size_t v = 0; v < image.size(); ++v) {
    all += image[v];
    if (v % 32 > 0) sum += std::abs(image[v] - image[v - 1]);
  }
  return sum / all;
}

double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0, scale = 0;
  for (std::size_t v = 0; v < a.size(); ++v) {
    square += std::pow(static_cast<double>(a[v]) - static_cast<double>(b[v]), 2);
    scale += std::pow(static_cast<double>(b[v]), 2);
  }
  return std::sqrt(square / scale);
}

// The scan's values are some 400 Bq s/mL, and its sensitivity some 0.1.
const std::vector<std::string> every_prior = {
    "use: quadratic_prior, beta: 1e-5", "use: huber_prior, beta: 1e-5, delta: 100",
    "use: log_cosh_prior, beta: 1e-5, scale: 0.01", "use: relative_difference_prior, beta: 3e-3, epsilon: 1",
    "use: total_variation_prior, beta: 1e-2, epsilon: 10"};

}  // namespace

TEST_CASE("MAP-EM: the penalised log-likelihood never falls, and each prior makes the image smoother") {
  const PenalisedResult free = result_of({.iterations = 12});
  for (const std::string& prior : every_prior) {
    CAPTURE(prior);
    const PenalisedResult smooth =
        result_of({.prior = prior, .update = "use: map_em_update, objective: true", .iterations = 12});
    REQUIRE(smooth.objective().size() == 12);
    for (std::size_t i = 1; i < 12; ++i)
      CHECK(smooth.objective()[i] > smooth.objective()[i - 1] - 1e-6 * std::abs(smooth.objective()[i]));
    MESSAGE(prior, ": roughness ", roughness_along_x(free.image), " without, ", roughness_along_x(smooth.image),
            " with");
    CHECK(roughness_along_x(smooth.image) < 0.7 * roughness_along_x(free.image));
  }
}

TEST_CASE("MAP-EM of strength 0, or without a prior, is EM's image bit for bit") {
  const std::vector<float> em = result_of({.update = "use: osem_update", .subsets = 3}).image;
  CHECK(result_of({.update = "use: map_em_update", .subsets = 3}).image == em);
  for (const std::string name : {"quadratic_prior", "relative_difference_prior"})
    CHECK(result_of({.prior = "use: " + name + ", beta: 0", .update = "use: map_em_update", .subsets = 3}).image == em);
}

TEST_CASE("BSREM ends at MAP-EM's image and objective") {
  for (const std::string& prior : {every_prior[0], every_prior[3]}) {
    CAPTURE(prior);
    const PenalisedResult map =
        result_of({.prior = prior, .update = "use: map_em_update, objective: true", .iterations = 400});
    const PenalisedResult bsrem = result_of(
        {.prior = prior, .update = "use: bsrem_update, decay: 0.3, objective: true", .subsets = 4, .iterations = 200});
    MESSAGE(prior, ": ", relative_distance(bsrem.image, map.image), " apart");
    CHECK(relative_distance(bsrem.image, map.image) < 0.01);
    CHECK(bsrem.objective().back() == approx(map.objective().back()).epsilon(1e-4));
    CHECK(!bsrem.figures.contains("bounded_voxels"));
    CHECK(std::get<double>(bsrem.figures.at("relaxation")) == approx(1 / (1 + 0.3 * 199)));
  }
}

TEST_CASE("SVRG ends at MAP-EM's image with steps that stay as long, in any order of its subsets") {
  for (const std::string& prior : {every_prior[0], every_prior[3]}) {
    CAPTURE(prior);
    const std::vector<float> map = result_of({.prior = prior, .update = "use: map_em_update", .iterations = 400}).image;
    const auto apart = [&](const std::string& update, const std::string& more, int iterations) {
      return relative_distance(
          result_of({.prior = prior, .update = update, .subsets = 4, .iterations = iterations, .more = more}).image,
          map);
    };
    const double svrg = apart("use: svrg_update", "", 80), random = apart("use: svrg_update", ", order: random", 80),
                 bsrem = apart("use: bsrem_update, decay: 0.3", "", 80);
    MESSAGE(prior, ": SVRG ", svrg, ", in random order ", random, ", BSREM ", bsrem, " apart");
    CHECK(svrg < 0.01);
    CHECK(random < 0.01);
    CHECK(svrg < 0.5 * bsrem);
  }
  // A subset of few events is so unlike the others that long steps run away, which the run says.
  const PenalisedResult away = result_of({.prior = every_prior[0],
                                          .update = "use: svrg_update, relaxation: 1",
                                          .subsets = 4,
                                          .iterations = 80,
                                          .more = ", order: random"});
  CHECK(std::get<std::int64_t>(away.figures.at("bounded_voxels")) > 0);
}

TEST_CASE("SVRG with one subset is EM where there is no penalty, and stays where it is while it looks at an anchor") {
  const auto em = result_of({.update = "use: osem_update", .iterations = 3}).image;
  // Passes: EM's step, one for an anchor whose end is a step of all data, and a step of the one subset there is.
  const auto svrg = result_of({.update = "use: svrg_update, offset: 0, relaxation: 1", .iterations = 3}).image;
  CHECK(relative_distance(svrg, em) < 1e-5);
  const std::string anchors = "use: svrg_update, anchor_every: 1";
  const auto before = result_of({.update = anchors, .subsets = 4, .iterations = 1}).image;
  const auto after = result_of({.update = anchors, .subsets = 4, .iterations = 2}).image;
  CHECK(relative_distance(after, before) > 1e-3);  // by one step, at the end of the pass
}

TEST_CASE("SVRG refuses data that still come") {
  PenalisedRun live{.update = "use: svrg_update"};
  live.subset_gadget = "use: live_subsets, seconds: 0.25, iterations: 3";
  CHECK(error_of(live).find("svrg_update needs all data before it begins") != std::string::npos);
}

TEST_CASE("BSREM and SVRG take a camera's views, each subset of which has a sensitivity of its own") {
  const TemporaryFolder folder;
  const char* const pipeline = R"(
backend: cpu
scanner: spect_lehr
image: {size: [32, 32, 32], voxel_mm: 17.6}
gadgets:
  photons:   {use: spect_simulator, events: 20000}
  subsets:   {use: view_subsets, from: photons, subsets: 6, iterations: 3}
  projected: {use: rotation_projector, from: {views: subsets, image: estimate}}
  prior:     {use: relative_difference_prior, from: estimate, beta: 0.01, epsilon: 0.01}
  estimate:  {use: UPDATE, from: {projected: projected, penalty: prior}, objective: true}
  kept:      {use: test_keep_penalised, from: estimate}
)";
  for (const std::string update : {"bsrem_update", "svrg_update", "map_em_update"}) {
    std::string text = pipeline;
    text.replace(text.find("UPDATE"), 6, update);
    const RunReport report =
        Engine(parse_pipeline(text, "test.yaml"), {.output_dir = folder.path(), .earlier_run = EarlierRun::overwrite})
            .run();
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "" : report.errors[0].text()));
    const auto estimate = std::ranges::find(report.gadgets, "estimate", &GadgetReport::name);
    const auto objective = std::get<std::vector<double>>(estimate->figures.at("penalised_log_likelihood"));
    REQUIRE(objective.size() == 3);
    CHECK(objective[2] > objective[0]);
    for (const float x : newest_penalised()->image->voxels.span()) REQUIRE((x >= 0 && std::isfinite(x)));
  }
}

TEST_CASE("a checkpoint holds what BSREM keeps besides the image, so that a resumed run goes on bit for bit") {
  const TemporaryFolder folder;
  const Grid grid = Grid::centred(2, 1, 1, {4, 4, 4});
  const auto image = [&](float a, float b) {
    const std::vector<float> values = {a, b};
    return std::make_shared<const Image>(Image{grid, Buffer<float>::from(values)});
  };
  const auto sensitivity = image(2, 3);
  const auto subset = [&](int number, float back, double fraction, int iteration) {
    return std::make_shared<const Projected>(Projected{
        .step = {.iteration = iteration, .iterations = 2, .subset = number % 2, .subsets = 2, .update = number + 1},
        .back_projection = image(back, 1),
        .sensitivity = sensitivity,
        .time_fraction = fraction,
        .tally = {.used = 20 + number}});
  };
  const auto penalty = [](const std::shared_ptr<const Image>& of) {
    return std::make_shared<const Penalty>(Penalty{of, std::make_shared<const Image>(Image::filled(of->grid, 0.1f))});
  };
  const std::string settings = "{backend: cpu, image: {size: [2, 1, 1], voxel_mm: 4}, offset: 0.3, decay: 1";
  using Update = RegisteredGadgetTest<Estimate>;
  Update whole("bsrem_update", settings + "}");
  whole.start();
  const auto send = [&](Update& update, int number, float back, double fraction, int iteration) {
    const auto before = update.out[update.out.size() - 1].image;
    update.send(subset(number, back, fraction, iteration), penalty(before));
  };
  send(whole, 0, 2, 0.1, 1);
  send(whole, 1, 4, 0.5, 1);
  const Estimate& middle = whole.out[2];
  CHECK(middle.kept.at("subsets") == 2);
  write_checkpoint(folder / checkpoint_name, {middle.step.update, middle.step.iteration, middle.rejected, middle.kept},
                   *middle.image);
  send(whole, 2, 3, 0.1, 2);
  send(whole, 3, 1, 0.5, 2);

  Update resumed("bsrem_update", settings + ", resume_from: " + folder.path().string() + "}");
  resumed.start();
  CHECK(resumed.out[0].kept == middle.kept);  // goes into a checkpoint before the next update too
  send(resumed, 2, 3, 0.1, 2);
  send(resumed, 3, 1, 0.5, 2);
  CHECK(resumed.out[2].image->voxels.to_vector() == whole.out[4].image->voxels.to_vector());

  // Without it, steps would have other lengths.
  write_checkpoint(folder / checkpoint_name, {middle.step.update, middle.step.iteration}, *middle.image);
  Update without("bsrem_update", settings + ", resume_from: " + folder.path().string() + "}");
  without.start();
  send(without, 2, 3, 0.1, 2);
  send(without, 3, 1, 0.5, 2);
  CHECK(without.out[2].image->voxels.to_vector() != whole.out[4].image->voxels.to_vector());
}

TEST_CASE("kappa is an image on the estimate's grid, and one of ones changes no bit") {
  const TemporaryFolder folder;
  const std::string file = folder / "kappa.nii.gz";
  const Grid grid = Grid::centred(32, 32, 8, {8, 8, 18});
  const PenalisedRun run{.prior = every_prior[3]};
  const auto with = [&](const std::string& more) {
    PenalisedRun other = run;
    other.prior += more;
    return other;
  };
  write_nifti(file, Image::filled(grid, 1));
  const auto plain = result_of(run).image;
  CHECK(result_of(with(", kappa: " + file)).image == plain);
  write_nifti(file, Image::filled(grid, 2));
  CHECK(result_of(with(", kappa: " + file)).image != plain);
  write_nifti(file, Image::filled(Grid::centred(31, 32, 8, {8, 8, 18}), 1));
  CHECK(error_of(with(", kappa: " + file)).find("kappa has 31 x 32 x 8 voxels") != std::string::npos);
  write_nifti(file, Image::filled(grid, -1));
  CHECK(error_of(with(", kappa: " + file)).find("kappa must not be negative") != std::string::npos);
  CHECK(error_of(with(", kappa: " + file + "x")).find("kappa.nii.gzx") != std::string::npos);
}

TEST_CASE("kappa is the square root of A^T((A 1) / (A x + c)^2), for the reference time") {
  const TemporaryFolder folder;
  const std::string file = folder / "x.nii.gz";
  const Grid grid = Grid::centred(3, 1, 1, {4, 4, 4});
  const std::vector<float> start = {20, 5, 0};
  write_nifti(file, Image{grid, Buffer<float>::from(start)});
  const std::array<std::array<double, 3>, 4> lines = {{{1, 0, 0.5}, {0.2, 1, 0}, {0.3, 0.3, 0.3}, {0, 1, 0.1}}};
  constexpr double background = 2;
  const auto expected = [&](const auto& line, const auto& x) {
    double sum = background;
    for (std::size_t v = 0; v < 3; ++v) sum += line[v] * static_cast<double>(x[v]);
    return sum;
  };
  RegisteredGadgetTest<Estimate> kappa("kappa_image", "{backend: cpu, reconstruction: " + file + "}");
  kappa.start();
  for (int subset = 0; subset < 6; ++subset) {  // two subsets of each pass, which have two lines each
    const Image& estimate = *kappa.out[kappa.out.size() - 1].image;
    std::vector<float> back(3);
    for (const std::size_t i : {2 * (subset % 2), 2 * (subset % 2) + 1})
      for (std::size_t v = 0; v < 3; ++v)
        back[v] += static_cast<float>(lines[i][v] / expected(lines[i], estimate.voxels.to_vector()));
    const auto image = std::make_shared<const Image>(Image{grid, Buffer<float>::from(back)});
    kappa.send(std::make_shared<const Projected>(Projected{.step = {.iteration = subset / 2 + 1,
                                                                    .iterations = 3,
                                                                    .subset = subset % 2,
                                                                    .subsets = 2,
                                                                    .ends_iteration = subset % 2 == 1,
                                                                    .last = subset == 5,
                                                                    .update = subset + 1},
                                                           .back_projection = image,
                                                           .sensitivity = image,
                                                           .time_fraction = 2}));
  }
  REQUIRE(kappa.out.size() == 7);
  for (std::size_t v = 0; v < 3; ++v) {
    double sum = 0;
    for (const auto& line : lines) sum += line[v] * (line[0] + line[1] + line[2]) / std::pow(expected(line, start), 2);
    CHECK(kappa.out[6].image->voxels[static_cast<std::int64_t>(v)] == approx(std::sqrt(sum / 4)).epsilon(1e-3));
  }
  CHECK_THROWS_WITH(kappa.send(std::make_shared<const Projected>(Projected{.step = {.iterations = 2, .subsets = 1}})),
                    doctest::Contains("subsets.iterations=3"));
}

TEST_CASE("kappa of a scan goes into a prior of the same image") {
  const TemporaryFolder folder;
  PenalisedRun run;
  result_of(run);
  write_nifti(folder / "x.nii.gz", *newest_penalised()->image);
  run.iterations = 3;
  run.update = "use: kappa_image, reconstruction: " + (folder / "x.nii.gz").string();
  result_of(run);
  const Image& kappa = *newest_penalised()->image;
  const float middle = kappa.voxels[kappa.grid.index(16, 16, 4)], corner = kappa.voxels[kappa.grid.index(0, 0, 0)];
  CHECK(middle > 0);
  CHECK(middle < 10);
  CHECK(corner >= 0);
  write_nifti(folder / "kappa.nii.gz", kappa);
  PenalisedRun penalised{.prior = every_prior[3] + ", kappa: " + (folder / "kappa.nii.gz").string()};
  CHECK(result_of(penalised).image != result_of({.prior = every_prior[3]}).image);
}

TEST_CASE("an anatomical image on any grid chooses neighbours, and must cover the image") {
  const TemporaryFolder folder;
  const std::string file = folder / "anatomy.nii.gz";
  Image anatomy = Image::zeros(Grid::centred(70, 70, 40, {4, 4, 4}));
  for (std::int64_t v = 0; v < anatomy.grid.voxels(); ++v) anatomy.voxels[v] = v % 70 < 35 ? 1.0f : 5.0f;
  write_nifti(file, anatomy);
  PenalisedRun run{.prior = every_prior[0]};
  const auto plain = result_of(run).image;
  run.prior += ", anatomy: " + file + ", most_alike: 7";
  CHECK(result_of(run).image != plain);
  PenalisedRun replicating = run;
  replicating.prior += ", border: replicate";
  CHECK(error_of(replicating).find("leave border at exclude") != std::string::npos);
  write_nifti(file, Image::filled(Grid::centred(20, 70, 40, {4, 4, 4}), 1));
  const std::string error = error_of(run);
  CHECK(error.find("anatomy.nii.gz") != std::string::npos);
  CHECK(error.find("it does not cover the image: along x") != std::string::npos);
}

TEST_CASE("parallel level sets smooth the image but for the anatomy's edges, and refuse an anatomy that is of no use") {
  const TemporaryFolder folder;
  const std::string file = folder / "edges.nii.gz";
  Image anatomy = Image::zeros(Grid::centred(70, 70, 40, {4, 4, 4}));
  const auto prior = [&](const std::string& more) {
    return PenalisedRun{.prior = "use: parallel_level_sets_prior, beta: 1e-2, epsilon: 10, anatomy: " + file + more,
                        .update = "use: map_em_update, objective: true",
                        .iterations = 12};
  };
  const auto write = [&](auto value) {
    for (std::int64_t v = 0; v < anatomy.grid.voxels(); ++v) anatomy.voxels[v] = value(v);
    write_nifti(file, anatomy);
  };
  const PenalisedResult free = result_of({.iterations = 12});
  const auto variation = result_of({.prior = "use: total_variation_prior, beta: 1e-2, epsilon: 10",
                                    .update = "use: map_em_update, objective: true",
                                    .iterations = 12});
  write([](std::int64_t) { return 3.0f; });  // flat: total variation
  CHECK(result_of(prior(", eta: 1")).image == variation.image);
  write([](std::int64_t v) { return v % 70 < 35 ? 1.0f : 500.0f; });
  const PenalisedResult edged = result_of(prior(", eta: 1"));
  CHECK(edged.image != variation.image);
  CHECK(roughness_along_x(edged.image) < 0.75 * roughness_along_x(free.image));
  for (std::size_t i = 1; i < 12; ++i)
    CHECK(edged.objective()[i] > edged.objective()[i - 1] - 1e-6 * std::abs(edged.objective()[i]));
  CHECK(result_of(prior(", eta: 1e6")).image != edged.image);

  CHECK(error_of(prior(", eta: 1e-14")).find("eta: 1e-14 is nothing beside the anatomy's 500") != std::string::npos);
  anatomy = Image::zeros(Grid::centred(10, 10, 40, {4, 4, 4}));
  write_nifti(file, anatomy);
  CHECK(error_of(prior(", eta: 1")).find("edges.nii.gz: it does not cover the image") != std::string::npos);
}

TEST_CASE("MAP-EM refuses a prior that gives nothing but its gradient") {
  RegisteredGadgetTest<Estimate> update("map_em_update", "{backend: cpu, image: {size: [2, 1, 1]}}");
  update.start();
  const auto one = std::make_shared<const Image>(Image::filled(update.out[0].image->grid, 1));
  const auto projected = std::make_shared<const Projected>(Projected{.back_projection = one, .sensitivity = one});
  CHECK_THROWS_WITH(update.send(projected, std::make_shared<const Penalty>(Penalty{update.out[0].image, one})),
                    doctest::Contains("no curvature"));
  CHECK_THROWS_WITH(update.send(projected, std::make_shared<const Penalty>(Penalty{one, one})),
                    doctest::Contains("belongs to another image"));
}
// SPDX-License-Identifier: Apache-2.0
