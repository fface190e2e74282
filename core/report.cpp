#include "core/report.hpp"

#include <algorithm>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <oneapi/tbb/version.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "core/atomic_file.hpp"
#include "core/log.hpp"
#include "core/value_json.hpp"
#include "core/version.hpp"

namespace tofstream {
namespace {

using Json = nlohmann::ordered_json;

std::string utc(std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)),
                     milliseconds % 1000);
}

Json host_json() {
  utsname names{};
  uname(&names);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"name", names.nodename},
          {"system", fmt::format("{} {} {}", names.sysname, names.release, names.machine)},
          {"cores", std::thread::hardware_concurrency()},
          {"peak_memory_bytes", static_cast<std::uint64_t>(usage.ru_maxrss) * 1024}};
}

Json versions_json() {
  return {{"tofstream", version()}, {"compiler", __VERSION__}, {"tbb", TBB_runtime_version()}};
}

Json errors_json(const std::vector<RunError>& errors) {
  Json list = Json::array();
  for (const RunError& error : errors) {
    Json entry{{"gadget", error.gadget}, {"what", error.what}, {"where", error.where.text()}};
    if (error.message) entry["message"] = *error.message;
    list.push_back(std::move(entry));
  }
  return list;
}

Json balance_json(const BookBalance& books) {
  Json json{{"received", books.received},  {"reconstructed", books.reconstructed},
            {"written", books.written},    {"rejected", books.rejected},
            {"lost", books.lost},          {"discarded", books.discarded},
            {"balanced", books.balanced()}};
  if (!books.balanced()) json["difference"] = books.difference;
  return json;
}

Json gadget_json(const GadgetReport& gadget) {
  const BookEntries& books = gadget.books;
  Json figures = Json::object();
  for (const auto& [key, figure] : gadget.figures) figures[key] = to_json(figure);
  return {{"use", gadget.use},
          {"messages_in", gadget.messages_in},
          {"messages_out", gadget.messages_out},
          {"events_in", gadget.events_in},
          {"events_out", gadget.events_out},
          {"busy_seconds", gadget.busy_seconds},
          {"waiting_output_seconds", gadget.waiting_output_seconds},
          {"books",
           {{"received", books.received},
            {"reconstructed", books.reconstructed},
            {"written", books.written},
            {"rejected", books.rejected},
            {"lost", books.lost}}},
          {"figures", std::move(figures)}};
}

Json edge_json(const EdgeReport& edge) {
  const EdgeFigures& figures = edge.figures;
  return {{"edge", edge.name},
          {"policy", edge.limits.policy == EdgePolicy::block ? "block" : "drop_oldest"},
          {"limit_messages", edge.limits.messages},
          {"limit_bytes", edge.limits.bytes},
          {"messages", figures.messages},
          {"most_messages", figures.most_messages},
          {"most_bytes", figures.most_bytes},
          {"waiting_messages", figures.waiting_messages},
          {"waiting_bytes", figures.waiting_bytes},
          {"dropped_messages", figures.dropped_messages},
          {"dropped_events", figures.dropped_events}};
}

Json stalls_json(const std::vector<Stall>& stalls) {
  Json list = Json::array();
  for (const Stall& stall : stalls)
    list.push_back({{"at_seconds", stall.at_seconds}, {"seconds", stall.seconds}, {"state", stall.state}});
  return list;
}

Json changes_json(const std::vector<ParameterChange>& changes) {
  Json list = Json::array();
  for (const ParameterChange& change : changes)
    list.push_back({{"when", utc(change.when)},
                    {"gadget", change.gadget},
                    {"parameter", change.parameter},
                    {"value", to_json(change.value)}});
  return list;
}

std::string by_reason(const std::map<std::string, std::uint64_t>& entries) {
  std::uint64_t total = 0;
  std::vector<std::string> parts;
  for (const auto& [reason, events] : entries) {
    total += events;
    parts.push_back(fmt::format("{} {}", reason, events));
  }
  return parts.empty() ? "0" : fmt::format("{} ({})", total, fmt::join(parts, ", "));
}

}  // namespace

std::string outcome(const RunReport& report) {
  switch (report.phase) {
    case RunPhase::preparing:
      return "preparing";
    case RunPhase::running:
      return "running";
    case RunPhase::stopping:
      return "stopping";
    case RunPhase::ending:
      return "ending";
    case RunPhase::over:
      break;
  }
  if (report.aborted) return "aborted";
  if (!report.errors.empty()) return "failed";
  return report.stopped ? "stopped" : "done";
}

std::string RunError::text() const {
  std::string line = where.text();
  if (!line.empty()) line += ": ";
  if (!gadget.empty()) line += "gadget '" + gadget + "'";
  if (message) line += fmt::format(" at message {}", *message);
  if (!gadget.empty()) line += ": ";
  return line + one_line(what);
}

std::string run_json(const RunReport& report) {
  Json gadgets = Json::object();
  for (const GadgetReport& gadget : report.gadgets) gadgets[gadget.name] = gadget_json(gadget);
  Json edges = Json::array();
  for (const EdgeReport& edge : report.edges) edges.push_back(edge_json(edge));
  const Json json{{"pipeline", report.pipeline},
                  {"outcome", outcome(report)},
                  {"exit_code", report.exit_code},
                  {"stopped", report.stopped},
                  {"aborted", report.aborted},
                  {"errors", errors_json(report.errors)},
                  {"stalls", stalls_json(report.stalls)},
                  {"parameter_changes", changes_json(report.changes)},
                  {"running_at_cancel", report.running_at_cancel},
                  {"still_running", report.still_running},
                  {"started", utc(report.started)},
                  {"ended", utc(report.ended)},
                  {"seconds", report.seconds},
                  {"books", balance_json(report.books)},
                  {"latency",
                   {{"messages", report.latency.messages},
                    {"p50_seconds", report.latency.p50_seconds},
                    {"p99_seconds", report.latency.p99_seconds},
                    {"max_seconds", report.latency.max_seconds}}},
                  {"gadgets", std::move(gadgets)},
                  {"edges", std::move(edges)},
                  {"resolved", to_json(report.resolved)},
                  {"versions", versions_json()},
                  {"host", host_json()}};
  // Text of gadgets and paths may be no valid UTF-8: it is replaced, never a reason to lose the
  // report.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_run_json(const RunReport& report, const std::filesystem::path& output_dir) {
  AtomicFile file(output_dir / "run.json");
  file.write(run_json(report));
  file.commit();
}

std::string run_table(const RunReport& report) {
  std::size_t width = 6;
  for (const GadgetReport& gadget : report.gadgets) width = std::max(width, gadget.name.size());
  std::string table = fmt::format("{:<{}} {:>10} {:>10} {:>14} {:>14} {:>9} {:>9}\n", "gadget", width, "msgs in",
                                  "msgs out", "events in", "events out", "busy s", "blocked s");
  for (const GadgetReport& g : report.gadgets)
    table += fmt::format("{:<{}} {:>10} {:>10} {:>14} {:>14} {:>9.3f} {:>9.3f}\n", g.name, width, g.messages_in,
                         g.messages_out, g.events_in, g.events_out, g.busy_seconds, g.waiting_output_seconds);
  for (const EdgeReport& edge : report.edges)
    if (edge.figures.dropped_messages > 0)
      table += fmt::format("edge {} dropped {} messages with {} events\n", edge.name, edge.figures.dropped_messages,
                           edge.figures.dropped_events);
  if (report.latency.messages > 0)
    table +=
        fmt::format("latency p50 {:.3g} s, p99 {:.3g} s, max {:.3g} s over {} messages\n", report.latency.p50_seconds,
                    report.latency.p99_seconds, report.latency.max_seconds, report.latency.messages);
  const BookBalance& books = report.books;
  table += fmt::format(
      "events received {} = reconstructed {} + written {} + rejected {} + lost {} + discarded "
      "{}{}\n",
      books.received, books.reconstructed, books.written, by_reason(books.rejected), by_reason(books.lost),
      books.discarded, books.balanced() ? "" : ": NOT BALANCED");
  return table + fmt::format("{} after {:.3f} s\n", outcome(report), report.seconds);
}

}  // namespace tofstream
