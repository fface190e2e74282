// The sections of report.html: see report_html.hpp.
#include "tools/watch/report_html.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "tools/watch/html.hpp"
#include "tools/watch/report_curves.hpp"
#include "tools/watch/yaml_text.hpp"

namespace tofstream {

namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::string_view style = R"(
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #222; background: #fff; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid #ccc; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top; } .numbers td:not(:first-child), .numbers th:not(:first-child) { text-align: right; }
tr + tr td { border-top: 1px solid #eee; } img { max-width: 100%; height: auto; display: block; }
pre { background: #f5f5f5; padding: .8rem; overflow-x: auto; } .done { color: #17692f; } .stopped { color: #7a5200; } .failed, .aborted { color: #a3141c; }
)";

// A value at a path of keys, or null.
const Json& at(const Json& json, std::initializer_list<const char*> keys) {
  static const Json none;
  const Json* here = &json;
  for (const char* key : keys) {
    const auto found = here->is_object() ? here->find(key) : here->end();
    if (found == here->end()) return none;
    here = &*found;
  }
  return *here;
}

std::string words(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.dump();
}

std::string fixed(const Json& value) {
  return value.is_number() ? fmt::format("{:.3f}", value.get<double>()) : words(value);
}

std::string section(std::string_view title, const std::string& content) {
  if (content.empty()) return {};
  return fmt::format("<h2>{}</h2>\n<div class=\"scroll\">\n{}</div>\n", html::escape(title), content);
}

std::string summary(const Json& run) {
  const std::string outcome = words(at(run, {"outcome"}));
  std::string text =
      fmt::format("<h1>{}: <span class=\"{}\">{}</span></h1>\n", html::escape(words(at(run, {"pipeline"}))),
                  html::escape(outcome), html::escape(outcome));
  text +=
      fmt::format("<p>{} to {}, {} s, on {} ({} cores), tofstream {}</p>\n", html::escape(words(at(run, {"started"}))),
                  html::escape(words(at(run, {"ended"}))), fixed(at(run, {"seconds"})),
                  html::escape(words(at(run, {"host", "name"}))), html::escape(words(at(run, {"host", "cores"}))),
                  html::escape(words(at(run, {"versions", "tofstream"}))));
  return text;
}

std::string errors(const Json& run) {
  Rows rows;
  for (const Json& error : at(run, {"errors"}))
    rows.push_back({words(at(error, {"gadget"})), words(at(error, {"where"})), words(at(error, {"what"}))});
  return html::table({"gadget", "where", "what went wrong"}, rows, false);
}

std::string stalls(const Json& run) {
  Rows rows;
  for (const Json& stall : at(run, {"stalls"}))
    rows.push_back({fixed(at(stall, {"at_seconds"})), fixed(at(stall, {"seconds"})), words(at(stall, {"state"}))});
  return html::table({"at s", "nothing moved for s", "who waited for whom"}, rows, false);
}

std::string images(const std::vector<ReportPicture>& pictures) {
  std::string text;
  for (const ReportPicture& picture : pictures)
    text += fmt::format("<h3>{}</h3>\n{}", html::escape(picture.title),
                        picture.png.empty() ? fmt::format("<p>not drawn: {}</p>\n", html::escape(picture.why))
                                            : html::image("image/png", picture.png, picture.title));
  return text;
}

// What each image is, as the gadget that wrote it reports.
std::string image_facts(const Json& run) {
  const auto listed = [](const Json& values, const char* between) {
    std::string text;
    for (const Json& value : values)
      text +=
          (text.empty() ? "" : between) + (value.is_number() ? fmt::format("{:g}", value.get<double>()) : words(value));
    return text.empty() ? std::string("-") : text;
  };
  Rows rows;
  for (const auto& [name, gadget] : at(run, {"gadgets"}).items()) {
    const Json& figures = at(gadget, {"figures"});
    if (at(figures, {"unit"}).is_null()) continue;
    rows.push_back(
        {name, listed(at(figures, {"size"}), " x "), listed(at(figures, {"voxel_mm"}), " x "),
         words(at(figures, {"unit"})),
         at(figures, {"quantitative"}) == true ? "yes" : "no: " + listed(at(figures, {"not_quantitative"}), "; "),
         listed(at(figures, {"corrections_made"}), ", "), listed(at(figures, {"corrections_not_made"}), ", ")});
  }
  return html::table({"image of", "voxels", "mm", "unit", "quantitative", "corrected for", "not corrected for"}, rows,
                     false);
}

std::string curves(const Json& run) {
  std::string text;
  for (const ReportCurve& curve : report_curves(run))
    text +=
        fmt::format("<h3>{}</h3>\n{}", html::escape(curve.title), html::image("image/svg+xml", curve.svg, curve.title));
  return text;
}

std::string books(const Json& run) {
  const Json& all = at(run, {"books"});
  if (!all.is_object()) return {};
  Rows rows{{"received", words(at(all, {"received"}))},
            {"reconstructed", words(at(all, {"reconstructed"}))},
            {"written", words(at(all, {"written"}))}};
  for (const char* fate : {"rejected", "lost"})
    for (const auto& [reason, events] : at(all, {fate}).items())
      rows.push_back({fmt::format("{}: {}", fate, reason), words(events)});
  rows.push_back({"discarded with messages that an edge dropped", words(at(all, {"discarded"}))});
  std::string text = html::table({"events", "number"}, rows);
  if (at(all, {"balanced"}) == true) return text + "<p>The books balance.</p>\n";
  return text + fmt::format("<p class=\"failed\">The books do not balance: {}</p>\n",
                            html::escape(words(at(all, {"difference"}))));
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

std::string edges(const Json& run) {
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

std::string changes(const Json& run) {
  Rows rows;
  for (const Json& change : at(run, {"parameter_changes"}))
    rows.push_back({words(at(change, {"when"})), words(at(change, {"gadget"})), words(at(change, {"parameter"})),
                    words(at(change, {"value"})), words(at(change, {"joined"}))});
  return html::table({"when", "gadget", "parameter", "value", "set shortly before"}, rows, false);
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
  std::string body = summary(run);
  body += section("Errors", errors(run));
  body += section("Images", image_facts(run) + images(pictures));
  body += section("Curves", curves(run));
  body += section("Books", books(run));
  body += section("Latency, from a message's entry to the end of a sink's work on it", latency(run));
  body += section("Gadgets", gadgets(run));
  body += section("Figures", figures(run));
  body += section("Edges", edges(run));
  body += section("Parameters that were set during the run", changes(run));
  body += section("When nothing moved", stalls(run));
  body += section("Pipeline, every default spelled out", resolved(run));
  body += section("Versions and host", versions(run));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
      "'unsafe-inline'\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
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
