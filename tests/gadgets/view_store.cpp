// Where views live: on disk if the host has no room, in pinned memory if the GPU has none; and images that do not
// depend on it.
#include "gadgets/subset/view_store.hpp"

#include <cmath>
#include <filesystem>

#include "core/testing.hpp"
#include "tests/gadgets/direct/direct_runs.hpp"
#include "tests/kernels/view_support.hpp"
#include "tests/support/full_disk.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

constexpr std::size_t no_room = std::size_t{1} << 60;

std::vector<ViewBatch> some_views(int count) {
  const auto set = std::make_shared<const ViewSet>(tofstream::testing::circular_views(8, 20, 10));
  std::vector<ViewBatch> views;
  for (int v = 0; v < count; ++v) {
    ViewBatch view = tofstream::testing::view_batch(set, {v});
    tofstream::testing::set_counts(view, std::vector<float>(200, static_cast<float>(v + 1)));
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace

TEST_CASE("views for which the host has no room are read from disk as if they were in memory") {
  const TemporaryFolder folder;
  ViewStore store({.host_reserve = no_room, .spill_folder = folder.path()});
  std::vector<ViewBatch> views = some_views(3);
  for (ViewBatch& view : views) view = store.hold(std::move(view));
  const auto stored = store.store(std::move(views));
  REQUIRE(stored.size() == 1);
  CHECK(stored[0]->count == 600);
  CHECK(stored[0]->records.size() == 3);
  CHECK(stored[0]->view().counts[450] == 3);
  CHECK(stored[0]->index.to_vector() == std::vector<std::int32_t>{0, 1, 2});
  CHECK(store.bytes_in(StorePlace::disk) == stored[0]->bytes());
  CHECK(std::filesystem::is_empty(folder.path()));  // the file has no name
  ViewStore full({.host_reserve = no_room, .spill_folder = folder.path()});
  const FullDisk disk(512);
  CHECK_THROWS_WITH_AS(full.store(some_views(3)),
                       doctest::Contains("set spill_folder to a larger disk, or take fewer "), std::runtime_error);
}

TEST_CASE("views for which the GPU has no room stay in pinned memory") {
  if (!gpu_or_skip()) return;
  ViewStore store({.backend = BackendChoice::cuda, .device_reserve = no_room});
  const auto stored = store.store(some_views(3));
  REQUIRE(stored.size() == 1);
  CHECK(stored[0]->memory() == Memory::pinned);
  ViewStore roomy({.backend = BackendChoice::cuda});
  const auto there = roomy.store(some_views(3));
  CHECK(there[0]->memory() == Memory::device);
  CHECK(there[0]->counts.to_vector() == stored[0]->counts.to_vector());
}

TEST_CASE("histo-images give the same image wherever they are kept, and say where") {
  const TemporaryFolder folder;
  direct_test::DirectPipeline with{.ring = direct_test::small_ring(folder.path()),
                                   .phantom = direct_test::water(folder.path(), false)};
  with.events = 20'000;
  const auto image_of = [&](const std::string& kept, const char* where) {
    with.subsets = "subsets: 6, iterations: 2" + kept;
    const RunReport report = direct_test::run_pipeline(with.direct(), folder.path());
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors.front().text()));
    std::ifstream file(folder / "run.json");
    const std::string json{std::istreambuf_iterator<char>(file), {}};
    CHECK_MESSAGE(json.find(where) != std::string::npos, json.substr(0, 4000));
    return direct_test::last_image()->image->voxels.to_vector();
  };
  const auto in_memory = image_of("", "in host memory");
  CHECK(image_of(", host_reserve_gib: 1e6", "on disk") == in_memory);
}

TEST_CASE("histo-images that the GPU has no room for give the image of those that it has room for") {
  if (!gpu_or_skip()) return;
  const TemporaryFolder folder;
  const std::string ring = direct_test::small_ring(folder.path()), water = direct_test::water(folder.path(), false);
  const auto image_of = [&](const std::string& reserve) {
    const std::string pipeline = fmt::format(
        "backend: cuda\nimage: {}\ndevice_reserve_gib: {}\ngadgets:\n"
        "  photons: {{use: simulator, scanner: {}, phantom: {}, events: 20000}}\n"
        "  histo: {{use: live_histo, from: photons, views: [6, 1], acceptance_deg: 9, subsets: 1, iterations: 2, "
        "final: offline}}\n"
        "  projected: {{use: direct_projector, from: {{views: histo, image: estimate}}, lor_fwhm_mm: 7.5}}\n"
        "  estimate: {{use: osem_update, from: projected}}\n  kept: {{use: test_keep_last_image, from: estimate}}\n",
        direct_test::image_words, reserve, ring, water);
    const RunReport report = direct_test::run_pipeline(pipeline, folder.path());
    REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors.front().text()));
    return direct_test::last_image()->image->to(Memory::host).voxels.to_vector();
  };
  const auto roomy = image_of("0"), without = image_of("1e6");
  double apart = 0, all = 0;
  for (std::size_t v = 0; v < roomy.size(); ++v) {
    apart += std::pow(static_cast<double>(without[v]) - static_cast<double>(roomy[v]), 2);
    all += std::pow(static_cast<double>(roomy[v]), 2);
  }
  // Without room events are laid down on the host, and rounding decides there and here in which view an event on the
  // border of two lies (tests/gadgets/direct/live_histo.cpp): some of the 20,000 change it.
  CHECK(std::sqrt(apart / all) < 2e-2);
}
// SPDX-License-Identifier: Apache-2.0
