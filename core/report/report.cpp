#include "core/report/report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/log.hpp"

namespace tofstream {
namespace {

double mebibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1048576;
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
    case RunPhase::waiting:
      return "waiting";
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
  return one_line(line + what);
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
  for (const EdgeReport& edge : report.edges)
    if (edge.figures.spilled_messages > 0)
      table += fmt::format("edge {} spilled {} messages, {:.1f} MiB, to disk, at most {:.1f} MiB at a time\n",
                           edge.name, edge.figures.spilled_messages, mebibytes(edge.figures.spilled_bytes),
                           mebibytes(edge.figures.most_disk_bytes));
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
  return table;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
