// `tofstream-bench ingest`: how fast zmq_source takes a live stream in, decoding included: zmq_source to null_sink,
// with a sender in the same process that sends frames made beforehand.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/private_folder.hpp"
#include "core/run/engine.hpp"
#include "gadgets/wire/frame_sender.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/premade_stream.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct IngestOptions {
  std::uint64_t events = 50'000'000, frame_events = 100'000;
  std::string scanner = "demo_ring", endpoint, folder, output;
  std::vector<std::string> payloads = {"records", "petsird"};
  int repeats = 3;
  bool json = false;
};

std::string pipeline_of(bool petsird, const std::string& endpoint, const std::string& journal) {
  const std::string kept = journal.empty() ? "" : ", journal: " + journal;
  return fmt::format("gadgets:\n  feed: {{use: zmq_source, endpoint: \"{}\"{}}}\n", endpoint, kept) +
         (petsird ? "  events: {use: petsird_decoder, from: feed.bytes}\n  sink: {use: null_sink, from: events}\n"
                  : "  sink: {use: null_sink, from: feed.events}\n");
}

RunReport ingest(const PremadeStream& stream, const std::string& yaml, const std::string& endpoint) {
  Engine engine(parse_pipeline(yaml, "bench"));
  std::jthread sender([&](const std::stop_token& stop) {
    FrameSender to({.endpoint = endpoint}, stop);
    for (const auto& frame : stream.frames)
      if (!to.send_in_place(frame)) return;
  });
  RunReport report = engine.run();
  if (report.exit_code != exit_ok) throw std::runtime_error(report.errors.front().text());
  if (report.gadgets.back().events_in != stream.events) throw std::runtime_error("events were lost on their way");
  return report;
}

std::int64_t figure(const RunReport& report, const char* key) {
  return std::get<std::int64_t>(report.gadgets.front().figures.at(key));
}

ordered_json measure(const IngestOptions& options, const PremadeStream& stream, const std::string& payload,
                     bool journalled) {
  std::vector<double> seconds;
  ordered_json result{{"payload", payload}, {"journal", journalled}, {"bytes", stream.bytes}};
  for (int k = 0; k < options.repeats; ++k) {
    const PrivateTemporaryFolder folder(options.folder);  // for the socket and the journal
    const std::string endpoint =
        options.endpoint.empty() ? "ipc://" + (folder.path() / "socket").string() : options.endpoint;
    const std::string journal = journalled ? (folder.path() / "journal").string() : "";
    const RunReport report = ingest(stream, pipeline_of(payload == "petsird", endpoint, journal), endpoint);
    seconds.push_back(report.seconds);
    result["spilled_bytes"] = figure(report, "spilled_bytes");
    result["most_waiting_bytes"] = figure(report, "most_waiting_bytes");
  }
  const double middle = median(seconds);
  result["seconds"] = middle;
  result["events_per_s"] = static_cast<double>(stream.events) / middle;
  result["bytes_per_s"] = static_cast<double>(stream.bytes) / middle;
  return result;
}

void bench_ingest(const IngestOptions& options) {
  ordered_json report{{"bench", "ingest"},
                      {"machine", machine()},
                      {"scanner", options.scanner},
                      {"events", options.events},
                      {"frame_events", options.frame_events},
                      {"repeats", options.repeats},
                      {"transport", options.endpoint.empty() ? "ipc" : options.endpoint}};
  report["results"] = ordered_json::array();
  if (!options.json)
    fmt::print("{:<10} {:<8} {:>10} {:>14} {:>14} {:>14}\n", "payload", "journal", "seconds", "events/s", "bytes/s",
               "spilled bytes");
  for (const std::string& payload : options.payloads) {
    const wire::Schema schema = payload == "petsird" ? wire::Schema::petsird : wire::Schema::tof_coincidences;
    const PremadeStream stream = from_input([&] {
      return premade_stream({options.scanner, schema, options.events, options.frame_events});
    });
    for (const bool journalled : {false, true}) {
      const ordered_json result = measure(options, stream, payload, journalled);
      report["results"].push_back(result);
      if (!options.json)
        fmt::print("{:<10} {:<8} {:>10.3f} {:>14.4g} {:>14.4g} {:>14}\n", payload, journalled,
                   result["seconds"].get<double>(), result["events_per_s"].get<double>(),
                   result["bytes_per_s"].get<double>(), result["spilled_bytes"].get<std::int64_t>());
    }
  }
  write_report(report, options.json, options.output);
}

std::function<void()> declare_ingest(Command& line) {
  auto options = std::make_shared<IngestOptions>();
  line.add_option("--events", options->events, "Events of each run, held in memory (default: 50000000)")
      .within(1000, 2000000000);
  line.add_option("--frame-events", options->frame_events, "Events a frame (default: 100000)").within(1, 1000000);
  line.add_option("--scanner", options->scanner, "A scanner of share/scanners, or a YAML file (default: demo_ring)");
  line.add_option("--payload", options->payloads, "records, petsird (default: both)").one_of({"records", "petsird"});
  line.add_option("--endpoint", options->endpoint, "tcp://127.0.0.1:PORT (default: a socket in a folder)");
  line.add_option("--folder", options->folder, "Where the journal goes (default: the system's temporary folder)");
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts").within(1, 1000);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer("Example: tofstream-bench ingest --events 50000000 --payload records -o ingest.json");
  return [options] { bench_ingest(*options); };
}

TOFSTREAM_BENCH("ingest", "Events a second that a live source takes in and decodes", declare_ingest);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
