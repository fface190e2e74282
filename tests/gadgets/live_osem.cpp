// Live OSEM from end to end: events come over ZeroMQ or slowly. The image equals the offline pipeline's bit for bit
// where that is promised, and is close to it where the order of updates differs.
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/io/update_log.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

using namespace std::chrono_literals;

struct Seen {
  std::vector<float> image;
  UpdateStep step;
  std::atomic<int> estimates = 0;
  std::atomic<int> newest_subset = -1;
  std::vector<std::shared_ptr<const Estimate>> all;
  std::vector<MessageInfo> data;  // of each, the events it was made from
};
Seen& seen() {
  static Seen all;
  return all;
}

struct KeepEstimate {
  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    const auto voxels = estimate->image->voxels.span();
    seen().image.assign(voxels.begin(), voxels.end());
    seen().step = estimate->step;
    if (estimate->step.iteration == 0 && !estimate->step.restart) return;  // no update
    seen().newest_subset = std::max(seen().newest_subset.load(), estimate->step.subset);
    seen().all.push_back(std::move(estimate));
    seen().data.push_back(context.message());
    ++seen().estimates;
  }
};
TOFSTREAM_GADGET(KeepEstimate, "test_keep_estimate", "Keeps the last estimate");

// Makes the machine's speed matter little: from the start of the scan, ten batches, the first nine of which end subset
// k, wait until an estimate includes subset k - 1.
struct WaitForImage {
  static constexpr bool own_thread = true;

  void process(EventBatch batch, Emit<EventBatch>& emit, Context& context) {
    constexpr int last = 3;
    const int due = ++batches_ / 10 - 1;
    while (due <= last && seen().newest_subset < due && !context.cancelled()) std::this_thread::sleep_for(1ms);
    emit(std::move(batch));
  }

 private:
  int batches_ = 0;
};
TOFSTREAM_GADGET(WaitForImage, "test_wait_for_image", "Waits until what came is in an estimate");

struct LiveRun {
  RunReport report;
  std::vector<float> image;
  UpdateStep step;
  std::filesystem::path folder;

  const GadgetReport& gadget(const std::string& name) const {
    return *std::ranges::find(report.gadgets, name, &GadgetReport::name);
  }
};

constexpr const char* live_subsets = "use: live_subsets, iterations: 2";
constexpr const char* offline = "use: subset_builder, iterations: 2, reference_s: 1, backend: cpu";

int first_of(const UpdateRecord& update) {
  return update.parts.empty() ? -1 : update.parts[0].first;
}

/// The order in a folder, in version 1 of the format.
std::string order_of_version_1(const std::filesystem::path& folder) {
  const UpdateLog log = read_update_log(folder);
  std::string text = "{\"format\":\"tofstream update order\",\"version\":1}\n";
  for (const UpdateRecord& r : log.updates)
    text += r.restart ? fmt::format("{{\"update\":{},\"restart\":true}}\n", r.update)
                      : fmt::format("{{\"update\":{},\"subset\":{},\"subsets\":{},\"events\":{},\"estimate\":{}}}\n",
                                    r.update, r.parts[0].first, r.parts[0].count, r.events, r.update - 1);
  return log.has_ended ? text + "{\"end\":true}\n" : text;
}

/// A pipeline from `sorted` on; `source` gives the gadgets before it.
std::string pipeline(const std::string& source, const std::string& subsets, const std::string& projected = "",
                     const std::string& estimate = "") {
  return fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {{size: [16, 16, 8], voxel_mm: [16, 16, 18]}}
gadgets:
{}
  subsets: {{{}, from: sorted, seconds: 0.56, least_events: 4500}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}},
    sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}, edge: {{events: {{messages: 1}}}}{}}}
  estimate: {{use: osem_update, from: projected{}}}
  checkpoint: {{use: checkpoint_writer, from: estimate, every_s: 0}}
  file: {{use: nifti_writer, from: estimate}}
  kept: {{use: test_keep_estimate, from: estimate}}
)",
                     source, subsets, projected, estimate);
}

LiveRun run_live(const std::string& yaml, const std::filesystem::path& folder) {
  seen().all.clear();
  seen().data.clear();
  seen().newest_subset = -1;
  LiveRun made;
  made.folder = folder;
  made.report = Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder}).run();
  REQUIRE_MESSAGE(made.report.exit_code == 0,
                  (made.report.errors.empty() ? "the books do not balance" : made.report.errors[0].text()));
  CHECK(made.report.books.balanced());
  CHECK(made.report.books.lost.empty());
  CHECK(made.report.books.discarded == 0);
  made.image = seen().image;
  made.step = seen().step;
  return made;
}

/// With a pause before each batch the projector has idle time.
std::string photons(int seed, const std::string& more = "", const std::string& sorted_from = "photons") {
  return fmt::format(
      "  photons: {{use: simulator, phantom: uniform_cylinder, seconds: 6, activity_scale: 0.003, batch_events: 700, "
      "attenuation: false, seed: {}{}}}\n  sorted: {{use: tof_partition, from: {}}}\n",
      seed, more, sorted_from);
}

std::string over_the_wire(const TemporaryFolder& folder) {
  return fmt::format(
      "  photons: {{use: simulator, phantom: uniform_cylinder, seconds: 6, activity_scale: 0.003, batch_events: 700, "
      "attenuation: false}}\n  sent: {{use: zmq_sink, from: photons, endpoint: \"ipc://{0}\"}}\n"
      "  feed: {{use: zmq_source, endpoint: \"ipc://{0}\"}}\n  sorted: {{use: tof_partition, from: feed.events}}\n",
      (folder / "socket").string());
}

double nrms(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (std::size_t v = 0; v < a.size(); ++v) {
    difference += (a[v] - b[v]) * (a[v] - b[v]);
    size += b[v] * b[v];
  }
  return std::sqrt(difference / size);
}

}  // namespace

TEST_CASE("live over ZeroMQ, then final: offline gives the offline pipeline's image bit for bit") {
  const TemporaryFolder folder;
  const LiveRun anew =
      run_live(pipeline(over_the_wire(folder), std::string(live_subsets) + ", final: offline"), folder / "live");
  const LiveRun once = run_live(pipeline(over_the_wire(folder), offline), folder / "offline");
  CHECK(anew.image == once.image);
  CHECK(anew.report.books.received == once.report.books.received);
  CHECK(anew.gadget("projected").books.reconstructed == once.gadget("projected").books.reconstructed);
  CHECK(anew.step.last);
  CHECK(std::filesystem::exists(folder / "live/image.nii.gz"));
}

TEST_CASE("live, then final: offline in another order gives the image of the same order offline, bit for bit") {
  const TemporaryFolder folder;
  const auto in_order = [](const std::string& of, const std::string& key) {
    return of + ", " + key + ": random, seed: 3";
  };
  const LiveRun anew =
      run_live(pipeline(over_the_wire(folder), in_order(std::string(live_subsets) + ", final: offline", "final_order")),
               folder / "live");
  const LiveRun once = run_live(pipeline(over_the_wire(folder), in_order(offline, "order")), folder / "offline");
  CHECK(anew.image == once.image);
  const LiveRun sequential = run_live(pipeline(over_the_wire(folder), offline), folder / "sequential");
  CHECK(anew.image != sequential.image);
  CHECK(anew.step.last);
  const LiveRun followed =
      run_live(pipeline(over_the_wire(folder), fmt::format("{}, follow: {}", live_subsets, (folder / "live").string())),
               folder / "followed");
  CHECK(followed.image == anew.image);  // by the order that was written, whatever the parameter
}

// The different order of updates changes the image less than counting statistics do (the same scan with another seed).
TEST_CASE("the live image is the offline one within a part of the noise, from the activity of the first seconds on") {
  const TemporaryFolder folder;
  const LiveRun once = run_live(pipeline(photons(1), offline), folder / "offline");
  const LiveRun other = run_live(pipeline(photons(2), offline), folder / "other");
  const LiveRun slowly = run_live(pipeline(photons(1, ", fault: {delay_ms: 50}"), live_subsets), folder / "live");
  // A rate from the first second on, not a sum that grows.
  const auto total = [](const Estimate& estimate) {
    double sum = 0;
    for (const float value : estimate.image->voxels.span()) sum += value;
    return sum;
  };
  CHECK(total(*seen().all.front()) == approx(total(*seen().all.back())).epsilon(0.1));
  const double noise = nrms(other.image, once.image);
  MESSAGE("noise ", noise, ", live against offline ", nrms(slowly.image, once.image));
  CHECK(nrms(slowly.image, once.image) < 0.4 * noise);
  const auto log = read_update_log(slowly.folder);
  CHECK(log.has_ended);
  const auto subsets = std::get<std::int64_t>(slowly.gadget("subsets").figures.at("subsets"));
  CHECK(log.updates.size() >= 2 * static_cast<std::size_t>(subsets));
  // Idle time was used: earlier subsets were used again before the last one had come.
  const auto last_new = std::ranges::find(log.updates, subsets - 1, first_of) - log.updates.begin();
  CHECK(last_new > subsets);
}

TEST_CASE("an estimate says which events it was made from, however late the projector is") {
  const TemporaryFolder folder;
  const LiveRun late = run_live(pipeline(photons(1), live_subsets, "", ", fault: {delay_ms: 30}"), folder / "late");
  const auto log = read_update_log(late.folder);
  std::vector<std::uint64_t> ends;  // of each subset, in events that were sorted
  for (const UpdateRecord& update : log.updates)
    if (first_of(update) == static_cast<int>(ends.size()) && update.parts[0].count == 1)
      ends.push_back((ends.empty() ? 0 : ends.back()) + update.events);
  REQUIRE(ends.size() > 4);
  REQUIRE(seen().data.size() == log.updates.size());
  for (std::size_t i = 0; i < log.updates.size(); ++i) {
    const auto& part = log.updates[i].parts[0];
    const auto first = static_cast<std::size_t>(part.first), last = first + static_cast<std::size_t>(part.count) - 1;
    if (last >= ends.size()) continue;  // a rest
    // Whole messages, of which ten make a subset.
    CHECK(seen().data[i].end_event >= ends[last]);
    CHECK(seen().data[i].end_event < ends[last] + ends.front() / 3);
    CHECK(seen().data[i].first_event <= (first == 0 ? 0 : ends[first - 1]));
    if (first > 0) CHECK(seen().data[i].first_event + ends.front() / 3 > ends[first - 1]);
  }
}

TEST_CASE("following the order gives the live image bit for bit, also from a checkpoint on") {
  const TemporaryFolder folder;
  const LiveRun slowly = run_live(pipeline(photons(1, ", fault: {delay_ms: 15}"), live_subsets), folder / "live");
  const auto estimates = seen().all;
  const std::string follow = fmt::format("{}, follow: {}", live_subsets, (folder / "live").string());
  const LiveRun again = run_live(pipeline(photons(1), follow), folder / "again");
  CHECK(again.image == slowly.image);
  CHECK(text_of(folder / "again/order.jsonl") == text_of(folder / "live/order.jsonl"));

  std::filesystem::create_directory(folder / "older");
  std::ofstream(folder / "older/order.jsonl") << order_of_version_1(folder / "live");
  const std::string follow_older = fmt::format("{}, follow: {}", live_subsets, (folder / "older").string());
  const LiveRun older = run_live(pipeline(photons(1), follow_older), folder / "from_older");
  CHECK(older.image == slowly.image);
  CHECK(text_of(folder / "from_older/order.jsonl") == text_of(folder / "live/order.jsonl"));

  const auto has_rest = [](const UpdateRecord& update) { return !update.restart && update.parts[0].count == 2; };
  CHECK(std::ranges::any_of(read_update_log(folder / "live").updates, has_rest));  // the last 0.4 s
  REQUIRE(estimates.size() > 15);
  const Estimate& middle = *estimates[11];
  std::filesystem::create_directory(folder / "killed");
  std::filesystem::copy(folder / "live/order.jsonl", folder / "killed");
  write_checkpoint(folder / "killed/checkpoint.tofc", {middle.step.update, middle.step.iteration}, *middle.image);
  const std::string resume = ", resume_from: " + (folder / "killed").string();
  const LiveRun resumed = run_live(pipeline(photons(1), live_subsets + resume, "", resume), folder / "resumed");
  CHECK(resumed.image == slowly.image);
  const auto is_later = [&](const auto& estimate) { return estimate->step.update > middle.step.update; };
  CHECK(std::ranges::count_if(seen().all, is_later) == std::ranges::count_if(estimates, is_later));
  CHECK(std::ranges::all_of(seen().all,
                            [&](const auto& estimate) { return estimate->step.update >= middle.step.update; }));
  CHECK(text_of(folder / "resumed/order.jsonl") == text_of(folder / "live/order.jsonl"));
}

TEST_CASE("a checkpoint of another image, or one that the order does not reach, starts nothing") {
  const TemporaryFolder folder;
  const std::string resume = ", resume_from: " + folder.path().string();
  UpdateLogWriter(folder / update_log_name, {});
  write_checkpoint(folder / checkpoint_name, {7, 1}, Image::zeros(Grid::centred(2, 2, 2, {1, 1, 1})));
  const RunReport report = Engine(parse_pipeline(pipeline(photons(1), live_subsets + resume, "", resume), "test.yaml"),
                                  {.output_dir = folder / "out"})
                               .run();
  CHECK(report.exit_code == exit_config);
  std::string said;
  for (const RunError& error : report.errors) said += error.text() + "\n";
  CHECK_MESSAGE(said.find("belongs to another image") != std::string::npos, said);
  CHECK_MESSAGE(said.find("is of update 7, but the order there ends at 0") != std::string::npos, said);
}

TEST_CASE("a stop in the middle of a live stream writes the image of what has come") {
  const TemporaryFolder folder;
  seen().estimates = 0;
  Engine engine(
      parse_pipeline(pipeline(over_the_wire(folder), "use: live_subsets, iterations: 1000, window: 5"), "test.yaml"),
      {.output_dir = folder / "out"});
  std::jthread stopper([&] {
    while (seen().estimates < 20) std::this_thread::sleep_for(1ms);
    engine.request_stop();
  });
  const RunReport report = engine.run();
  CHECK_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "" : report.errors[0].text()));
  CHECK(report.stopped);
  CHECK(report.books.balanced());
  CHECK(std::filesystem::exists(folder / "out/image.nii.gz"));
  CHECK(read_checkpoint(folder / "out")->step.update == seen().step.update);
}

TEST_CASE(
    "a slow projector: the deadline is missed, idle iterations and small subsets are given up, nothing is lost, and "
    "final: offline is not touched") {
  const TemporaryFolder folder;
  const LiveRun once = run_live(pipeline(photons(1), offline), folder / "offline");
  const std::string paced = "  paced: {use: test_wait_for_image, from: photons, edge: {messages: 1}}\n";
  const LiveRun slow =
      run_live(pipeline(photons(1, "", "paced") + paced,
                        std::string(live_subsets) + ", final: offline, deadline_ms: 10", ", fault: {delay_ms: 40}"),
               folder / "live");
  CHECK(slow.image == once.image);
  const auto& figures = slow.gadget("subsets").figures;
  const auto said = std::get<std::vector<std::string>>(figures.at("degradations"));
  REQUIRE(said.size() >= 2);
  CHECK(said[0].find("no idle iterations") != std::string::npos);
  CHECK(said[1].find("larger subsets") != std::string::npos);
  // Each is a change after some update; after the first no subset goes out again before the end of the scan.
  for (const std::string& line : said) CHECK_MESSAGE(line.starts_with("update "), line);
  const auto log = read_update_log(slow.folder);
  const auto live_end = std::ranges::find(log.updates, true, &UpdateRecord::restart);
  const std::size_t given_up_at = std::stoul(said[0].substr(7));
  int next = 0;
  for (auto update = log.updates.begin(); update != live_end; ++update) {
    const bool is_rest = update + 1 == live_end;  // used with a subset that may have been used before
    if (static_cast<std::size_t>(update->update) > given_up_at) CHECK((first_of(*update) == next || is_rest));
    next = std::max(next, update->parts.front().first + update->parts.front().count);
  }
  CHECK(std::get<std::int64_t>(figures.at("deadline_missed")) >= 2);
  for (const char* key : {"latency_ms_p50", "latency_ms_p99", "latency_ms_max"})
    CHECK(std::get<double>(figures.at(key)) > 10);
}

TEST_CASE("an estimate that is taken from a checkpoint keeps the rejected events that the checkpoint counts") {
  for (const char* image : {"{size: [2, 2, 2], voxel_mm: [1, 1, 1]}", "auto"}) {
    CAPTURE(image);
    const TemporaryFolder folder;
    const Rejected rejected{11, "the line misses the image"};
    write_checkpoint(folder / checkpoint_name, {7, 2, rejected}, Image::zeros(Grid::centred(2, 2, 2, {1, 1, 1})));
    RegisteredGadgetTest<Estimate> update(
        "osem_update", fmt::format("{{image: {}, resume_from: {}, backend: cpu}}", image, folder.path().string()));
    update.start();
    REQUIRE(update.out.all().size() == 1);
    const Estimate& first = *update.out.pointer(0);
    CHECK(first.step.update == 7);
    CHECK(first.rejected.events == rejected.events);
    CHECK(first.rejected.reason == rejected.reason);

    write_checkpoint(folder / "again.tofc", {first.step.update, first.step.iteration, first.rejected}, *first.image);
    CHECK(checkpoint_step(folder / "again.tofc").rejected.events == rejected.events);
  }
}
// SPDX-License-Identifier: Apache-2.0
