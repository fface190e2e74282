// The sections of report.html: see report_html.hpp.
#include "tools/watch/report_html.hpp"

#include <string_view>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "tools/watch/html.hpp"
#include "tools/watch/report_json_words.hpp"
#include "tools/watch/report_scan.hpp"
#include "tools/watch/yaml_text.hpp"

namespace tofstream {

namespace {

using namespace report;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::string_view style = R"(
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 64rem; padding: 0 1rem; color: #222; background: #fff; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin: 1.8rem 0 .5rem; border-bottom: 1px solid #ccc; } h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
.lead { margin: .2rem 0 1rem; color: #555; } .warning { border-left: 4px solid #b25e00; padding: .3rem .8rem; background: #fff6e8; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; vertical-align: top; } .numbers td:not(:first-child), .numbers th:not(:first-child) { text-align: right; }
tr + tr > * { border-top: 1px solid #eee; } .facts th { font-weight: 600; white-space: nowrap; } .facts td { overflow-wrap: anywhere; }
figure { margin: 0 0 1rem; } figcaption { color: #555; font-size: .9rem; } img { max-width: 100%; height: auto; display: block; }
pre { background: #f5f5f5; padding: .8rem; overflow-x: auto; } summary { cursor: pointer; font-size: 1.15rem; font-weight: 600; margin-top: 2rem; }
.done { color: #17692f; } .stopped { color: #7a5200; } .failed, .aborted { color: #a3141c; }
@media (max-width: 40rem) { body { margin: .8rem auto; padding: 0 .7rem; } .facts th { white-space: normal; } details .scroll table { white-space: nowrap; } }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; } a { color: inherit; } details:not([open]) { display: none; }
  figure, tr, h2, h3 { break-inside: avoid; } h2, h3 { break-after: avoid; } .scroll { overflow: visible; } img { max-height: 20cm; width: auto; }
}
)";

std::string summary(const Json& run) {
  const std::string outcome = words(at(run, {"outcome"}));
  std::string text =
      fmt::format("<h1>{}: <span class=\"{}\">{}</span></h1>\n", html::escape(words(at(run, {"pipeline"}))),
                  html::escape(outcome), html::escape(outcome));
  text += fmt::format("<p class=\"lead\">{}, on {}, tofstream {}</p>\n", html::escape(words(at(run, {"started"}))),
                      html::escape(words(at(run, {"host", "name"}))),
                      html::escape(words(at(run, {"versions", "tofstream"}))));
  return text;
}

std::string stalls(const Json& run) {
  Rows rows;
  for (const Json& stall : at(run, {"stalls"}))
    rows.push_back({fixed(at(stall, {"at_seconds"})), fixed(at(stall, {"seconds"})), words(at(stall, {"state"}))});
  return html::table({"at s", "nothing moved for s", "who waited for whom"}, rows, false);
}

std::string latency(const Json& run) {
  const Json& all = at(run, {"latency"});
  if (at(all, {"messages"}).is_null() || at(all, {"messages"}) == 0) return {};
  return html::table({"messages", "p50 s", "p99 s", "longest s"},
                     {{words(at(all, {"messages"})), words(at(all, {"p50_seconds"})), words(at(all, {"p99_seconds"})),
                       words(at(all, {"max_seconds"}))}});
}

std::string gadgets(const Json& run) {
  Rows rows;
  for (const auto& [name, gadget] : at(run, {"gadgets"}).items())
    rows.push_back({name, words(at(gadget, {"use"})), words(at(gadget, {"messages_in"})),
                    words(at(gadget, {"messages_out"})), words(at(gadget, {"events_in"})),
                    words(at(gadget, {"events_out"})), fixed(at(gadget, {"busy_seconds"})),
                    fixed(at(gadget, {"waiting_output_seconds"}))});
  return html::table({"gadget", "use", "messages in", "out", "events in", "out", "busy s", "held up s"}, rows);
}

std::string whole(const Json& value) {
  return value.is_number() ? fmt::format("{:.0f}", value.get<double>()) : words(value);
}

// A table for each gadget whose work ranks share.
std::string ranks(const Json& run) {
  Rows rows;
  for (const auto& [name, gadget] : at(run, {"gadgets"}).items()) {
    const Json& all = at(gadget, {"figures"});
    const auto of_rank = [&](const char* figure, std::size_t rank) -> const Json& {
      static const Json none;
      const Json& values = at(all, {figure});
      return values.is_array() && rank < values.size() ? values[rank] : none;
    };
    const std::size_t number = at(all, {"rank_devices"}).is_array() ? at(all, {"rank_devices"}).size() : 0;
    for (std::size_t rank = 0; rank < number; ++rank)
      rows.push_back({name, std::to_string(rank), words(of_rank("rank_devices", rank)),
                      whole(of_rank("rank_data", rank)), fixed(of_rank("rank_projecting_s", rank)),
                      fixed(of_rank("rank_planning_s", rank)), fixed(of_rank("rank_waiting_s", rank)),
                      fixed(of_rank("rank_reducing_s", rank))});
    if (number > 0) rows.push_back({name, "largest/mean", "", "", fixed(at(all, {"rank_imbalance"})), "", "", ""});
  }
  return html::table({"gadget", "rank", "on", "data", "projecting s", "planning s", "waiting s", "reducing s"}, rows);
}

std::string figures(const Json& run) {
  Rows rows;
  for (const auto& [name, gadget] : at(run, {"gadgets"}).items())
    for (const auto& [key, figure] : at(gadget, {"figures"}).items()) {
      std::string text = words(figure);
      constexpr std::size_t longest = 400;  // the whole of it is in run.json
      if (text.size() > longest) text = fmt::format("{} values: run.json has them", figure.size());
      rows.push_back({name, key, std::move(text)});
    }
  return html::table({"gadget", "figure", "value"}, rows, false);
}

std::string edge_rows(const Json& run) {
  Rows rows;
  for (const Json& edge : at(run, {"edges"}))
    rows.push_back({words(at(edge, {"edge"})), words(at(edge, {"policy"})), words(at(edge, {"messages"})),
                    fmt::format("{} of {}", words(at(edge, {"most_messages"})), words(at(edge, {"limit_messages"}))),
                    fmt::format("{} of {}", words(at(edge, {"most_bytes"})), words(at(edge, {"limit_bytes"}))),
                    words(at(edge, {"dropped_messages"})), words(at(edge, {"dropped_events"})),
                    words(at(edge, {"spilled_bytes"})), words(at(edge, {"most_disk_bytes"}))});
  return html::table({"edge", "when full", "messages", "most waiting", "most bytes", "dropped messages", "events",
                      "bytes spilled to disk", "most on disk"},
                     rows);
}

std::string resolved(const Json& run) {
  const Json& all = at(run, {"resolved"});
  return all.is_object() ? fmt::format("<pre>{}</pre>\n", html::escape(yaml_text(all))) : "";
}

std::string versions(const Json& run) {
  Rows rows;
  for (const char* part : {"versions", "host"})
    for (const auto& [key, value] : at(run, {part}).items()) rows.push_back({key, words(value)});
  return html::table({"", ""}, rows, false);
}

}  // namespace

std::string report_html(const Json& run, const std::vector<ReportPicture>& pictures) {
  std::string machinery;
  machinery += section("Latency, from a message's entry to the end of a sink's work on it", latency(run));
  machinery += section("Gadgets", gadgets(run));
  machinery += section("Ranks", ranks(run));
  machinery += section("Figures", figures(run));
  machinery += section("Edges", edge_rows(run));
  machinery += section("When nothing moved", stalls(run));
  machinery += section("Pipeline, every default spelled out", resolved(run));
  machinery += section("Versions and host", versions(run));
  const std::string body = summary(run) + report_warnings(run) + report_scan(run, pictures) +
                           fmt::format(
                               "<details>\n<summary>How the program ran: timings, queues, pipeline, "
                               "versions</summary>\n{}</details>\n",
                               machinery);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
      "'unsafe-inline'\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}<p class=\"lead\">For research "
      "only, not for clinical use.</p>\n</body>\n</html>\n",
      html::escape(words(at(run, {"pipeline"}))), style, body);
}

void write_report_html(const Json& run, const std::filesystem::path& output_dir) {
  const std::string page = report_html(run, pictures_of(run));
  AtomicFile file(output_dir / report_html_name);
  file.write(page);
  file.commit();
}

void end_with_report_html(RunReport& report, const std::filesystem::path& output_dir) try {
  if (output_dir.empty() || !report.began) return;
  write_report_html(Json::parse(run_json(report)), output_dir);
} catch (const std::exception& error) {
  if (report.exit_code != exit_ok) return;
  report.errors.push_back({"", error.what(), {}, std::nullopt});
  report.exit_code = exit_run;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
