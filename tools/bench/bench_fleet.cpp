// `tofstream-bench fleet`: what a dispatcher costs: the same scans to a server directly and through a dispatcher, in
// turns, all on this machine.
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/log.hpp"
#include "core/base/private_folder.hpp"
#include "kernels/memory/devices.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/premade_stream.hpp"
#include "tools/command/errors.hpp"
#include "tools/serve/client.hpp"
#include "tools/serve/dispatcher.hpp"
#include "tools/serve/gpu_servers.hpp"
#include "tools/serve/server.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr double first_image_must_be_ms = 5;  // later at most
constexpr double at_once_must_be = 1.05;      // times as long as one alone

struct FleetOptions {
  std::uint64_t small_events = 20'000, events = 5'000'000, frame_events = 100'000;
  int pairs = 100, repeats = 15;
  std::string scanner = "demo_ring", output, gpus, backend = "cuda";
  int iterations = 40;
  bool json = false;
};

// Runs what has run(), request_stop() and endpoint() on a thread.
template <class Serves>
class OnThread {
 public:
  template <class Options>
  explicit OnThread(Options options) : serves_(std::move(options)), thread_([this] { serves_.run(); }) {}
  ~OnThread() { serves_.request_stop(); }
  OnThread(const OnThread&) = delete;
  OnThread& operator=(const OnThread&) = delete;
  const std::string& endpoint() const { return serves_.endpoint(); }

 private:
  Serves serves_;
  std::jthread thread_;
};

struct FleetTimes {
  double first_image_s = 0, whole_s = 0;  // from before the connection is made
};

struct FleetWork {
  std::string backend, image;
  int iterations = 1;
};
// A small image, so that what lies between client and server counts.
const FleetWork little_work{"cpu", "size: [26, 26, 8], voxel_mm: [16, 16, 18]"};

std::string fleet_pipeline(const FleetWork& work, std::uint64_t subset_events) {
  return fmt::format(R"(backend: {}
image: {{{}}}
gadgets:
  feed: {{use: zmq_source}}
  events: {{use: petsird_decoder, from: feed.bytes}}
  subsets: {{use: subset_builder, from: events, events: {}, iterations: {}, reference_s: 1}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}}, sensitivity: {{exact_pairs: 0, sampled_pairs: 20000, cache: false}}}}
  estimate: {{use: osem_update, from: projected}}
  images: {{use: zmq_image_sink, from: estimate}}
)",
                     work.backend, work.image, subset_events, work.iterations);
}

FleetTimes send_once(const std::string& endpoint, const PremadeStream& stream, const FleetWork& work = little_work) {
  const auto began = Clock::now();
  FleetTimes times;
  serve::Client client(endpoint, {}, std::chrono::minutes(1));
  serve::Listener listener;
  listener.on_image = [&](const wire::ReceivedImage&, std::string_view) {
    if (times.first_image_s == 0) times.first_image_s = seconds_since(began);
  };
  std::size_t next = 0;
  const ordered_json run_json = serve::reconstruct(
      client, {.pipeline = "bench", .yaml = fleet_pipeline(work, std::max<std::uint64_t>(stream.events / 4, 1))},
      [&]() -> std::optional<serve::NextFrame> {
        if (next == stream.frames.size()) return {};
        return serve::NextFrame{stream.frames[next++], {}};
      },
      listener);
  times.whole_s = seconds_since(began);
  if (run_json["exit_code"] != 0 || run_json["books"]["received"] != stream.events)
    throw std::runtime_error(fmt::format("a run failed: {}", run_json["errors"].dump()));
  return times;
}

// Directly and through the dispatcher in turns; who is first changes too.
struct FleetPairs {
  std::vector<double> direct, dispatched, difference, ratio;  // the last two of each pair
};
FleetPairs take_pairs(const std::string& direct, const std::string& dispatched, const PremadeStream& stream, int pairs,
                      double FleetTimes::*time) {
  FleetPairs all;
  for (int k = -1; k < pairs; ++k) {
    double seconds[2] = {};
    for (const int way : {k % 2 == 0 ? 0 : 1, k % 2 == 0 ? 1 : 0})
      seconds[way] = send_once(way == 0 ? direct : dispatched, stream).*time;
    if (k < 0) continue;  // warms up
    all.direct.push_back(seconds[0]);
    all.dispatched.push_back(seconds[1]);
    all.difference.push_back(seconds[1] - seconds[0]);
    all.ratio.push_back(seconds[1] / seconds[0]);
  }
  return all;
}

// As many scans at once, one on each GPU, and the time until all are done.
double send_at_once(const std::string& endpoint, const PremadeStream& stream, const FleetWork& work,
                    std::size_t scans) {
  const auto began = Clock::now();
  std::vector<std::future<FleetTimes>> each;
  for (std::size_t k = 0; k < scans; ++k)
    each.push_back(std::async(std::launch::async, [&] { return send_once(endpoint, stream, work); }));
  for (auto& scan : each) scan.get();
  return seconds_since(began);
}

void bench_gpu_fleet(const FleetOptions& options) {
  set_log_level("error");
  const PrivateTemporaryFolder folder;
  const std::vector<int> gpus =
      from_input([&] { return serve::read_gpus(options.gpus, options.backend == "cpu" ? 64 : cuda_devices()); });
  const PremadeStream stream = from_input([&] {
    return premade_stream({options.scanner, wire::Schema::petsird, options.events, options.frame_events});
  });
  const std::string program = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tofstream").string();
  serve::GpuServers servers({.program = program,
                             .arguments = {"--out", (folder.path() / "served").string(), "--at-once", "1"},
                             .gpus = gpus});
  serve::DispatcherOptions dispatcher_options;
  dispatcher_options.endpoint = "tcp://127.0.0.1:*";
  dispatcher_options.servers = servers.addresses();
  dispatcher_options.start_patience = std::chrono::minutes(2);
  dispatcher_options.while_waiting = [&] { servers.throw_if_ended(); };
  const OnThread<serve::Dispatcher> dispatcher(std::move(dispatcher_options));
  servers.all_have_begun();
  const FleetWork work{options.backend, "size: [100, 100, 36], voxel_mm: [4, 4, 4]", options.iterations};
  std::vector<double> alone, at_once, ratio;
  for (int k = -1; k < options.repeats; ++k) {
    if (k < 0) {  // warms up each
      send_at_once(dispatcher.endpoint(), stream, work, gpus.size());
      continue;
    }
    alone.push_back(send_at_once(dispatcher.endpoint(), stream, work, 1));
    at_once.push_back(send_at_once(dispatcher.endpoint(), stream, work, gpus.size()));
    ratio.push_back(at_once.back() / alone.back());
  }
  const double times = median(ratio);
  const ordered_json report{{"bench", "fleet"},
                            {"machine", machine()},
                            {"scanner", options.scanner},
                            {"backend", options.backend},
                            {"results",
                             {{{"name", "a scan on each GPU"},
                               {"gpus", gpus.size()},
                               {"events", options.events},
                               {"iterations", options.iterations},
                               {"pairs", options.repeats},
                               {"alone_s", median(alone)},
                               {"at_once_s", median(at_once)},
                               {"ratio", times},
                               {"ratio_must_be", at_once_must_be},
                               {"holds", times <= at_once_must_be}}}}};
  if (!options.json)
    fmt::print("a scan alone {:.3f} s, one on each of {} GPUs at once {:.3f} s: {:.3f} times (at most {:g})\n",
               median(alone), gpus.size(), median(at_once), times, at_once_must_be);
  write_report(report, options.json, options.output);
  end_by_verdict(report["results"], {"name"});
}

void bench_fleet(const FleetOptions& options) {
  if (!options.gpus.empty()) return bench_gpu_fleet(options);
  set_log_level("error");
  const PrivateTemporaryFolder folder;
  const auto stream_of = [&](std::uint64_t events) {
    return from_input([&] {
      return premade_stream({options.scanner, wire::Schema::petsird, events, options.frame_events});
    });
  };
  const PremadeStream small = stream_of(options.small_events), large = stream_of(options.events);
  serve::ServerOptions server_options;
  server_options.endpoint = "tcp://127.0.0.1:*";
  server_options.out = folder.path() / "served";
  const OnThread<serve::Server> server(server_options);
  serve::DispatcherOptions dispatcher_options;
  dispatcher_options.endpoint = "tcp://127.0.0.1:*";
  dispatcher_options.servers = {{.endpoint = server.endpoint()}};
  const OnThread<serve::Dispatcher> dispatcher(std::move(dispatcher_options));

  const FleetPairs first =
      take_pairs(server.endpoint(), dispatcher.endpoint(), small, options.pairs, &FleetTimes::first_image_s);
  const FleetPairs whole =
      take_pairs(server.endpoint(), dispatcher.endpoint(), large, options.repeats, &FleetTimes::whole_s);
  const double later_ms = 1e3 * median(first.difference);
  const double direct_s = median(whole.direct), dispatched_s = median(whole.dispatched);
  const ordered_json report{{"bench", "fleet"},
                            {"machine", machine()},
                            {"scanner", options.scanner},
                            {"transport", "tcp"},
                            {"results",
                             {{{"name", "first image"},
                               {"events", options.small_events},
                               {"pairs", options.pairs},
                               {"direct_ms", 1e3 * median(first.direct)},
                               {"dispatched_ms", 1e3 * median(first.dispatched)},
                               {"later_ms", later_ms},
                               {"later_ms_must_be", first_image_must_be_ms},
                               {"holds", later_ms <= first_image_must_be_ms}},
                              {{"name", "whole scan"},
                               {"events", options.events},
                               {"bytes", large.bytes},
                               {"pairs", options.repeats},
                               {"direct_s", direct_s},
                               {"dispatched_s", dispatched_s},
                               {"ratio", median(whole.ratio)}}}}};
  if (!options.json)
    fmt::print(
        "first image: {:.2f} ms directly, {:.2f} ms dispatched, {:.2f} ms later (at most {:g})\n"
        "whole scan: {:.3f} s directly, {:.3f} s dispatched, ratio {:.3f}\n",
        1e3 * median(first.direct), 1e3 * median(first.dispatched), later_ms, first_image_must_be_ms, direct_s,
        dispatched_s, median(whole.ratio));
  write_report(report, options.json, options.output);
  end_by_verdict(report["results"], {"name"});
}

std::function<void()> declare_fleet(Command& line) {
  auto options = std::make_shared<FleetOptions>();
  line.add_option("--small-events", options->small_events, "Events of the scans whose first image is awaited")
      .within(1000, 100000000);
  line.add_option("--pairs", options->pairs, "How many of them go each way").within(1, 10000).shows_default();
  line.add_option("--events", options->events, "Events of the scans that are timed as a whole (default: 5000000)")
      .within(1000, 2000000000);
  line.add_option("--repeats", options->repeats, "How many of those go each way").within(1, 1000).shows_default();
  line.add_option("--frame-events", options->frame_events, "Events a frame (default: 100000)").within(1, 1000000);
  line.add_option("--scanner", options->scanner, "A scanner of share/scanners, or a YAML file (default: demo_ring)");
  line.add_option("--gpus", options->gpus,
                  "In place of all that: a scan on each of these GPUs at once, beside one alone: all, or 0,1");
  line.add_option("--iterations", options->iterations, "With --gpus, of each scan").within(1, 10000).shows_default();
  line.add_option("--backend", options->backend, "With --gpus: cpu has each process compute on the CPU, as a trial")
      .one_of({"cuda", "cpu"})
      .shows_default();
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      "Example: tofstream-bench fleet -o fleet.json; tofstream-bench fleet --gpus all --events 20000000 -o "
      "fleet_gpus.json");
  return [options] { bench_fleet(*options); };
}

TOFSTREAM_BENCH("fleet", "What a dispatcher between clients and a server costs", declare_fleet);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
