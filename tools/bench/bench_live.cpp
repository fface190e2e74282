// `tofstream-bench live`: live OSEM at a scanner's rate, from frames made beforehand, by any number of ranks: what was
// lost, how long an event takes to be in the image, and whether a replay of the journal has the same image.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/log.hpp"
#include "core/base/private_folder.hpp"
#include "core/run/engine.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/wire/frame_sender.hpp"
#include "kernels/analysis/compare.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/premade_stream.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr double frames_a_second = 100;

struct LiveBenchOptions {
  double rate = 1e6, seconds = 10, voxel_mm = 8, every_s = 1, most_latency_ms = 1000;
  int ranks = 1, batch_events = 1 << 20;
  std::string scanner = "demo_ring", projector = "joseph", backend = "auto", folder, output;
  std::vector<int> size = {50, 50, 24};
  bool sorts = true, replays = true, json = false;
};

/// What a run needs besides its source.
std::string pipeline_of(const LiveBenchOptions& options, const std::string& source, const std::string& follow) {
  const std::string sorted = options.sorts ? "  sorted: {use: tof_partition, from: events, parallel: auto}\n" : "";
  return fmt::format(
      "backend: {}\nranks: {}\nrank_parts: 8\nimage: {{size: [{}], voxel_mm: [{}, {}, {}]}}\n"
      "gadgets:\n{}"
      "  events: {{use: petsird_decoder, from: feed.bytes, batch_events: {}}}\n{}"
      "  subsets: {{use: live_subsets, from: {}, seconds: {}, iterations: 1{}}}\n"
      "  projected: {{use: {}_projector, from: {{events: subsets, image: estimate}}, deterministic: true, "
      "edge: {{events: {{messages: 1}}}}}}\n"
      "  estimate: {{use: osem_update, from: projected}}\n"
      "  file: {{use: nifti_writer, from: estimate}}\n",
      options.backend, options.ranks, fmt::join(options.size, ", "), options.voxel_mm, options.voxel_mm,
      options.voxel_mm, source, options.batch_events, sorted, options.sorts ? "sorted" : "events", options.every_s,
      follow.empty() ? "" : ", follow: " + follow, options.projector);
}

/// How late the sender was at most: what did not wait for room is late by the machine's own time.
struct Sent {
  double seconds = 0, most_late_s = 0;
};

Sent send_at_rate(const PremadeStream& stream, const std::string& endpoint, const std::stop_token& stop) {
  FrameSender to({.endpoint = endpoint}, stop);
  Sent sent;
  to.send_in_place(stream.frames.front());
  const auto began = Clock::now();
  for (std::size_t k = 1; k < stream.frames.size(); ++k) {
    const auto due = began + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(static_cast<double>(k) / frames_a_second));
    std::this_thread::sleep_until(due);
    if (!to.send_in_place(stream.frames[k])) return sent;
    sent.most_late_s = std::max(sent.most_late_s, std::chrono::duration<double>(Clock::now() - due).count());
  }
  sent.seconds = seconds_since(began);
  return sent;
}

/// The longest call of each gadget, and how long the events of each update took to be in the image.
class CallTimes : public Observer {
 public:
  void run_begins(const Pipeline& pipeline) override {
    for (const PipelineGadget& each : pipeline.gadgets) longest_s.emplace_back(each.name, 0);
  }
  void call_ends(std::size_t gadget, CallKind kind, const MessageInfo& info, Clock::time_point began,
                 Clock::time_point ended) override {
    if (kind == CallKind::run) return;  // of a source, which is one call
    const std::lock_guard lock(mutex_);
    auto& [name, longest] = longest_s[gadget];
    longest = std::max(longest, std::chrono::duration<double>(ended - began).count());
    if (name == "estimate" && kind == CallKind::process && info.last_ingress != Clock::time_point{})
      update_ms.push_back(std::chrono::duration<double, std::milli>(ended - info.last_ingress).count());
  }

  std::vector<std::pair<std::string, double>> longest_s;
  std::vector<double> update_ms;

 private:
  std::mutex mutex_;
};

RunReport run_into(const std::filesystem::path& out, const std::string& yaml, CallTimes& times) {
  EngineOptions options;
  options.output_dir = out;
  options.observer = &times;
  Engine engine(parse_pipeline(yaml, "bench"), options);
  RunReport report = engine.run();
  if (report.exit_code != exit_ok) throw std::runtime_error(report.errors.front().text());
  return report;
}

const GadgetReport& gadget(const RunReport& report, const std::string& name) {
  return *std::ranges::find(report.gadgets, name, &GadgetReport::name);
}

double number(const RunReport& report, const std::string& of, const std::string& key) {
  const auto& figures = gadget(report, of).figures;
  const auto found = figures.find(key);
  if (found == figures.end()) return 0;
  if (const auto* whole = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*whole);
  return std::get<double>(found->second);
}

ordered_json busy_of(const RunReport& report, const CallTimes& times) {
  ordered_json row;
  for (const GadgetReport& each : report.gadgets) row["busy_s"][each.name] = each.busy_seconds;
  for (const auto& [name, longest] : times.longest_s)
    if (longest > 0) row["longest_call_s"][name] = longest;
  return row;
}

struct LiveRun {
  RunReport report;
  CallTimes times;
  Sent sent;
};

void run_live(const LiveBenchOptions& options, const PremadeStream& stream, const std::filesystem::path& folder,
              const std::string& name, LiveRun& run) {
  const std::string endpoint = "ipc://" + (folder / (name + ".socket")).string();
  const std::string journal =
      options.replays ? fmt::format(", journal: \"{}\"", (folder / (name + ".journal")).string()) : "";
  std::jthread sender([&](const std::stop_token& stop) { run.sent = send_at_rate(stream, endpoint, stop); });
  run.report = run_into(
      folder / name,
      pipeline_of(options, fmt::format("  feed: {{use: zmq_source, endpoint: \"{}\"{}}}\n", endpoint, journal), ""),
      run.times);
  sender.join();
}

/// The largest difference of two runs' images.
double difference(const std::filesystem::path& a, const std::filesystem::path& b) {
  return compare(read_nifti(a / "image.nii.gz"), read_nifti(b / "image.nii.gz")).max_abs;
}

ordered_json row_of(const LiveBenchOptions& options, const PremadeStream& stream, const LiveRun& run) {
  const RunReport& report = run.report;
  std::uint64_t lost = 0;
  for (const auto& [reason, count] : report.books.lost) lost += count;
  const bool is_whole = lost == 0 && report.books.balanced() && report.books.received == stream.events;
  const double p99 = number(report, "subsets", "latency_ms_p99");
  ordered_json row{{"projector", options.projector},
                   {"ranks", options.ranks},
                   {"sorted", options.sorts},
                   {"events", stream.events},
                   {"events_per_s", options.rate},
                   {"subset_s", options.every_s},
                   {"seconds", run.sent.seconds},
                   {"sender_late_s", run.sent.most_late_s},
                   {"lost", lost},
                   {"reconstructed", report.books.reconstructed},
                   {"spilled_bytes", number(report, "feed", "spilled_bytes")},
                   {"updates", number(report, "subsets", "updates")},
                   {"latency_ms_p50", number(report, "subsets", "latency_ms_p50")},
                   {"latency_ms_p99", p99},
                   {"latency_ms_p99_must_be", options.most_latency_ms},
                   {"holds", is_whole && p99 > 0 && p99 <= options.most_latency_ms}};
  row.update(busy_of(report, run.times));
  row["update_ms"] = run.times.update_ms;
  return row;
}

void bench_live(const LiveBenchOptions& options) {
  set_log_level("error");
  const PrivateTemporaryFolder folder(options.folder);
  const auto edge = static_cast<float>(options.voxel_mm);
  const Grid grid = Grid::centred(options.size[0], options.size[1], options.size[2], {edge, edge, edge});
  const auto stream_of = [&](double seconds) {
    return from_input([&] {
      return premade_stream({options.scanner, wire::Schema::petsird, static_cast<std::uint64_t>(options.rate * seconds),
                             static_cast<std::uint64_t>(options.rate / frames_a_second), grid});
    });
  };
  // Fills the sensitivity's cache, and loads the kernels.
  LiveRun warm, run;
  run_live(options, stream_of(std::min(1.5, options.seconds)), folder.path(), "warm", warm);
  const PremadeStream stream = stream_of(options.seconds);
  run_live(options, stream, folder.path(), "live", run);
  ordered_json row = row_of(options, stream, run);
  if (options.replays) {
    CallTimes times;
    const RunReport replay = run_into(folder.path() / "replay",
                                      pipeline_of(options,
                                                  fmt::format("  feed: {{use: journal_source, path: \"{}\"}}\n",
                                                              (folder.path() / "live.journal").string()),
                                                  (folder.path() / "live").string()),
                                      times);
    row["replay_s"] = replay.seconds;
    row["replay"] = busy_of(replay, times);
    row["replay_differs_by"] = difference(folder.path() / "live", folder.path() / "replay");
    row["holds"] = row["holds"].get<bool>() && row["replay_differs_by"].get<double>() == 0;
  }
  const ordered_json report{{"bench", "live"},
                            {"machine", machine()},
                            {"scanner", options.scanner},
                            {"size", options.size},
                            {"voxel_mm", options.voxel_mm},
                            {"journal", options.replays},
                            {"bytes", stream.bytes},
                            {"results", ordered_json::array({row})}};
  if (!options.json)
    fmt::print(
        "{} by {} rank(s): {:.3g} events/s for {:.1f} s, {} lost, {:.0f} updates, in the image after {:.0f} ms "
        "(99 %: {:.0f}), sender late by {:.3f} s{}\n",
        options.projector, options.ranks, options.rate, run.sent.seconds, row["lost"].get<std::uint64_t>(),
        row["updates"].get<double>(), row["latency_ms_p50"].get<double>(), row["latency_ms_p99"].get<double>(),
        run.sent.most_late_s,
        options.replays ? fmt::format("; the replay took {:.1f} s and differs by {:g}", row["replay_s"].get<double>(),
                                      row["replay_differs_by"].get<double>())
                        : "");
  write_report(report, options.json, options.output);
  end_by_verdict(report["results"], {"projector", "ranks"});
}

std::function<void()> declare_live(Command& line) {
  auto options = std::make_shared<LiveBenchOptions>();
  line.add_option("--rate", options->rate, "Events a second, whose lines cross the image (default: 1e6)")
      .within(1e3, 1e10);
  line.add_option("--seconds", options->seconds, "Of the scan; all frames are held in memory (default: 10)")
      .within(1.0, 3600.0);
  line.add_option("--every", options->every_s, "Seconds of the scan in a subset (default: 1)").within(0.001, 3600.0);
  line.add_option("--ranks", options->ranks, "GPUs, or threads of a CPU, that share the image (default: 1)")
      .within(1, 64);
  line.add_option("--scanner", options->scanner, "A scanner of share/scanners, or a YAML file (default: demo_ring)");
  line.add_option("--projector", options->projector, "joseph, tor (default: joseph)").one_of({"joseph", "tor"});
  line.add_option("--size", options->size, "Voxels along x, y and z (default: 50 50 24)").expected(3).within(1, 4096);
  line.add_option("--voxel", options->voxel_mm, "Edge of a voxel in mm (default: 8)").within(0.1, 100.0);
  line.add_option("--batch-events", options->batch_events, "Events that are decoded at a time (default: 1048576)")
      .within(1, 1 << 28);
  line.add_flag("!--no-sort", options->sorts, "Leave out tof_partition, which live_osem has");
  line.add_flag("!--no-replay", options->replays, "Keep no journal, and replay none");
  line.add_option("--most-latency-ms", options->most_latency_ms,
                  "99 of 100 events must be in the image so soon (default: 1000)")
      .within(1.0, 1e6);
  line.add_option("--folder", options->folder, "Where the journal goes (default: the system's temporary folder)");
  line.add_option("--backend", options->backend, "cpu, cuda, auto (default: auto)").one_of({"cpu", "cuda", "auto"});
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer("Example: tofstream-bench live --rate 4e8 --ranks 2 --scanner long_axial --size 200 200 300 --voxel 2");
  return [options] { bench_live(*options); };
}

TOFSTREAM_BENCH("live", "Live OSEM at a scanner's rate: losses, latency, and the replay's image", declare_live);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
