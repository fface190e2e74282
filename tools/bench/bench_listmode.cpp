// `tofstream-bench listmode`: what list-mode ToF EM must reach on an NVIDIA H200. Each line has the measured figure,
// its bound and whether it holds; the result is also checked against the double-precision reference in the same run,
// and the line is judged by both.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "kernels/memory/memory.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/listmode_timing.hpp"
#include "tools/bench/machine.hpp"
#include "tools/bench/peer.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct ListmodeOptions {
  double events_scale = 1;
  int repeats = 21;
  std::vector<std::string> only, peers;
  std::string backend = "cuda", output;
  bool json = false;
  double wrong = 0;
};

enum class Kind {
  pass,           // ms an EM step of planned events
  first_pass,     // ms an EM step with its plan
  linear,         // % by which passes of up to a hundred times as many events depart from a straight line
  deterministic,  // time over an ordinary pass's; its sums must be the same bit for bit
  peer_pass,      // a peer's time over ours
  peer_first,     // the same, our plan included
  adjoint,        // |<A x, y> - <x, A^T y>| / <A x, y>
  forward,        // ms a forward projection of planned events
  back,           // the same of a back projection
};

struct Requirement {
  const char* name;
  Kind kind;
  ListmodeCase measured;
  double bound;
  const char* peer = "";
};

// Ordered by workload, so that its events are drawn once. The bounds of wide ToF bins and of narrow tubes are the times
// of an H200 (share/benchmarks/listmode.json) plus 9 to 16 %: no other bound is known, so these lines only tell whether
// a pass has become slower.
const std::vector<Requirement>& requirements() {
  const auto joseph = [](const char* workload, std::int64_t events) {
    return ListmodeCase{"joseph", 0, workload, events};
  };
  const auto tor = [](double tube, const char* workload, std::int64_t events, double bin_sigma = 0) {
    return ListmodeCase{"tor", tube, workload, events, bin_sigma};
  };
  // Sigma: the ToF bins of share/scanners/biograph_vision.yaml. Their response is 7.58 sigma long, a narrow bin's 6.
  constexpr double wide = 1.58;
  constexpr double narrow = 1.42;  // voxels: the default tube of crystals as wide as a voxel, or narrower
  constexpr std::int64_t million = 1'000'000;
  constexpr const char *parallelproj = "libparallelproj", *yrt_pet = "yrt-pet";
  static const std::vector<Requirement> all = {
      {"joseph_w1", Kind::pass, joseph("W1", million), 0.30},
      {"joseph_w1_first", Kind::first_pass, joseph("W1", million), 0.45},
      {"joseph_w1_peer", Kind::peer_pass, joseph("W1", million), 7, parallelproj},
      {"joseph_w1_first_peer", Kind::peer_first, joseph("W1", million), 5, parallelproj},
      {"joseph_w1_yrt", Kind::peer_pass, joseph("W1", million), 4, yrt_pet},
      {"joseph_w1_deterministic", Kind::deterministic, joseph("W1", million), 1.3},
      {"joseph_w1_adjoint", Kind::adjoint, joseph("W1", million), 1e-5},
      {"joseph_w1_forward", Kind::forward, joseph("W1", million), 0.14},
      {"joseph_w1_back", Kind::back, joseph("W1", million), 0.14},
      {"tor3_w1", Kind::pass, tor(3, "W1", million), 0.8},
      {"tor_narrow_w1", Kind::pass, tor(narrow, "W1", million), 1.0},
      {"tor15_w1", Kind::pass, tor(15, "W1", million), 25},
      {"tor3_w1_bins", Kind::pass, tor(3, "W1", million, wide), 1.05},
      {"tor15_w1_bins", Kind::pass, tor(15, "W1", million, wide), 29},
      {"tor3_w1_deterministic", Kind::deterministic, tor(3, "W1", million), 1.3},
      {"tor3_w1_adjoint", Kind::adjoint, tor(3, "W1", million), 1e-5},
      {"tor3_w1_forward", Kind::forward, tor(3, "W1", million), 0.36},
      {"tor3_w1_back", Kind::back, tor(3, "W1", million), 0.36},
      {"joseph_w1_linear", Kind::linear, joseph("W1", 100 * million), 5},
      {"tor3_w1_linear", Kind::linear, tor(3, "W1", 100 * million), 5},
      {"joseph_w2_256", Kind::pass, joseph("W2-256", million), 1.2},
      {"joseph_w3", Kind::pass, joseph("W3", 10 * million), 3.0},
      {"joseph_w3_first", Kind::first_pass, joseph("W3", 10 * million), 4.5},
      {"joseph_w3_peer", Kind::peer_pass, joseph("W3", 10 * million), 6, parallelproj},
      {"joseph_w3_first_peer", Kind::peer_first, joseph("W3", 10 * million), 4.5, parallelproj},
      {"joseph_w3_yrt", Kind::peer_pass, joseph("W3", 10 * million), 4, yrt_pet},
      {"joseph_w3_deterministic", Kind::deterministic, joseph("W3", 10 * million), 1.3},
      {"tor3_w3", Kind::pass, tor(3, "W3", 10 * million), 8},
      {"tor_narrow_w3", Kind::pass, tor(narrow, "W3", 10 * million), 9},
      {"tor3_w3_bins", Kind::pass, tor(3, "W3", 10 * million, wide), 11.5},
      {"tor3_w3_deterministic", Kind::deterministic, tor(3, "W3", 10 * million), 1.3},
  };
  return all;
}

bool of_peer(Kind kind) {
  return kind == Kind::peer_pass || kind == Kind::peer_first;
}

std::string unit(Kind kind) {
  switch (kind) {
    case Kind::pass:
    case Kind::first_pass:
    case Kind::forward:
    case Kind::back:
      return "ms";
    case Kind::linear:
      return "%";
    case Kind::adjoint:
      return "";
    default:
      return "x";
  }
}

using Peers = std::vector<std::unique_ptr<Peer>>;

struct Result {
  double measured = 0;
  bool sound = true;  // what else must hold for any number of events: the same sums, a peer whose parts agree
  ordered_json parts = ordered_json::object();
};

// The largest departure of a pass from the straight line that fits all best, as a share of that pass; also the cost of
// an event at each number of events, and the line's time for none.
Result measure_linear(ListmodeTiming& timing, const ListmodeCase& c) {
  Result result;
  std::vector<double> events, ms;
  for (const double share : {0.01, 0.03, 0.1, 0.3, 1.0}) {
    ListmodeCase part = c;
    part.events = std::llround(static_cast<double>(c.events) * share);
    events.push_back(static_cast<double>(part.events));
    ms.push_back(timing.pass_ms(part));
    result.parts[fmt::format("ns_per_event_of_{}", part.events)] = ms.back() * 1e6 / events.back();
  }
  // Least squares of (none + slope * events) / ms - 1.
  double a = 0, ab = 0, b = 0, a_sum = 0, b_sum = 0;
  for (std::size_t k = 0; k < ms.size(); ++k) {
    const double of_none = 1 / ms[k], of_slope = events[k] / ms[k];
    a += of_none * of_none;
    ab += of_none * of_slope;
    b += of_slope * of_slope;
    a_sum += of_none;
    b_sum += of_slope;
  }
  const double determinant = a * b - ab * ab;
  const double none = (a_sum * b - b_sum * ab) / determinant, slope = (b_sum * a - a_sum * ab) / determinant;
  for (std::size_t k = 0; k < ms.size(); ++k)
    result.measured = std::max(result.measured, 100 * std::abs((none + slope * events[k]) / ms[k] - 1));
  result.parts["line_without_events_ms"] = none;
  result.parts["line_ns_per_event"] = slope * 1e6;
  return result;
}

Result measure_peer(ListmodeTiming& timing, const Requirement& r, const ListmodeCase& c, Peer& peer) {
  using Order = ListmodeTiming::Order;
  const ListmodeTiming::PeerTimes times = timing.peer(c, peer, Order::random);
  const bool first = r.kind == Kind::peer_first;
  const double ms = first ? timing.first_pass_ms(c) : timing.pass_ms(c);
  Result result{
      times.ms() / ms,
      times.inconsistency < 1e-3,
      {{"ms", ms}, {"peer_ms", times.ms()}, {"peer_forward_ms", times.forward_ms}, {"peer_back_ms", times.back_ms}}};
  if (times.em_step_ms) result.parts["peer_em_step_ms"] = *times.em_step_ms;
  if (!first) {
    result.parts["sorted_ms"] = timing.pass_ms(c, Order::sorted);
    result.parts["peer_sorted_ms"] = timing.peer(c, peer, Order::sorted).ms();
  }
  result.parts["forward_relative_rms_to_peer"] = times.deviation;
  result.parts["peer_inconsistency"] = times.inconsistency;
  result.parts["peer"] = peer.name() + " " + peer.version();
  return result;
}

Result measure(ListmodeTiming& timing, const Requirement& r, const ListmodeCase& c, Peer* peer) {
  switch (r.kind) {
    case Kind::pass:
      return {timing.pass_ms(c), true, {{"sorted_ms", timing.pass_ms(c, ListmodeTiming::Order::sorted)}}};
    case Kind::first_pass:
      return {timing.first_pass_ms(c), true, {{"plan_ms", timing.plan_ms(c)}}};
    case Kind::linear:
      return measure_linear(timing, c);
    case Kind::deterministic: {
      const double ms = timing.pass_ms(c), deterministic = timing.pass_ms(c, ListmodeTiming::Order::random, true);
      const bool same = timing.identical(c, 5);
      return {deterministic / ms,
              same,
              {{"ms", ms}, {"deterministic_ms", deterministic}, {"five_runs", same ? "identical" : "differ"}}};
    }
    case Kind::adjoint: {
      const double direct = timing.adjointness(c, CudaPath::direct), tiles = timing.adjointness(c, CudaPath::tiled);
      return {std::max(direct, tiles), true, {{"direct", direct}, {"tiles", tiles}}};
    }
    case Kind::forward:
      return {timing.forward_ms(c), true, {{"without_plan_ms", timing.forward_ms(c, ListmodeTiming::Plan::none)}}};
    case Kind::back:
      return {timing.back_ms(c),
              true,
              {{"without_plan_ms", timing.back_ms(c, 0.5f, ListmodeTiming::Plan::none)},
               {"of_either_sign_ms", timing.back_ms(c, -1.5f)}}};
    default:
      return measure_peer(timing, r, c, *peer);
  }
}

ListmodeTiming::Agreement agreement_of(ListmodeTiming& timing, Kind kind, const ListmodeCase& c) {
  if (kind == Kind::forward) return timing.forward_agreement(c);
  if (kind == Kind::back) return timing.back_agreement(c);
  return timing.agreement(c, kind == Kind::deterministic);
}

Peer* peer_of(const Requirement& r, const Peers& peers) {
  const auto found = std::ranges::find(peers, r.peer, [](const auto& peer) { return peer->name(); });
  return found == peers.end() ? nullptr : found->get();
}

ordered_json row_of(ListmodeTiming& timing, const Requirement& r, const ListmodeOptions& options, const Peers& peers) {
  ListmodeCase c = r.measured;
  c.events = std::max<std::int64_t>(std::llround(options.events_scale * static_cast<double>(c.events)), 1000);
  ordered_json row{{"name", r.name}, {"workload", c.workload}, {"projector", c.projector}};
  if (c.tube_width_voxels > 0) row["tube_width_voxels"] = c.tube_width_voxels;
  if (c.bin_sigma > 0) row["tof_bin_sigma"] = c.bin_sigma;
  row.update({{"events", c.events},
              {"unit", unit(r.kind)},
              {"bound", r.bound},
              {"bound_is", of_peer(r.kind) ? "least" : "most"},
              {"measured", nullptr},
              {"holds", nullptr}});
  Peer* const peer = peer_of(r, peers);
  if (of_peer(r.kind) && !peer) {
    row["not_measured"] = fmt::format("needs --peer with {}", r.peer);
    return row;
  }
  try {
    const Result result = measure(timing, r, c, peer);
    const ListmodeTiming::Agreement agreement = agreement_of(timing, r.kind, c);
    row["measured"] = result.measured;
    row["nrms_to_reference"] = agreement.nrms;
    row["checked_events"] = agreement.events;
    row["accurate"] = is_accurate(agreement.nrms) && result.sound;
    // With fewer or more events times are not judged; adjoints must agree for any number.
    const bool within = of_peer(r.kind) ? result.measured >= r.bound : result.measured <= r.bound;
    if (r.kind == Kind::adjoint) row["accurate"] = row["accurate"].get<bool>() && within;
    if (options.events_scale == 1) row["holds"] = row["accurate"].get<bool>() && within;
    row["parts"] = result.parts;
  } catch (const OutOfMemory& error) {
    row["not_measured"] = error.what();
  }
  return row;
}

std::string number(const ordered_json& value) {
  return value.is_number() ? fmt::format("{:.3g}", value.get<double>()) : value.get<std::string>();
}

std::string verdict(const ordered_json& row) {
  if (row.contains("accurate") && !row["accurate"].get<bool>()) return "WRONG";
  if (row["holds"].is_null()) return "-";
  return row["holds"].get<bool>() ? "ok" : "NOT";
}

void print_listmode(const ordered_json& row) {
  std::string more = row.value("not_measured", "");
  if (row.contains("parts"))
    for (const auto& [key, value] : row["parts"].items())
      more += fmt::format("{}{} {}", more.empty() ? "" : ", ", key, number(value));
  const auto measured = row["measured"].is_null() ? "" : number(row["measured"]);
  fmt::print("{:<24} {:>10} {:>2} {:>10} {:<2} {:<7} {:>8}  {}\n", row["name"].get<std::string>(), measured,
             row["bound_is"] == "least" ? ">=" : "<=", number(row["bound"]), row["unit"].get<std::string>(),
             verdict(row), row.contains("nrms_to_reference") ? number(row["nrms_to_reference"]) : "", more);
  std::fflush(stdout);  // lines appear as they are measured
}

Peers open_peers(const ListmodeOptions& options, Backend backend) {
  Peers peers;
  std::set<std::string> wanted;
  for (const Requirement& r : requirements())
    if (of_peer(r.kind)) wanted.insert(r.peer);
  for (const std::string& library : options.peers) {
    peers.push_back(open_peer(library, backend));
    if (wanted.contains(peers.back()->name())) continue;
    throw std::runtime_error(fmt::format("cannot use {} as a peer: no line is about {}, only about {}", library,
                                         peers.back()->name(), fmt::join(wanted, " and ")));
  }
  return peers;
}

void bench_listmode(const ListmodeOptions& options) {
  const Backend backend = options.backend == "cuda" ? Backend::cuda : Backend::cpu;
  ordered_json report{{"bench", "listmode"},
                      {"machine", machine()},
                      {"backend", options.backend},
                      {"repeats", options.repeats},
                      {"events_scale", options.events_scale},
                      {"nrms_must_be_at_most", nrms_bound}};
  if (const std::string reason = why_no_cuda(); backend == Backend::cuda && !reason.empty()) {
    if (!options.json) fmt::print("skipped: {}\n", reason);
    report["skipped"] = reason;
    write_report(report, options.json, options.output);
    return;
  }
  const Peers peers = open_peers(options, backend);  // a wrong file is an error before anything is measured
  if (!options.json)
    fmt::print("{:<24} {:>10} {:>13} {:<2} {:<7} {:>8}  {}\n", "", "measured", "bound", "", "holds", "nrms",
               "(bounds are of an NVIDIA H200 and all events; nrms to the double-precision reference)");
  ordered_json rows = ordered_json::array();
  ListmodeTiming timing(backend, options.repeats, options.wrong);
  for (const Requirement& r : requirements()) {
    if (!options.only.empty() && std::ranges::find(options.only, r.name) == options.only.end()) continue;
    rows.push_back(row_of(timing, r, options, peers));
    if (!options.json) print_listmode(rows.back());
  }
  report["requirements"] = rows;
  write_report(report, options.json, options.output);
  end_by_verdict(rows, {"name"});
}

std::function<void()> declare_listmode(Command& line) {
  auto options = std::make_shared<ListmodeOptions>();
  std::vector<std::string> names;
  for (const Requirement& r : requirements()) names.emplace_back(r.name);
  line.add_option("--only", options->only, "Only these lines (default: all)").one_of(names);
  line.add_option("--backend", options->backend, "cuda, or cpu for a look at the same lines (default: cuda)")
      .one_of({"cpu", "cuda"});
  line.add_option("--events-scale", options->events_scale, "Times as many events, 0.01 for a quick look (default: 1)")
      .within(1e-4, 10.0);
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts (default: 21)")
      .within(1, 1000);
  line.add_option("--peer", options->peers,
                  "Shared libraries to beat, of the backend's build: libparallelproj, or such as peer.h describes");
  add_wrong_option(line, options->wrong);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer(
      "Example: tofstream-bench listmode --peer libparallelproj.so libyrt_pet_peer.so -o listmode.json\n"
      "Exit code 1 where a bound does not hold, or a result is not the reference's.");
  return [options] { bench_listmode(*options); };
}

TOFSTREAM_BENCH("listmode", "What list-mode ToF EM must reach on an H200, and whether it does", declare_listmode);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
