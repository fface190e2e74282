// A prior as a gadget of a pipeline: an update takes its penalty one step late.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/penalty.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

std::vector<std::shared_ptr<const Estimate>>& prior_estimates() {
  static std::vector<std::shared_ptr<const Estimate>> all;
  return all;
}
struct KeepForPrior {
  void process(std::shared_ptr<const Estimate> estimate) { prior_estimates().push_back(std::move(estimate)); }
};
TOFSTREAM_GADGET(KeepForPrior, "test_keep_for_prior", "Keeps all estimates");

/// `from`: what the update reads; `more`: gadgets beside it.
std::string pipeline(const std::string& subsets, const std::string& from, const std::string& more,
                     const std::string& image = "{size: [16, 16, 8], voxel_mm: [16, 16, 18]}") {
  return fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, seconds: 4, activity_scale: 0.003, batch_events: 700,
    attenuation: false}}
  subsets: {{{}, from: photons}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}},
    sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}}}
  estimate: {{use: osem_update, from: {}}}
  kept: {{use: test_keep_for_prior, from: estimate}}
{})",
                     image, subsets, from, more);
}

std::string prior(const std::string& beta, const std::string& more = "") {
  return fmt::format("  prior: {{use: quadratic_prior, from: estimate, beta: {}{}}}\n", beta, more);
}

struct PriorRun {
  RunReport report;
  std::vector<float> image;
  std::size_t estimates = 0;

  const GadgetReport& gadget(const std::string& name) const {
    return *std::ranges::find(report.gadgets, name, &GadgetReport::name);
  }
};

PriorRun run_prior(const std::string& yaml) {
  const TemporaryFolder folder;
  prior_estimates().clear();
  PriorRun made;
  made.report = Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder.path()}).run();
  REQUIRE_MESSAGE(made.report.exit_code == 0,
                  (made.report.errors.empty() ? "the books do not balance" : made.report.errors[0].text()));
  CHECK(made.report.books.balanced());
  made.image = prior_estimates().back()->image->voxels.to_vector();
  made.estimates = prior_estimates().size();
  return made;
}

/// The difference of neighbours along x, relative to the mean.
double roughness(const std::vector<float>& image) {
  double sum = 0, all = 0;
  for (std::size_t v = 0; v < image.size(); ++v) {
    all += image[v];
    if (v % 16 > 0) sum += std::abs(image[v] - image[v - 1]);
  }
  return sum / all;
}

const std::string penalised = "{projected: projected, penalty: prior}";
const std::string two_passes = "use: subset_builder, subsets: 4, iterations: 5, reference_s: 1";

}  // namespace

TEST_CASE("a prior smooths the image; one of no strength, and any before the first update, changes no bit") {
  const PriorRun free = run_prior(pipeline(two_passes, "projected", ""));
  CHECK(run_prior(pipeline(two_passes, penalised, prior("0"))).image == free.image);
  // The start image is flat, so that the first update meets no gradient.
  const std::string once = "use: subset_builder, subsets: 1, iterations: 1, reference_s: 1";
  CHECK(run_prior(pipeline(once, penalised, prior("1"))).image == run_prior(pipeline(once, "projected", "")).image);

  const PriorRun smooth = run_prior(pipeline(two_passes, penalised, prior("1e-4")));
  CHECK(smooth.estimates == free.estimates);
  CHECK(!smooth.gadget("estimate").figures.contains("penalty_limited_voxels"));
  MESSAGE("roughness ", roughness(free.image), ", with the prior ", roughness(smooth.image));
  CHECK(roughness(smooth.image) < 0.9 * roughness(free.image));
  CHECK(run_prior(pipeline(two_passes, penalised, prior("1e-4", ", neighbours: faces"))).image != smooth.image);
}

TEST_CASE("a prior goes with image: auto and with live subsets, whose estimate begins anew") {
  const PriorRun automatic = run_prior(pipeline(two_passes, penalised, prior("1e-4"), "{voxel_mm: 30}"));
  CHECK(automatic.estimates > 20);
  const PriorRun live = run_prior(pipeline(
      "use: live_subsets, seconds: 0.56, least_events: 4500, iterations: 2, final: offline", penalised, prior("1e-4")));
  const PriorRun offline = run_prior(
      pipeline("use: subset_builder, seconds: 0.56, least_events: 4500, iterations: 2", penalised, prior("1e-4")));
  CHECK(live.image == offline.image);
}

TEST_CASE("a penalty that is too strong leaves no voxel negative or infinite, and the report says so") {
  const PriorRun wild = run_prior(pipeline(two_passes, penalised, prior("1")));
  CHECK(std::ranges::all_of(wild.image, [](float x) { return x >= 0 && std::isfinite(x); }));
  CHECK(std::get<std::int64_t>(wild.gadget("estimate").figures.at("penalty_limited_voxels")) > 0);
}

TEST_CASE("an update takes a penalty on its own estimate alone") {
  const std::string wrong = pipeline(two_passes, "{projected: projected, penalty: estimate}", "");
  CHECK_THROWS_WITH_AS(
      parse_pipeline(wrong, "test.yaml"),
      doctest::Contains("'estimate' (osem_update) gives estimate, but osem_update takes penalty as 'penalty'"),
      ConfigErrors);

  RegisteredGadgetTest<Estimate> update("osem_update", "{backend: cpu, image: {size: [2, 1, 1]}}");
  update.start();
  const auto one = std::make_shared<const Image>(Image::filled(update.out[0].image->grid, 1));
  const auto projected = std::make_shared<const Projected>(Projected{.back_projection = one, .sensitivity = one});
  CHECK_THROWS_WITH(update.send(projected, std::make_shared<const Penalty>(Penalty{one, one})),
                    doctest::Contains("belongs to another image than the estimate that is updated"));
  const Penalty right{update.out[0].image, one};
  update.send(projected, std::make_shared<const Penalty>(right));
  CHECK(update.out[1].image->voxels.to_vector() == std::vector<float>{0.5f, 0.5f});
}
// SPDX-License-Identifier: Apache-2.0
