// `tofstream-bench jpet`: an iteration of list-mode MLEM of two strips, with all forms of the kernel and all ways of
// distributing events, and each image after ten iterations against the double-precision reference; beside it the
// original program, if the user has it.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "kernels/math/instruction_set.hpp"
#include "kernels/memory/memory.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/strip_peer.hpp"
#include "tools/bench/strip_timing.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct JpetOptions {
  std::int64_t events = 10'000'000, checked = 2000;
  int repeats = 21;
  float pixel_mm = 4;
  std::vector<std::string> forms = {"gaussian", "eq7", "full"};
  std::vector<std::string> paths = {"automatic", "warp_per_event", "thread_per_event"};
  std::string backend = "cuda", instructions, peer, output;
  bool json = false;
  double wrong = 0;
};

const std::map<std::string, StripForm> forms = {
    {"gaussian", StripForm::gaussian}, {"eq7", StripForm::eq7}, {"full", StripForm::full}};
const std::map<std::string, StripCudaPath> paths = {{"automatic", StripCudaPath::automatic},
                                                    {"warp_per_event", StripCudaPath::warp_per_event},
                                                    {"thread_per_event", StripCudaPath::thread_per_event}};

/// Bounds in ms of an iteration of 1e7 events with pixels of 4 mm: on an NVIDIA H200 by the automatic path, and on two
/// cores. With smaller pixels they grow in proportion to the number of pixels.
const std::map<std::string, double> cuda_bounds = {{"gaussian", 5}, {"eq7", 7}, {"full", 8}};
constexpr double cpu_bound = 3000, peer_bound = 5;
constexpr std::int64_t bounded_events = 10'000'000;

void print_jpet(const ordered_json& row) {
  const auto number = [&](const char* key, const char* format) {
    return row[key].is_null() ? "" : fmt::format(fmt::runtime(format), row[key].get<double>());
  };
  fmt::print("{:<10} {:<18} {:>10} {:>10} {:>9} {:>9}  {}\n", row["form"].get<std::string>(),
             row["by"].get<std::string>(), number("ms", "{:.3f}"), number("bound_ms", "<= {:.0f}"),
             number("M_events_per_s", "{:.0f}"), number("nrms_to_reference", "{:.1e}"),
             !row["accurate"].get<bool>() ? "WRONG"
             : row["holds"].is_null()     ? "-"
             : row["holds"].get<bool>()   ? "ok"
                                          : "NOT");
  std::fflush(stdout);  // lines appear as they are measured
}

ordered_json measure(StripTiming& timing, const JpetOptions& options, const std::string& form,
                     const std::string& path) {
  const Backend backend = options.backend == "cuda" ? Backend::cuda : Backend::cpu;
  const StripSettings settings{.form = forms.at(form), .cuda_path = paths.at(path)};
  const double ms = timing.iteration_ms(settings, backend), nrms = timing.nrms(settings, backend);
  ordered_json row{{"form", form},
                   {"by", backend == Backend::cuda ? path : "cpu"},
                   {"ms", ms},
                   {"bound_ms", nullptr},
                   {"M_events_per_s", static_cast<double>(options.events) / ms / 1e3},
                   {"nrms_to_reference", nrms},
                   {"accurate", is_accurate(nrms)},
                   {"holds", nullptr}};
  const double more_pixels = 16 / std::pow(static_cast<double>(options.pixel_mm), 2);
  if (backend == Backend::cpu) row["bound_ms"] = cpu_bound * more_pixels;
  if (backend == Backend::cuda && path == "automatic") row["bound_ms"] = cuda_bounds.at(form) * more_pixels;
  // The time of fewer events is not judged.
  if (row["bound_ms"].is_number() && options.events == bounded_events)
    row["holds"] = is_accurate(nrms) && ms <= row["bound_ms"].get<double>();
  return row;
}

/// How many times faster `automatic` is than a warp an event, in each form that was measured both ways.
ordered_json times_faster(const ordered_json& rows) {
  std::map<std::string, std::map<std::string, double>> ms;
  for (const auto& row : rows) ms[row["form"]][row["by"]] = row["ms"];
  ordered_json times;
  for (const auto& [form, by] : ms)
    if (by.contains("automatic") && by.contains("warp_per_event"))
      times[form] = by.at("warp_per_event") / by.at("automatic");
  return times;
}

ordered_json measure_peer(StripTiming& timing, StripPeer& peer) {
  const double ours = timing.iteration_ms({.form = StripForm::eq7}, Backend::cuda);
  const StripTiming::PeerTimes times = timing.peer(peer);
  ordered_json row{{"peer", peer.name()},
                   {"form", "eq7"},
                   {"ms", ours},
                   {"peer_default_ms", times.default_ms},
                   {"peer_best_ms", times.best_ms},
                   {"peer_best_blocks", times.best_blocks},
                   {"peer_best_threads", times.best_threads},
                   {"times_faster_than_its_default", times.default_ms / ours},
                   {"times_faster_than_its_best", times.best_ms / ours},
                   {"bound_times_faster", peer_bound},
                   {"holds", times.best_ms / ours >= peer_bound},
                   {"first_estimate_relative_rms", times.deviation}};
  return row;
}

void bench_jpet(const JpetOptions& options) {
  const bool cuda = options.backend == "cuda";
  if (!cuda && !options.peer.empty())
    throw InputError("--peer: the original is measured on a GPU: give --backend cuda");
  if (options.pixel_mm != 4 && !options.peer.empty())
    throw InputError("--peer: the original is compared at the paper's pixels: leave --pixel-mm at 4");
  if (!options.instructions.empty()) from_input([&] { limit_instruction_set(options.instructions); });
  std::optional<StripPeer> peer;
  if (!options.peer.empty()) peer.emplace(options.peer);
  if (cuda) require_cuda();
  if (!options.json)
    fmt::print("{:<10} {:<18} {:>10} {:>10} {:>9} {:>9}\n", "form", "by", "ms", "must be", "M ev/s", "nrms");
  const Grid grid = strip_grid(options.pixel_mm);
  StripTiming timing(grid, options.events, options.checked, options.repeats, options.wrong);
  ordered_json rows = ordered_json::array();
  for (const std::string& form : options.forms)
    for (const std::string& path : cuda ? options.paths : std::vector<std::string>{"automatic"}) {
      rows.push_back(measure(timing, options, form, path));
      if (!options.json) print_jpet(rows.back());
    }
  ordered_json report{
      {"bench", "jpet"},
      {"machine", machine()},
      {"events", options.events},
      {"checked_events", options.checked},
      {"nrms_must_be_at_most", nrms_bound},
      {"workload", fmt::format("two strips of 300 mm, 260 mm apart, sigma 10 mm of z and 40 mm of dl; phantom of "
                               "Bialas et al. 2015, appendix A; {}x{} pixels of {:g} mm; events in random order",
                               grid.size[1], grid.size[2], options.pixel_mm)},
      {"results", rows}};
  if (cuda) {
    report["why_slow"] = why_strips_are_slow(grid, {});
    report["times_faster_than_warp_per_event"] = times_faster(rows);
    if (!options.json)
      fmt::print("automatic, times warp_per_event: {}\n", report["times_faster_than_warp_per_event"].dump());
  } else {
    report["instructions"] = instruction_sets().front();
  }
  if (peer) {
    report["peer"] = measure_peer(timing, *peer);
    if (!options.json)
      for (const auto& [key, value] : report["peer"].items()) fmt::print("{}: {}\n", key, value.dump());
  }
  write_report(report, options.json, options.output);
  if (peer) rows.push_back(report["peer"]);
  end_by_verdict(rows, {"peer", "form", "by"});
}

std::function<void()> declare_jpet(Command& line) {
  auto options = std::make_shared<JpetOptions>();
  line.add_option("--events", options->events, "Events (default: 10000000)").within(100, 1000000000);
  line.add_option("--check-events", options->checked, "Events of the check against the reference (default: 2000)")
      .within(100, 1000000);
  line.add_option("--form", options->forms, "gaussian, eq7, full (default: all)").one_of({"gaussian", "eq7", "full"});
  line.add_option("--cuda-path", options->paths, "automatic, warp_per_event, thread_per_event (default: all)")
      .one_of({"automatic", "warp_per_event", "thread_per_event"});
  line.add_option("--backend", options->backend, "cuda or cpu (default: cuda)").one_of({"cpu", "cuda"});
  line.add_option("--pixel-mm", options->pixel_mm, "Edge of a pixel, mm (default: 4, the paper's)").within(0.5, 20.0);
  line.add_option("--instructions", options->instructions,
                  "With --backend cpu: AVX2, SSE4, ... instead of the best that the processor has");
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts (default: 21)")
      .within(1, 1000);
  line.add_option("--peer", options->peer, "A library as share/benchmarks/peers/strip_peer.h describes");
  add_wrong_option(line, options->wrong);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      "Example: tofstream-bench jpet --peer libjpet_mlem_peer.so -o jpet.json\n"
      "Exit code 1 where a bound does not hold, or a result is not the reference's.");
  return [options] { bench_jpet(*options); };
}

TOFSTREAM_BENCH("jpet", "An MLEM iteration of two strips: all forms, all paths, the original", declare_jpet);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
