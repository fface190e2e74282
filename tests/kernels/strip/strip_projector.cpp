// The strip projector on the CPU against the reference in double precision, under every instruction set: forward, back,
// EM step, whole reconstructions.
#include "kernels/strip/sensitivity.hpp"
#include "tests/kernels/strip/strip_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// Decays all over the strips' field, and responses that hardly any or no decay gives.
EventBatch some_events(const StripSettings& settings, int count, std::uint64_t seed) {
  const auto anywhere = [&](std::mt19937_64& generator) {
    std::uniform_real_distribution<double> share(-1, 1);
    return std::array{0.9 * static_cast<double>(settings.geometry.radius_mm) * share(generator),
                      0.45 * static_cast<double>(settings.geometry.length_mm) * share(generator)};
  };
  std::vector<Response> responses = simulated(settings, count, seed, anywhere);
  const double inf = std::numeric_limits<double>::infinity();
  for (const Response& r : {Response{0, 0, 0}, Response{0, 0, -60}, Response{150, -150, 0}, Response{-149, 149, -200},
                            Response{150, 150, 90}, Response{10, 20, 2000}, Response{5000, -4000, 0},
                            Response{std::nan(""), 0, 0}, Response{0, inf, 0}, Response{0, 0, -inf}})
    responses.push_back(r);
  return strip_batch(settings.geometry, responses);
}

std::vector<StripSettings> resolutions(StripForm form) {
  StripSettings usual{.form = form}, coupled = usual, sharp = usual;
  coupled.resolution.sigma_z_edge_rise = 0.1f;
  coupled.resolution.gamma_per_mm2 = 3.5e-4f;
  sharp.geometry = {350, 500};
  sharp.resolution = {2, 9};
  return {usual, coupled, sharp};
}

void check_against_reference() {
  const Grid usual = Grid::centred(1, 65, 75, {4, 4, 4});
  for (const Grid& grid :
       {usual, Grid{{1, 9, 30}, {1, 5, 2.5f}, {0, -60, 20}}, Grid{{1, 40, 3}, {4, 2, 20}, {0, -50, -30}},
        Grid::centred(1, 2, 1, {4, 60, 4}), Grid::centred(1, 90, 90, {1, 9, 9})})
    for (const StripForm form : strip_forms)
      for (const StripSettings& settings : resolutions(form)) {
        CAPTURE(static_cast<int>(form));
        CAPTURE(grid.size[1]);
        CAPTURE(settings.resolution.sigma_z_mm);
        EventBatch events = some_events(settings, 40, 5);
        events.additive = Buffer<float>::from(random_numbers(events.count, 8, 0, 1e-5f));
        const auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f), values = random_numbers(events.count, 2);
        const Projections found = project(*make_strip_projector(grid, settings, Backend::cpu), events, image, values);
        const Projections expected = project(*make_strip_reference(grid, settings), events, image, values);
        CHECK(error_of_range(found.forward, expected.forward) < 1e-5);
        CHECK(error_of_range(found.back, expected.back) < 1e-5);
        CHECK(rms_of_range(found.em, expected.em) < 1e-5);
        CHECK(found.tally.used == expected.tally.used);
        CHECK(found.tally.skipped == expected.tally.skipped);
        CHECK(found.tally.log_sum == approx(expected.tally.log_sum).epsilon(1e-5));
      }
}

std::vector<float> iterate(ListModeProjector& projector, const EventBatch& events, int iterations) {
  const Image sensitivity = *projector.closed_form_sensitivity();
  const auto pixels = static_cast<std::size_t>(projector.grid().voxels());
  std::vector<float> image(pixels, 1.0f);
  for (int n = 0; n < iterations; ++n) {
    std::vector<float> sum(pixels, 0.0f);
    projector.em_step(events.view(), image.data(), sum.data());
    for (std::size_t v = 0; v < pixels; ++v) {
      const float s = sensitivity.voxels[static_cast<std::int64_t>(v)];
      image[v] = s > 0 ? image[v] / s * sum[v] : 0;
    }
  }
  return image;
}

}  // namespace

TEST_CASE("The CPU's strip projector agrees with the reference under every instruction set") {
  for_each_instruction_set([](const std::string&) { check_against_reference(); });
}

TEST_CASE("The CPU's back projection of strips is the adjoint of its forward projection") {
  const Grid grid = Grid::centred(1, 65, 75, {4, 4, 4});
  for (const StripForm form : strip_forms) {
    const StripSettings settings{.form = form};
    const EventBatch events = some_events(settings, 3000, 9);
    const auto x = random_numbers(grid.voxels(), 4), y = random_numbers(events.count, 5);
    const Projections found = project(*make_strip_projector(grid, settings, Backend::cpu), events, x, y);
    CHECK(inner(found.forward, y) == approx(inner(x, found.back)).epsilon(1e-5));
  }
}

TEST_CASE("Ten iterations of the CPU's strip projector are the reference's, and the same again bit for bit") {
  const Grid grid = Grid::centred(1, 33, 37, {8, 8, 8});
  for (const StripForm form : strip_forms) {
    const StripSettings settings{.resolution = {.sigma_z_edge_rise = 0.1f}, .form = form};
    const EventBatch events = some_events(settings, 500, 13);
    const auto projector = make_strip_projector(grid, settings, Backend::cpu);
    CAPTURE(static_cast<int>(form));
    const auto found = iterate(*projector, events, 10);
    CHECK(rms_of_range(found, iterate(*make_strip_reference(grid, settings), events, 10)) < 1e-5);
    CHECK(found == iterate(*projector, events, 10));
  }
}

TEST_CASE("Strip projectors say their sensitivity, and refuse what they cannot project") {
  const Grid grid = Grid::centred(1, 8, 9, {4, 4, 4});
  const StripSettings settings;
  const auto projector = make_strip_projector(grid, settings, Backend::cpu);
  const auto sensitivity = projector->closed_form_sensitivity();
  REQUIRE(sensitivity.has_value());
  CHECK(sensitivity->grid == grid);
  CHECK(sensitivity->voxels[grid.index(0, 2, 7)] == approx(strip_sensitivity(StripGeometry{}, -6.0, 12.0)));

  EventBatch blind = some_events(settings, 3, 1);
  blind.tof_mm = {};
  std::vector<float> sums(static_cast<std::size_t>(std::max(grid.voxels(), blind.count)));
  CHECK_THROWS_WITH_AS(projector->forward(blind.view(), sums.data(), sums.data()), doctest::Contains("ToF"),
                       std::invalid_argument);

  const auto refused = [&](const char* words, const StripSettings& wrong, const Grid& pixels) {
    CHECK_THROWS_WITH_AS(make_strip_projector(pixels, wrong, Backend::cpu), doctest::Contains(words),
                         std::invalid_argument);
    CHECK_THROWS_AS(make_strip_reference(pixels, wrong), std::invalid_argument);
  };
  refused("1 pixel along x", settings, Grid::centred(2, 8, 9, {4, 4, 4}));
  refused("radius_mm", {.geometry = {0, 300}}, grid);
  refused("length_mm", {.geometry = {130, NAN}}, grid);
  refused("sigma_z_mm", {.resolution = {-1, 40}}, grid);
  refused("sigma_dl_mm", {.resolution = {10, INFINITY}}, grid);
  refused("sigma_z_edge_rise", {.resolution = {10, 40, -0.1f}}, grid);
  refused("gamma_per_mm2", {.resolution = {10, 40, 0, 0.0018f}}, grid);
}
// SPDX-License-Identifier: Apache-2.0
