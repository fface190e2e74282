// A run as JSON: run.json, the status of a running run, and what an image tells of it.
#include "core/report/report_json.hpp"

#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <oneapi/tbb/version.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "core/base/atomic_file.hpp"
#include "core/base/gpus.hpp"
#include "core/base/version.hpp"
#include "core/gadget/value_json.hpp"

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
  static const Gpus gpus = gpus_of_this_machine();
  Json json{{"tofstream", version()}, {"commit", commit()},           {"flags", build_flags()},
            {"compiler", compiler()}, {"tbb", TBB_runtime_version()}, {"gpus", gpus.names}};
  if (!gpus.driver.empty()) json["gpu_driver"] = gpus.driver;
  return json;
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

Json files_json(const std::vector<RunFile>& files) {
  Json list = Json::array();
  for (const RunFile& file : files) list.push_back({{"name", file.name}, {"gadget", file.gadget}});
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
  Json json{{"edge", edge.name},
            {"policy", detail::write_value(edge.limits.policy).text},
            {"limit_messages", edge.limits.messages},
            {"limit_bytes", edge.limits.bytes},
            {"messages", figures.messages},
            {"most_messages", figures.most_messages},
            {"most_bytes", figures.most_bytes},
            {"waiting_messages", figures.waiting_messages},
            {"waiting_bytes", figures.waiting_bytes},
            {"dropped_messages", figures.dropped_messages},
            {"dropped_events", figures.dropped_events}};
  if (edge.limits.policy == EdgePolicy::spill)
    json.update({{"spilled_messages", figures.spilled_messages},
                 {"spilled_bytes", figures.spilled_bytes},
                 {"disk_messages", figures.disk_messages},
                 {"disk_bytes", figures.disk_bytes},
                 {"most_disk_bytes", figures.most_disk_bytes}});
  return json;
}

Json stalls_json(const std::vector<Stall>& stalls) {
  Json list = Json::array();
  for (const Stall& stall : stalls)
    list.push_back({{"at_seconds", stall.at_seconds}, {"seconds", stall.seconds}, {"state", stall.state}});
  return list;
}

Json changes_json(const std::vector<ParameterChange>& changes) {
  Json list = Json::array();
  for (const ParameterChange& change : changes) {
    list.push_back({{"when", utc(change.when)},
                    {"gadget", change.gadget},
                    {"parameter", change.parameter},
                    {"value", to_json(change.value)}});
    if (change.joined > 0) list.back().update({{"joined", change.joined}, {"first", utc(change.first)}});
  }
  return list;
}

Json counts_json(const std::vector<CountPoint>& counts) {
  Json seconds = Json::array(), events = Json::array();
  for (const CountPoint& point : counts) {
    seconds.push_back(point.seconds);
    events.push_back(point.events);
  }
  return {{"seconds", std::move(seconds)}, {"events", std::move(events)}};
}

Json latency_json(const LatencyFigures& latency) {
  return {{"messages", latency.messages},
          {"p50_seconds", latency.p50_seconds},
          {"p99_seconds", latency.p99_seconds},
          {"max_seconds", latency.max_seconds}};
}

Json gadgets_json(const std::vector<GadgetReport>& gadgets) {
  Json json = Json::object();
  for (const GadgetReport& gadget : gadgets) json[gadget.name] = gadget_json(gadget);
  return json;
}

Json edges_json(const std::vector<EdgeReport>& edges) {
  Json list = Json::array();
  for (const EdgeReport& edge : edges) list.push_back(edge_json(edge));
  return list;
}

// What gadgets wait for outside the program: [{gadget, what}].
Json waiting_json(const RunReport& report) {
  Json list = Json::array();
  for (const GadgetReport& gadget : report.gadgets)
    if (!gadget.waiting.empty()) list.push_back({{"gadget", gadget.name}, {"what", gadget.waiting}});
  return list;
}

}  // namespace

std::string run_json(const RunReport& report) {
  const Json json{{"pipeline", report.pipeline},
                  {"outcome", outcome(report)},
                  {"exit_code", report.phase == RunPhase::over ? Json(report.exit_code) : Json()},
                  {"stopped", report.stopped},
                  {"aborted", report.aborted},
                  {"files", files_json(report.files)},
                  {"errors", errors_json(report.errors)},
                  {"stalls", stalls_json(report.stalls)},
                  {"parameter_changes", changes_json(report.changes)},
                  {"running_at_cancel", report.running_at_cancel},
                  {"still_running", report.still_running},
                  {"started", utc(report.started)},
                  {"ended", report.phase == RunPhase::over ? Json(utc(report.ended)) : Json()},
                  {"seconds", report.seconds},
                  {"data_seconds", report.data_seconds},
                  {"books", balance_json(report.books)},
                  {"latency", latency_json(report.latency)},
                  {"counts", counts_json(report.counts)},
                  {"gadgets", gadgets_json(report.gadgets)},
                  {"edges", edges_json(report.edges)},
                  {"resolved", to_json(report.resolved)},
                  {"versions", versions_json()},
                  {"host", host_json()}};
  // Text of gadgets and paths may not be valid UTF-8: it is replaced, and never a reason to lose the
  // report.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string provenance_json(const RunReport& report, const MessageInfo& events,
                            const std::map<std::string, std::string>& also) {
  Json books = balance_json(report.books);
  for (const char* settled : {"balanced", "difference"}) books.erase(settled);  // they need not be yet
  Json json{{"pipeline", report.pipeline},
            {"events", {{"first", events.first_event}, {"end", events.end_event}}},
            {"books", std::move(books)},
            {"parameter_changes", changes_json(report.changes)},
            {"resolved", to_json(report.resolved)},
            {"versions", versions_json()}};
  for (const auto& [key, text] : also) json[key] = Json::parse(text);
  return json.dump(1, ' ', true, Json::error_handler_t::replace);
}

void write_run_json(const RunReport& report, const std::filesystem::path& output_dir) {
  AtomicFile file(output_dir / "run.json");
  file.write(run_json(report));
  file.commit();
}

nlohmann::ordered_json status_json(const RunReport& report) {
  Json gadgets = gadgets_json(report.gadgets);
  for (const GadgetReport& gadget : report.gadgets)
    if (const Progress& progress = gadget.progress; progress.done > 0)
      gadgets[gadget.name]["progress"] = {{"done", progress.done}, {"total", progress.total}, {"unit", progress.unit}};
  return {{"pipeline", report.pipeline},          {"state", outcome(report)},
          {"started", utc(report.started)},       {"seconds", report.seconds},
          {"data_seconds", report.data_seconds},  {"waiting", waiting_json(report)},
          {"errors", errors_json(report.errors)}, {"parameter_changes", changes_json(report.changes)},
          {"books", balance_json(report.books)},  {"latency", latency_json(report.latency)},
          {"gadgets", std::move(gadgets)},        {"edges", edges_json(report.edges)}};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
