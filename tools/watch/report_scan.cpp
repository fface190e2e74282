// The scan in report.html: see report_scan.hpp.
#include "tools/watch/report_scan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tools/watch/report_curves.hpp"
#include "tools/watch/report_json_words.hpp"

namespace tofstream {

namespace {

using namespace report;

constexpr double noteworthy_loss = 0.01;  // of the events

// The first figure of this name that a gadget has.
const Json& run_figure(const Json& run, const char* key) {
  for (const auto& [name, gadget] : at(run, {"gadgets"}).items())
    if (const Json& found = at(gadget, {"figures", key}); !found.is_null()) return found;
  return at(run, {"no such key"});
}

// The figures of the gadget that wrote the first image.
const Json& image_of(const Json& run) {
  for (const auto& [name, gadget] : at(run, {"gadgets"}).items())
    if (const Json& figures = at(gadget, {"figures"}); !at(figures, {"voxel_mm"}).is_null()) return figures;
  return at(run, {"no such key"});
}

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : 0;
}

double total(const Json& reasons) {
  double sum = 0;
  for (const auto& [reason, events] : reasons.items()) sum += number(events);
  return sum;
}

std::string duration(double seconds) {
  if (!(seconds > 0)) return {};
  if (seconds < 90) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<long>(std::lround(seconds));
  return whole < 3600 ? fmt::format("{} min {:02} s", whole / 60, whole % 60)
                      : fmt::format("{} h {:02} min {:02} s", whole / 3600, whole / 60 % 60, whole % 60);
}

// "75 x 75 x 37 voxels of 4 mm, 300 x 300 x 148 mm"
std::string grid(const Json& image) {
  const Json &size = at(image, {"size"}), &edges = at(image, {"voxel_mm"});
  if (size.size() != 3 || edges.size() != 3) return {};
  const bool is_cubic = edges[0] == edges[1] && edges[1] == edges[2];
  std::vector<double> whole;
  for (std::size_t axis = 0; axis < 3; ++axis) whole.push_back(number(size[axis]) * number(edges[axis]));
  return fmt::format("{} voxels of {} mm, {:.4g} mm", listed(size, " x "),
                     is_cubic ? listed(Json::array({edges[0]}), "") : listed(edges, " x "), fmt::join(whole, " x "));
}

std::string unit(const Json& image) {
  const std::string name = text_of(at(image, {"unit"}));
  if (name.empty()) return {};
  const std::string why = listed(at(image, {"not_quantitative"}), "; ");
  return why.empty() ? name : fmt::format("{}, not quantitative: {}", name, why);
}

std::string iterations(const Json& run, const Json& image) {
  const Json &subsets = at(image, {"subsets"}), &updates = at(image, {"updates"});
  std::string text;
  if (!subsets.is_null())
    text = fmt::format("{} of {} subsets, {} updates", words(at(image, {"iteration"})), words(subsets), words(updates));
  else if (!updates.is_null())
    text = fmt::format("{} updates, while the scan went on", words(updates));
  if (const Json& left_out = run_figure(run, "iterations_left_out"); !text.empty() && left_out.is_number())
    text += fmt::format("; the last {} were left out, since the run was stopped", words(left_out));
  return text;
}

std::string correction_list(const Json& image, const char* key) {
  if (at(image, {key}).is_null()) return {};
  const std::string text = listed(at(image, {key}), ", ");
  return text.empty() ? "none" : text;
}

std::string scanner(const Json& run) {
  const std::string words = text_of(run_figure(run, "scanner_in_words"));
  if (!words.empty()) return words;
  for (const auto& [name, gadget] : at(run, {"resolved", "gadgets"}).items())  // of a simulation
    if (const std::string simulated = text_of(at(gadget, {"scanner"})); !simulated.empty()) return simulated;
  return text_of(run_figure(run, "scanner"));
}

std::string scan_facts(const Json& run) {
  const Json& image = image_of(run);
  double scan_s = number(run_figure(run, "scan_s"));
  if (scan_s == 0) scan_s = number(run_figure(run, "seconds"));  // of a simulation
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& [name, gadget] : at(run, {"gadgets"}).items())
    rows.emplace_back("File", text_of(at(gadget, {"figures", "file"})));
  rows.emplace_back("Unit", unit(image));
  rows.emplace_back("Post-filter", text_of(at(image, {"filtered"})));
  rows.emplace_back("Grid", grid(image));
  rows.emplace_back("Scanner", scanner(run));
  rows.emplace_back("Time of flight", text_of(run_figure(run, "time_of_flight")));
  rows.emplace_back("Scan", duration(scan_s));
  if (const double received = number(at(run, {"books", "received"})); received > 0)
    rows.emplace_back("Events",
                      words(at(run, {"books", "received"})) +
                          (scan_s > 0 ? fmt::format(", {:.4g} a second of the scan", received / scan_s) : ""));
  rows.emplace_back("Iterations", iterations(run, image));
  rows.emplace_back("Corrected for", correction_list(image, "corrections_made"));
  rows.emplace_back("Not corrected for", correction_list(image, "corrections_not_made"));
  rows.emplace_back("Ends of the image", text_of(run_figure(run, "noisy_ends")));
  rows.emplace_back("Sensitivity", text_of(run_figure(run, "few_lines")));
  rows.emplace_back("Run", fmt::format("{} to {}, {}", words(at(run, {"started"})), words(at(run, {"ended"})),
                                       duration(number(at(run, {"seconds"})))));
  return html::facts(rows);
}

std::string figures_of(const std::vector<ReportPicture>& pictures, const std::string& unit) {
  std::string text;
  for (const ReportPicture& picture : pictures)
    text += picture.png.empty()
                ? fmt::format("<p>{}, not drawn: {}</p>\n", html::escape(picture.title), html::escape(picture.why))
                : fmt::format("<figure>\n{}<figcaption>{}{}</figcaption>\n</figure>\n",
                              html::image("image/png", picture.png, picture.title), html::escape(picture.title),
                              unit.empty() ? "" : html::escape(". Unit: " + unit));
  return text;
}

// With the share of all that came.
std::string events(const Json& run) {
  const Json& books = at(run, {"books"});
  if (!books.is_object()) return {};
  const double received = number(at(books, {"received"}));
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& what, const Json& events) {
    rows.push_back({what, words(events),
                    received > 0 ? fmt::format("{:.3g} %", 100 * number(events) / received) : std::string("-")});
  };
  add("received", at(books, {"received"}));
  for (const char* fate : {"reconstructed", "written"})
    if (number(at(books, {fate})) > 0) add(fate, at(books, {fate}));
  for (const char* fate : {"rejected", "lost"})
    for (const auto& [reason, count] : at(books, {fate}).items()) add(fmt::format("{}: {}", fate, reason), count);
  if (number(at(books, {"discarded"})) > 0)
    add("discarded with messages that an edge dropped", at(books, {"discarded"}));
  const std::string text = html::table({"events", "number", "share"}, rows);
  if (at(books, {"balanced"}) == true) return text + "<p>Every event is accounted for.</p>\n";
  return text + fmt::format("<p class=\"failed\">The books do not balance: {}</p>\n",
                            html::escape(words(at(books, {"difference"}))));
}

std::string curves(const std::vector<ReportCurve>& drawn) {
  std::string text;
  for (const ReportCurve& curve : drawn)
    text +=
        fmt::format("<h3>{}</h3>\n{}", html::escape(curve.title), html::image("image/svg+xml", curve.svg, curve.title));
  return text;
}

std::string convergence(const Json& run) {
  const std::string drawn = curves(likelihood_curves(run));
  if (!drawn.empty() || image_of(run).is_null()) return drawn;
  return "<p>The log-likelihood was not recorded: set <code>log_likelihood: true</code> of the projector.</p>\n";
}

std::string changes(const Json& run) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& change : at(run, {"parameter_changes"}))
    rows.push_back({words(at(change, {"when"})), words(at(change, {"gadget"})), words(at(change, {"parameter"})),
                    words(at(change, {"value"})), words(at(change, {"joined"}))});
  return html::table({"when", "gadget", "parameter", "value", "set shortly before"}, rows, false);
}

std::string warning(const std::string& text) {
  return fmt::format("<p class=\"warning\">{}</p>\n", html::escape(text));
}

}  // namespace

std::string report_warnings(const Json& run) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& error : at(run, {"errors"}))
    rows.push_back({words(at(error, {"gadget"})), words(at(error, {"where"})), words(at(error, {"what"}))});
  std::string text = section("Errors", html::table({"gadget", "where", "what went wrong"}, rows, false));
  const std::string why = listed(at(image_of(run), {"not_quantitative"}), "; ");
  if (!why.empty()) text += warning("The image is not quantitative: " + why + ".");
  if (const std::string missed = text_of(run_figure(run, "missed")); !missed.empty()) text += warning(missed);
  const double lost = total(at(run, {"books", "lost"})), received = number(at(run, {"books", "received"}));
  if (lost > noteworthy_loss * received)
    text += warning(fmt::format("{:.3g} % of the events were lost, and are missing from the image.",
                                100 * lost / std::max(received, 1.0)));
  return text;
}

std::string report_scan(const Json& run, const std::vector<ReportPicture>& pictures) {
  std::string text = section("Image", figures_of(pictures, text_of(at(image_of(run), {"unit"}))));
  text += section("Scan and image", scan_facts(run));
  text += section("What became of the events", events(run));
  text += section("Convergence", convergence(run));
  text += section("Count rate", curves(count_curves(run)));
  return text + section("Parameters that were set during the run", changes(run));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
