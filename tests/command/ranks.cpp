// Reconstructions that several projectors share, as a user runs them.
#include <csignal>

#include "gadgets/io/checkpoint.hpp"
#include "tests/command/command.hpp"
#include "tests/command/recording.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

std::filesystem::path recording() {
  return cylinder_recording(40000);
}

CommandResult reconstruct(const std::filesystem::path& folder, const std::string& more) {
  return run_command(
      "run listmode_osem --quiet --backend cpu --set image.size=[20,20,10] --set image.voxel_mm=[12,12,12] "
      "--set subsets.reference_s=1 --set subsets.subsets=3 --set subsets.iterations=2 "
      "--set projected.sensitivity.cache=false --set projected.sensitivity.exact_pairs=0 "
      "--set projected.sensitivity.sampled_pairs=20000 --input " +
      recording().string() + " --out " + folder.string() + " " + more);
}

/// The same recording as a stream that has not ended, which updates every 4000 events.
CommandResult run_live(const std::filesystem::path& folder, const std::string& more) {
  std::filesystem::create_directories(folder);
  const auto file = folder / "live.yaml";
  std::ofstream(file) << "backend: cpu\nimage: {size: [16, 16, 8], voxel_mm: [16, 16, 18]}\nrank_parts: 8\ngadgets:\n"
                      << "  feed: {use: file_source, path: " << recording().string() << ", chunk_kib: 7}\n"
                      << R"(  events: {use: petsird_decoder, from: feed, batch_events: 1500}
  subsets: {use: live_subsets, from: events, events: 4000, iterations: 1}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate}, deterministic: true,
    sensitivity: {exact_pairs: 0, sampled_pairs: 20000, cache: false}, edge: {events: {messages: 1}}}
  estimate: {use: osem_update, from: projected}
  checkpoint: {use: checkpoint_writer, from: estimate, every_s: 0}
  file: {use: nifti_writer, from: estimate}
)";
  return run_command("run " + file.string() + " --quiet --out " + folder.string() + " " + more);
}

nlohmann::json compared(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto result =
      run_command("compare --json " + (a / "image.nii.gz").string() + " " + (b / "image.nii.gz").string());
  REQUIRE_MESSAGE(result.code == 0, result.err);
  return result.json();
}

nlohmann::json report_of(const std::filesystem::path& folder) {
  return nlohmann::json::parse(text_of(folder / "run.json"));
}

}  // namespace

TEST_CASE("a reconstruction by several ranks has the image and the books of one, and says who did what") {
  const TemporaryFolder folder;
  const auto one = reconstruct(folder / "one", "");
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const auto three = reconstruct(folder / "three", "--ranks 3");
  REQUIRE_MESSAGE(three.code == 0, three.err);
  CHECK(compared(folder / "three", folder / "one")["nrms"].get<double>() < 1e-6);
  const auto report = report_of(folder / "three");
  CHECK(report["books"] == report_of(folder / "one")["books"]);
  const auto& figures = report["gadgets"]["projected"]["figures"];
  CHECK(figures["rank_devices"] == nlohmann::json({"cpu", "cpu", "cpu"}));
  REQUIRE(figures["rank_data"].size() == 3);
  double data = 0;
  for (const double of_rank : figures["rank_data"]) data += of_rank;
  CHECK(data == 2 * report["books"]["reconstructed"].get<double>());
  for (const char* of_ranks : {"rank_projecting_s", "rank_planning_s", "rank_waiting_s", "rank_reducing_s"})
    CHECK(figures[of_ranks].size() == 3);
  CHECK(figures["rank_reducing_s"][0].get<double>() > 0);
  const double imbalance = figures["rank_imbalance"].get<double>();
  CHECK(imbalance >= 1);
  CHECK(imbalance <= 3);
  CHECK(text_of(folder / "three" / "report.html").find("<h2>Ranks</h2>") != std::string::npos);
  CHECK_FALSE(report_of(folder / "one")["gadgets"]["projected"]["figures"].contains("rank_devices"));
}

TEST_CASE("a live run that was killed on three ranks goes on with two, and ends with the image of one") {
  const TemporaryFolder folder;
  const auto one = run_live(folder / "one", "");
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const auto killed = run_live(folder / "killed", "--ranks 3 --set 'projected.fault={kill_at: 5, delay_ms: 40}'");
  CHECK(killed.code == 128 + SIGKILL);
  REQUIRE(checkpoint_step(folder / "killed").update > 0);
  const auto resumed = run_live(folder / "killed", "--ranks 2 --set resume_from=" + (folder / "killed").string());
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(compared(folder / "killed", folder / "one")["max_abs"] == 0);
  CHECK(report_of(folder / "killed")["books"] == report_of(folder / "one")["books"]);
}

TEST_CASE("a number of ranks that cannot be starts nothing, and one line says why") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& more) {
    const auto run = reconstruct(folder / "none", more);
    CHECK(run.code == 2);
    CHECK_FALSE(std::filesystem::exists(folder / "none" / "image.nii.gz"));
    return run.err;
  };
  CHECK(refused("--ranks many").find("ranks") != std::string::npos);
  CHECK(refused("--ranks 65").find("64") != std::string::npos);
  CHECK(refused("--ranks 4 --set rank_parts=3").find("write rank_parts: 4 or more") != std::string::npos);
}

TEST_CASE("bench scaling measures ranks beside one") {
  const auto run = run_bench(
      "scaling --backend cpu --events 3000 --size 20 20 20 --voxel 15 --subsets 2 "
      "--iterations 2 --ranks 1 3 --json");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto rows = run.json()["results"];
  REQUIRE(rows.size() == 4);
  for (const auto& row : rows) {
    CHECK(row["accurate"] == true);
    CHECK(row["rank"].size() == row["ranks"].get<std::size_t>());
    CHECK(row["rank"][0]["kept_planning_s"] == 0);  // a CPU keeps no plans
    CHECK(row["later_s"].get<double>() > 0);
    CHECK(row["predicted_of_ideal"].get<double>() == approx(1));  // no copies between GPUs
    CHECK(row.contains("overhead") == (row["ranks"] == 1));
  }
}
// SPDX-License-Identifier: Apache-2.0
