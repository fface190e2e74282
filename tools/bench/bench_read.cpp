// `tofstream-bench read`: how fast files of other programs are read: castor_source or interfile_source to null_sink, of
// a file made beforehand, which the system's cache then holds.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/private_folder.hpp"
#include "core/run/engine.hpp"
#include "gadgets/io/castor/event_writer.hpp"
#include "gadgets/io/interfile/bin_writer.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/machine.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct ReadOptions {
  std::uint64_t events = 20'000'000;
  std::string scanner = "demo_ring", folder, output;
  std::vector<std::string> formats = {"castor", "interfile"};
  int repeats = 3;
  bool json = false;
};

/// Events of any two detectors, with any ToF, in batches of a second.
class AnyEvents {
 public:
  explicit AnyEvents(const std::string& scanner)
      : scanner_(petsird::to_scanner(formats::petsird_header_of(find_shared("scanners", scanner), 0).header.scanner)) {}

  EventBatch next(std::int64_t count) {
    EventBatch batch{.count = count, .scanner = scanner_, .detectors = scanner_->detectors};
    if (!scanner_->tof.empty()) batch.tof = scanner_->tof.front();
    batch.start_s = at_s_++;
    batch.duration_s = 1;
    batch.detector1 = batch.detector2 = Buffer<std::uint32_t>(Memory::host, count);
    if (batch.tof.sigma_mm > 0) batch.tof_mm = Buffer<float>(Memory::host, count);
    const auto detectors = static_cast<std::uint32_t>(scanner_->detectors->size());
    std::uniform_int_distribution<std::uint32_t> any(0, detectors - 1), other(1, detectors - 1);
    for (std::int64_t i = 0; i < count; ++i) {
      batch.detector1[i] = any(random_);
      batch.detector2[i] = (batch.detector1[i] + other(random_)) % detectors;
      if (!batch.tof_mm.empty()) batch.tof_mm[i] = any_tof(batch.tof);
    }
    return batch;
  }

 private:
  // The middle of a bin.
  float any_tof(const TofModel& tof) {
    const int bins = std::max(1, static_cast<int>(tof.window_mm / tof.bin_width_mm + 0.5f));
    std::uniform_int_distribution<int> bin(0, bins - 1);
    return (static_cast<float>(bin(random_)) - 0.5f * static_cast<float>(bins - 1)) * tof.bin_width_mm;
  }

  std::shared_ptr<const Scanner> scanner_;
  std::mt19937 random_{1};
  double at_s_ = 0;
};

template <class Write>
void write_events(const ReadOptions& options, const Write& write) {
  constexpr std::uint64_t at_a_time = 1 << 20;
  AnyEvents events(options.scanner);
  for (std::uint64_t done = 0; done < options.events; done += at_a_time)
    write(events.next(static_cast<std::int64_t>(std::min(at_a_time, options.events - done))));
}

/// A file that was made, and what is counted of it.
struct MadeFile {
  std::filesystem::path header, data;
  std::string source, unit;
  std::uint64_t units = 0;
};

MadeFile made_castor(const ReadOptions& options, const std::filesystem::path& folder) {
  castor::EventWriter writer(folder / "scan.cdh", 1);
  write_events(options, [&](const EventBatch& batch) { writer.write(batch); });
  writer.commit();
  return {folder / "scan.cdh", folder / "scan.cdf", "castor_source", "events", writer.events()};
}

MadeFile made_interfile(const ReadOptions& options, const std::filesystem::path& folder) {
  interfile::BinWriter writer(folder / "scan.hs", {});
  write_events(options, [&](const EventBatch& batch) { (void)writer.take(batch); });
  writer.commit();
  return {folder / "scan.hs", folder / "scan.s", "interfile_source", "bins",
          static_cast<std::uint64_t>(writer.header().numbers_in_file())};
}

// The gadgets are made before the time begins; everything of the data is read while it runs.
double seconds_to_read(const MadeFile& file) {
  Engine engine(
      parse_pipeline(fmt::format("gadgets:\n  feed: {{use: {}, path: '{}'}}\n  sink: {{use: null_sink, from: feed}}\n",
                                 file.source, file.header.string()),
                     "bench"));
  const RunReport report = engine.run();
  if (report.exit_code != exit_ok) throw std::runtime_error(report.errors.front().text());
  if (report.books.received == 0) throw std::runtime_error("nothing was read");
  return report.seconds;
}

ordered_json measure_reading(const ReadOptions& options, const std::string& format) {
  const PrivateTemporaryFolder folder(options.folder);
  const MadeFile file = from_input([&] {
    return format == "castor" ? made_castor(options, folder.path()) : made_interfile(options, folder.path());
  });
  std::vector<double> seconds;
  for (int k = 0; k < options.repeats; ++k) seconds.push_back(seconds_to_read(file));
  const double middle = median(seconds);
  const auto bytes = std::filesystem::file_size(file.data);
  return {{"format", format},
          {"unit", file.unit},
          {"count", file.units},
          {"bytes", bytes},
          {"seconds", middle},
          {"all_seconds", seconds},
          {"per_s", static_cast<double>(file.units) / middle},
          {"bytes_per_s", static_cast<double>(bytes) / middle}};
}

void bench_read(const ReadOptions& options) {
  ordered_json report{{"bench", "read"},
                      {"machine", machine()},
                      {"scanner", options.scanner},
                      {"events", options.events},
                      {"repeats", options.repeats}};
  report["results"] = ordered_json::array();
  if (!options.json)
    fmt::print("{:<10} {:>12} {:<7} {:>10} {:>12} {:>12}\n", "format", "count", "of", "seconds", "per s", "bytes/s");
  for (const std::string& format : options.formats) {
    const ordered_json result = measure_reading(options, format);
    report["results"].push_back(result);
    if (!options.json)
      fmt::print("{:<10} {:>12} {:<7} {:>10.3f} {:>12.4g} {:>12.4g}\n", format, result["count"].get<std::uint64_t>(),
                 result["unit"].get<std::string>(), result["seconds"].get<double>(), result["per_s"].get<double>(),
                 result["bytes_per_s"].get<double>());
  }
  write_report(report, options.json, options.output);
}

std::function<void()> declare_read(Command& line) {
  auto options = std::make_shared<ReadOptions>();
  line.add_option("--format", options->formats, "castor (list mode), interfile (a sinogram with ToF) (default: both)")
      .one_of({"castor", "interfile"});
  line.add_option("--events", options->events, "Events of the list, and counts of the sinogram (default: 20000000)")
      .within(1000, 2000000000);
  line.add_option("--scanner", options->scanner, "A scanner of share/scanners, or a YAML file (default: demo_ring)");
  line.add_option("--folder", options->folder, "Where the files go (default: the system's temporary folder)");
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts").within(1, 1000);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer("Example: tofstream-bench read --format castor --events 200000000 -o read.json");
  return [options] { bench_read(*options); };
}

TOFSTREAM_BENCH("read", "Events and bins a second that files of CASToR and Interfile are read at", declare_read);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
