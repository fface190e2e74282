// Projectors by their registered names: whatever a family registers is an operator with its adjoint, and its EM step
// agrees with both.
#include "gadgets/step/projector_kinds.hpp"

#include <cstdlib>
#include <set>
#include <stop_token>
#include <vector>

#include "core/testing.hpp"
#include "gadgets/ring/pair_sensitivity.hpp"
#include "gadgets/step/view_projector_kinds.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "kernels/strip/strip_events.hpp"
#include "kernels/strip/strip_scanner.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

/// Events of some scanner, and an image that they meet.
struct Case {
  std::shared_ptr<const Scanner> scanner;
  Grid grid;
  EventBatch events;
};

Case rings(bool blobs) {
  Workload workload = find_workload("W1");
  workload.grid = Grid::centred(30, 30, 10, {8, 8, 8});
  Case made{make_scanner({.modules_transaxial = 600}), workload.grid, random_lors(workload, 200, 1)};
  if (blobs) made.grid.blob = {.radius_mm = 9.8f, .alpha = 8.3689f};
  return made;
}

Case strips() {
  const auto scanner = make_strip_scanner("strips", {130, 300});
  EventBatch events = make_strip_batch(scanner, 40);
  for (int i = 0; i < 40; ++i) {
    const auto x = static_cast<float>(i);
    set_response(events, i, {2 * x - 40, 30 - x, 3 * x - 60});
  }
  return {scanner, Grid::centred(1, 20, 24, {4, 8, 8}), std::move(events)};
}

Case case_of(const std::string& projector) {
  return projector == "strip_projector" ? strips() : rings(projector == "blob_projector");
}

double sum_of_products(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

TEST_CASE("every registered projector has a gadget, and is an operator with its adjoint and an EM step of both") {
  std::set<std::string> names;
  for (const ProjectorKind& kind : table_of<ProjectorKind>()) {
    CAPTURE(kind.name);
    names.insert(kind.name);
    CHECK(registry().find(kind.name) != nullptr);
    CHECK(table_of<ProjectorKind>().find(kind.name) == &kind);
    const Case with = case_of(kind.name);
    TestContext context;
    const auto projector = kind.make(kind.default_params().get(), with.grid, Backend::cpu, *with.scanner, context);
    const EventView events = with.events.view();
    const auto voxels = static_cast<std::size_t>(with.grid.voxels());
    std::vector<float> image(voxels), back(voxels), em(voxels), by_hand(voxels);
    std::vector<float> expected(static_cast<std::size_t>(events.count)), values(expected.size());
    for (std::size_t v = 0; v < voxels; ++v) image[v] = 1 + static_cast<float>(v % 7);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<float>(i % 5);
    projector->forward(events, image.data(), expected.data());
    projector->back(events, values.data(), back.data());
    const double forward = sum_of_products(expected, values);
    CHECK(forward > 0);
    CHECK(forward == approx(sum_of_products(image, back)).epsilon(1e-5));

    const EmTally tally = projector->em_step(events, image.data(), em.data());
    CHECK(tally.used > 0);
    CHECK(tally.used + tally.skipped == events.count);
    std::vector<float> ratios;
    for (const float e : expected) ratios.push_back(e > 0 ? 1 / e : 0);
    projector->back(events, ratios.data(), by_hand.data());
    const double scale = sum_of_products(by_hand, by_hand);
    CHECK(sum_of_products(em, by_hand) == approx(scale).epsilon(1e-5));
    CHECK(sum_of_products(em, em) == approx(scale).epsilon(1e-5));
  }
  CHECK(names == std::set<std::string>{"blob_projector", "joseph_projector", "strip_projector", "tor_projector"});
  CHECK_THROWS_WITH_AS(table_of<ProjectorKind>().at("toe_projector"),
                       "no projector has the name 'toe_projector', did you mean 'tor_projector'?",
                       std::invalid_argument);
  ProjectorKind twin = table_of<ProjectorKind>().at("tor_projector");
  CHECK(table_of<ProjectorKind>().problem_of(twin) == "two projectors have the name 'tor_projector': rename one");
  twin.make = nullptr;
  CHECK(table_of<ProjectorKind>().problem_of(twin) ==
        "the projector 'tor_projector' lacks its name, default_params or make");
}

TEST_CASE("projectors of views have a table of their own, with the same rules") {
  const KindTable<ViewProjectorKind>& kinds = table_of<ViewProjectorKind>();
  ViewProjectorKind twin = kinds.at("rotation_projector");
  CHECK(registry().find(twin.name) != nullptr);
  CHECK(twin.default_params());
  CHECK(kinds.problem_of(twin) == "two projectors of views have the name 'rotation_projector': rename one");
  twin.make = nullptr;
  CHECK(kinds.problem_of(twin) == "the projector of views 'rotation_projector' lacks its name, default_params or make");
}

TEST_CASE("a run that is being ended does not wait for a sensitivity, nor keeps a part of one") {
  const TemporaryFolder cache;
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before ? before : "";
  ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const Case with = rings(false);
  std::stop_source end;
  GadgetRecord record("projected", ".", end.get_token());
  Context context(record);
  const ProjectorKind& joseph = table_of<ProjectorKind>().at("joseph_projector");
  const auto projector = joseph.make(joseph.default_params().get(), with.grid, Backend::cpu, *with.scanner, context);
  PairSensitivitySettings settings{.backend = BackendChoice::cpu, .key = "joseph"};
  settings.sampling.exact_pairs = 0;
  settings.sampling.sampled_pairs = 20'000;
  end.request_stop();
  CHECK_THROWS_WITH(pair_sensitivity(settings, *with.scanner, *projector, context),
                    doctest::Contains("the run is being ended"));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache.path()))
    files += entry.is_regular_file();
  CHECK(files == 0);
  GadgetRecord another("projected");
  Context goes_on(another);
  CHECK(pair_sensitivity(settings, *with.scanner, *projector, goes_on).image.grid == with.grid);
  before ? ::setenv("XDG_CACHE_HOME", kept.c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
}
// SPDX-License-Identifier: Apache-2.0
