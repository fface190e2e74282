// A killed live reconstruction is resumed from its order of updates and its last checkpoint, and ends with the image of
// an undisturbed run.
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/update_log.hpp"
#include "tests/command/command.hpp"
#include "tests/command/recording.hpp"

using namespace tofstream;

namespace {

// The recording stands for a journal of the stream.
std::filesystem::path recording() {
  return cylinder_recording(40000);
}

/// Runs a pipeline whose first gadgets give `sorted`; `under`: a command that runs the command.
CommandResult run_pipeline(const std::filesystem::path& folder, const std::string& source, const std::string& subsets,
                           const std::string& more, const std::string& under = "") {
  const auto file = folder / "live.yaml";
  std::filesystem::create_directories(folder);
  std::ofstream(file) << R"(
backend: cpu
image: {size: [16, 16, 8], voxel_mm: [16, 16, 18]}
gadgets:
)" << source << "  subsets: {from: sorted, "
                      << subsets << R"(}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate},
    sensitivity: {exact_pairs: 0, sampled_pairs: 20000, cache: false}, edge: {events: {messages: 1}}}
  estimate: {use: osem_update, from: projected}
  checkpoint: {use: checkpoint_writer, from: estimate, every_s: 0}
  file: {use: nifti_writer, from: estimate}
)";
  return run_line(under + program().string() + " run " + file.string() + " --quiet --out " + folder.string() + " " +
                  more);
}

const std::string narrow = "--set image.size=[8,8,8] ";  // an image that some events miss

CommandResult run_live(const std::filesystem::path& folder, const std::string& subsets, const std::string& more = "") {
  const std::string source = "  feed: {use: file_source, path: " + recording().string() +
                             ", chunk_kib: 7}\n  events: {use: petsird_decoder, from: feed, batch_events: 1500}\n"
                             "  sorted: {use: tof_partition, from: events}\n";
  return run_pipeline(folder, source, "events: 4000, " + subsets, more);
}

void check_same_image(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto compared =
      run_command("compare --json " + (a / "image.nii.gz").string() + " " + (b / "image.nii.gz").string());
  REQUIRE_MESSAGE(compared.code == 0, compared.err);
  CHECK(compared.json()["max_abs"] == 0);
}

nlohmann::json books_of(const std::filesystem::path& folder) {
  return nlohmann::json::parse(text_of(folder / "run.json"))["books"];
}

void kill_and_resume(const std::filesystem::path& folder, const std::string& subsets, int kill_at) {
  // Slowly, so that a checkpoint reaches the disk first.
  const auto killed =
      run_live(folder, subsets, fmt::format("--set 'projected.fault={{kill_at: {}, delay_ms: 40}}'", kill_at));
  CHECK(killed.code == 128 + SIGKILL);
  CHECK(!std::filesystem::exists(folder / "image.nii.gz"));
  REQUIRE(checkpoint_step(folder).update > 0);
  CHECK(checkpoint_step(folder).update <= static_cast<std::int64_t>(read_update_log(folder).updates.size()));
  const auto resumed = run_live(folder, subsets, "--set resume_from=" + folder.string());
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(read_update_log(folder).has_ended);
}

}  // namespace

TEST_CASE("killed, a live reconstruction resumes and ends with the undisturbed image and the undisturbed books") {
  const TemporaryFolder folder;
  const std::string live = "use: live_subsets, iterations: 1";
  REQUIRE(run_live(folder / "undisturbed", live, narrow).code == 0);
  const auto books = books_of(folder / "undisturbed");
  CHECK(books["rejected"].dump().find("misses the image") != std::string::npos);
  const auto killed = [&](int at, const std::string& more) {
    const auto run = run_live(folder / "killed", live,
                              narrow + more + fmt::format("--set 'projected.fault={{kill_at: {}, delay_ms: 40}}'", at));
    CHECK(run.code == 128 + SIGKILL);
    REQUIRE(checkpoint_step(folder / "killed").update > 0);
  };
  const std::string resume = "--set resume_from=" + (folder / "killed").string() + " ";
  killed(5, "");
  SUBCASE("once") {}
  SUBCASE("again after it was resumed") {
    killed(2, resume);
  }
  const auto resumed = run_live(folder / "killed", live, narrow + resume);
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  check_same_image(folder / "killed", folder / "undisturbed");
  CHECK(books_of(folder / "killed") == books);
}

TEST_CASE("killed before or within what final: offline does, it ends with the offline image") {
  const TemporaryFolder folder;
  REQUIRE(run_live(folder / "offline", "use: subset_builder, iterations: 2, reference_s: 1").code == 0);
  for (const int kill_at : {5, 25}) {
    CAPTURE(kill_at);
    const auto killed = folder / ("killed" + std::to_string(kill_at));
    kill_and_resume(killed, "use: live_subsets, iterations: 2, final: offline", kill_at);
    check_same_image(killed, folder / "offline");
  }
}

TEST_CASE(
    "killed while it receives, it goes on from journal and checkpoint and ends with the recording's offline image") {
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string(), journal = (folder / "journal").string();
  const std::string feed = "  feed: {use: zmq_source, endpoint: \"" + endpoint + "\", journal: " + journal +
                           ", late_s: 0.1}\n  sorted: {use: tof_partition, from: feed.events}\n";
  const std::string replay =
      "  feed: {use: journal_source, path: " + journal + "}\n  sorted: {use: tof_partition, from: feed.events}\n";
  const std::string cut = "seconds: 0.5, least_events: 100, iterations: 2, ";
  const std::string live = cut + "use: live_subsets, final: offline";
  std::jthread scanner([&] {
    run_command("run simulate_live --quiet --out " + (folder / "scanner").string() + " --set endpoint=" + endpoint +
                " --set photons.seconds=5 --set photons.activity_scale=0.003 --set photons.batch_events=400 --set "
                "sent.speed=3");
  });
  const auto killed = run_pipeline(folder / "live", feed, live, "--set projected.fault.kill_at=8");
  CHECK(killed.code == 128 + SIGKILL);
  const auto resumed = run_pipeline(folder / "live", feed, live,
                                    "--set feed.resume=true --set resume_from=" + (folder / "live").string());
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  const auto books = books_of(folder / "live");
  CHECK(books["balanced"] == true);
  CHECK(books["reconstructed"].get<int>() > 20000);
  const auto offline =
      run_pipeline(folder / "offline", replay, cut + "use: subset_builder, reference_s: 1, backend: cpu", "");
  REQUIRE_MESSAGE(offline.code == 0, offline.err);
  check_same_image(folder / "live", folder / "offline");
  CHECK(books["rejected"] == books_of(folder / "offline")["rejected"]);
  CHECK(books["reconstructed"] == books_of(folder / "offline")["reconstructed"]);
}

// TOFSTREAM_KILLS=30 for more of them.
TEST_CASE("killed at moments of chance, a live run goes on each time and ends with its journal's image and books") {
  const char* const wish = std::getenv("TOFSTREAM_KILLS");
  const int kills = wish ? std::stoi(wish) : 2;
  const TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "socket").string(), journal = (folder / "journal").string();
  const std::string feed = "  feed: {use: zmq_source, endpoint: \"" + endpoint + "\", journal: " + journal +
                           ", resume: true, late_s: 0.1}\n  sorted: {use: tof_partition, from: feed.events}\n";
  const std::string replay =
      "  feed: {use: journal_source, path: " + journal + "}\n  sorted: {use: tof_partition, from: feed.events}\n";
  const std::string cut = "seconds: 0.5, least_events: 100, iterations: 2, ";
  std::jthread scanner([&] {
    run_line("timeout 600 " + program().string() + " run simulate_live --quiet --out " + (folder / "scanner").string() +
             " --set endpoint=" + endpoint +
             fmt::format(" --set photons.seconds={} --set photons.activity_scale=0.003 --set "
                         "photons.batch_events=400 --set sent.speed=1",
                         3 * kills));
  });
  std::mt19937 random(3);
  std::uniform_real_distribution<double> seconds(0.5, 3);
  const auto has_begun = [&] { return std::filesystem::exists(folder / "live" / update_log_name); };
  CommandResult run;
  for (int k = 0; k <= kills; ++k) {
    const std::string ended_by = k < kills ? fmt::format("timeout --foreground -s KILL {:.3f} ", seconds(random)) : "";
    run = run_pipeline(folder / "live", feed, cut + "use: live_subsets, final: offline",
                       has_begun() ? "--set resume_from=" + (folder / "live").string() : "--overwrite", ended_by);
    CAPTURE(k);
    if (k < kills) CHECK(run.code == 128 + SIGKILL);
  }
  REQUIRE_MESSAGE(run.code == 0, run.err);
  scanner.join();
  const auto books = books_of(folder / "live");
  CHECK(books["balanced"] == true);
  const auto offline =
      run_pipeline(folder / "offline", replay, cut + "use: subset_builder, reference_s: 1, backend: cpu", "");
  REQUIRE_MESSAGE(offline.code == 0, offline.err);
  check_same_image(folder / "live", folder / "offline");
  CHECK(books["received"] == books_of(folder / "offline")["received"]);
  // An event is rejected or not when it is first projected, so that the number goes by the order of updates.
  const auto followed =
      run_pipeline(folder / "followed", replay,
                   cut + "use: live_subsets, final: offline, follow: " + (folder / "live").string(), "");
  REQUIRE_MESSAGE(followed.code == 0, followed.err);
  check_same_image(folder / "live", folder / "followed");
  for (const char* fate : {"received", "rejected", "reconstructed"}) {
    CAPTURE(fate);
    CHECK(books[fate] == books_of(folder / "followed")[fate]);
  }
}

TEST_CASE("an order that is damaged starts nothing, and one line says where") {
  const TemporaryFolder folder;
  UpdateLogWriter(folder / update_log_name, std::vector<UpdateRecord>{{1, {{0, 1}}, 4000}});
  std::ofstream(folder / update_log_name, std::ios::app) << "{\"update\":2,\"sub\n";
  for (const char* parameter : {"subsets.follow", "resume_from"}) {
    const auto refused = run_live(folder / "out", "use: live_subsets, iterations: 1",
                                  fmt::format("--set {}={}", parameter, folder.path().string()));
    CHECK(refused.code == 2);
    CHECK_MESSAGE(std::ranges::count(refused.err, '\n') == 1, refused.err);
    CHECK_MESSAGE(refused.err.find("order.jsonl:3: no order of updates: ") != std::string::npos, refused.err);
    CHECK(!std::filesystem::exists(folder / "out/image.nii.gz"));
  }
}
// SPDX-License-Identifier: Apache-2.0
