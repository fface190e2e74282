// `image: auto`: the grid comes from the scanner, and the image is the same, bit for bit, as with that grid written
// out, in every way of making it; and events that miss an image.
#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

constexpr const char* auto_offline = "use: subset_builder, subsets: 3, iterations: 2, reference_s: 1, backend: cpu";
constexpr const char* as_it_comes = "use: live_subsets, seconds: 0.5, iterations: 2";
constexpr const char* plain = R"(
  projected: {use: joseph_projector, from: {events: subsets, image: estimate}, sensitivity: {exact_pairs: 0,
    sampled_pairs: 20000, cache: false}}
  estimate: {use: osem_update, from: projected}
)";
constexpr const char* blurred = R"(
  blurred: {use: gaussian_psf, from: estimate, psf_fwhm_mm: [20, 20, 20]}
  projected: {use: tor_projector, from: {events: subsets, image: blurred}, sensitivity: {exact_pairs: 0,
    sampled_pairs: 20000, cache: false}}
  estimate: {use: osem_update, from: projected}
)";
constexpr const char* blobs = R"(
  projected: {use: blob_projector, from: {events: subsets, image: estimates}, sensitivity: {exact_pairs: 0,
    sampled_pairs: 20000, cache: false}}
  estimates: {use: osem_update, from: projected}
  estimate: {use: blob_to_voxels, from: estimates}
)";

struct AutoRun {
  RunReport report;
  std::filesystem::path folder;

  Image image() const { return read_nifti(folder / "image.nii.gz"); }
  std::string figure(const std::string& name) const {
    const auto& figures = std::ranges::find(report.gadgets, "projected", &GadgetReport::name)->figures;
    return figures.contains(name) ? std::get<std::string>(figures.at(name)) : "";
  }
};

AutoRun run_auto(const std::string& image, const std::filesystem::path& folder,
                 const std::string& subsets = auto_offline, const std::string& loop = plain,
                 const std::string& checkpoint = "") {
  const std::string yaml = fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, seconds: 2, activity_scale: 0.003, batch_events: 700,
    attenuation: false}}
  sorted: {{use: tof_partition, from: photons}}
  subsets: {{{}, from: sorted}}
{}
  checkpoint: {{use: checkpoint_writer, from: estimate, every_s: 0{}}}
  file: {{use: nifti_writer, from: estimate}}
  picture: {{use: png_writer, from: estimate}}
)",
                                       image, subsets, loop, checkpoint);
  return {Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder}).run(), folder};
}

bool is_same(const Image& a, const Image& b) {
  return a.grid == b.grid && a.voxels.to_vector() == b.voxels.to_vector();
}

}  // namespace

TEST_CASE("an image of the scanner's field of view is that of the same grid written out, bit for bit") {
  const TemporaryFolder folder;
  for (const char* loop : {plain, blurred}) {
    const std::string name = loop == plain ? "plain" : "blurred";
    const AutoRun chosen = run_auto("{voxel_mm: 18}", folder / ("auto_" + name), auto_offline, loop);
    REQUIRE(chosen.report.exit_code == 0);
    CHECK(chosen.report.books.balanced());
    CHECK(chosen.figure("image") == "{size: [23, 23, 8], voxel_mm: [18, 18, 18], centre_mm: [0, 0, 0]}");
    const AutoRun written = run_auto(chosen.figure("image"), folder / ("written_" + name), auto_offline, loop);
    REQUIRE(written.report.exit_code == 0);
    CHECK(is_same(chosen.image(), written.image()));
  }
  const AutoRun all = run_auto("auto", folder / "all");
  CHECK(all.figure("image") == "{size: [135, 135, 49], voxel_mm: [3, 3, 3], centre_mm: [0, 0, 0]}");
  CHECK(all.figure("missed") == "");
  CHECK_MESSAGE(all.figure("noisy_ends").find("the image is noisy in the outermost slices (") != std::string::npos,
                all.figure("noisy_ends"));
}

TEST_CASE("so it is live, and by the order that was followed") {
  const TemporaryFolder folder;
  const AutoRun chosen = run_auto("{voxel_mm: 18}", folder / "live", as_it_comes);
  REQUIRE(chosen.report.exit_code == 0);
  const std::string follow = fmt::format("{}, follow: {}", as_it_comes, (folder / "live").string());
  for (const std::string image : {"{voxel_mm: 18}", "{size: [23, 23, 8], voxel_mm: 18}"}) {
    const AutoRun again = run_auto(image, folder / (image.starts_with("{voxel") ? "again" : "again_written"), follow);
    REQUIRE(again.report.exit_code == 0);
    CHECK(is_same(again.image(), chosen.image()));
  }
}

TEST_CASE("so it is from a checkpoint on: stopped after any update, the image ends as if nothing had been") {
  const TemporaryFolder folder;
  const AutoRun whole = run_auto("{voxel_mm: 18}", folder / "whole", as_it_comes);
  REQUIRE(whole.report.exit_code == 0);
  const std::int64_t updates = checkpoint_step(folder / "whole").update;
  REQUIRE(updates >= 8);
  const std::string follow = fmt::format("{}, follow: {}", as_it_comes, (folder / "whole").string());
  for (const std::int64_t stopped_after : {std::int64_t{1}, updates / 2, updates - 1}) {
    CAPTURE(stopped_after);
    const std::filesystem::path stopped = folder / fmt::format("stopped_{}", stopped_after);
    // Before the first update the writer has two messages: the announcement and the start image.
    const AutoRun broken =
        run_auto("{voxel_mm: 18}", stopped, follow, plain, fmt::format(", fault: {{throw_at: {}}}", stopped_after + 2));
    REQUIRE(broken.report.exit_code == 1);
    REQUIRE(checkpoint_step(stopped).update == stopped_after);
    CHECK_FALSE(is_same(read_checkpoint(stopped)->image, whole.image()));
    // Beyond its recorded order a resumed run has an order of its own; here the whole run's order is followed.
    std::filesystem::copy_file(folder / "whole/order.jsonl", stopped / "order.jsonl",
                               std::filesystem::copy_options::overwrite_existing);
    const std::string resume = ", resume_from: " + stopped.string();
    std::string loop = plain;
    loop.insert(loop.rfind('}'), resume);
    const AutoRun resumed =
        run_auto("{voxel_mm: 18}", folder / fmt::format("resumed_{}", stopped_after), as_it_comes + resume, loop);
    REQUIRE_MESSAGE(resumed.report.exit_code == 0, resumed.report.errors[0].text());
    CHECK(resumed.report.books.balanced());
    CHECK(is_same(resumed.image(), whole.image()));
    const AutoRun other =
        run_auto("{voxel_mm: 20}", folder / fmt::format("other_{}", stopped_after), as_it_comes + resume, loop);
    REQUIRE(other.report.exit_code == 1);
    CHECK(other.report.errors[0].text().find("the checkpoint's image is {size: [23, 23, 8]") != std::string::npos);
  }
}

TEST_CASE("blobs have lattices over the field of view, and voxels of half their edge") {
  const TemporaryFolder folder;
  const AutoRun made = run_auto("{voxel_mm: 36, basis: blobs}", folder / "blobs", auto_offline, blobs);
  REQUIRE_MESSAGE(made.report.exit_code == 0, made.report.errors[0].text());
  CHECK(made.figure("image") == "{size: [12, 12, 4], voxel_mm: [36, 36, 36], centre_mm: [0, 0, 0], basis: blobs}");
  CHECK(made.image().grid.voxel_mm == Vec3{18, 18, 18});
}

TEST_CASE("from a hundredth of events that miss the image on, the run says which image would hold them") {
  const TemporaryFolder folder;
  const AutoRun narrow = run_auto("{size: [6, 6, 9], voxel_mm: 18}", folder / "narrow");
  CHECK(narrow.report.exit_code == 0);
  CHECK(narrow.figure("missed").find("write image: auto, or image: {size: [23, 23, 8], voxel_mm: [18, 18, 18]") !=
        std::string::npos);
  CHECK(run_auto("{size: [23, 23, 8], voxel_mm: 18}", folder / "wide").figure("missed") == "");
}

TEST_CASE("a run that reconstructs nothing fails, says why and leaves no image") {
  const TemporaryFolder folder;
  const AutoRun beside = run_auto("{size: [4, 4, 4], centre_mm: [140, 140, 40]}", folder / "beside");
  CHECK(beside.report.exit_code == 1);
  const std::string text = beside.report.errors[0].text();
  CHECK_MESSAGE(text.find("nothing was reconstructed: all ") != std::string::npos, text);
  CHECK_MESSAGE(text.find("write image: auto") != std::string::npos, text);
  CHECK_FALSE(std::filesystem::exists(folder / "beside/image.nii.gz"));
  const AutoRun live_too = run_auto("{size: [4, 4, 4], centre_mm: [140, 140, 40]}", folder / "live", as_it_comes);
  CHECK(live_too.report.exit_code == 1);
}
// SPDX-License-Identifier: Apache-2.0
