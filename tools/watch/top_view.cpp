// The page of `tofstream top`: see top_view.hpp.
#include "tools/watch/top_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tofstream {

namespace {

using Json = nlohmann::ordered_json;

constexpr double mebibyte = 1048576;

// How fast a counter grew between two pages.
class Rates {
 public:
  Rates(const Json& now, const Json& before)
      : seconds_(before.is_null() ? 0 : now.at("seconds").get<double>() - before.at("seconds").get<double>()) {}

  std::optional<double> of(double now, double before) const {
    if (!(seconds_ > 0)) return std::nullopt;
    return std::max(now - before, 0.0) / seconds_;
  }
  std::string words(const Json& now, const Json& before, const char* key) const {
    if (!(seconds_ > 0)) return "-";
    return short_number(*of(now.at(key).get<double>(), before.at(key).get<double>()));
  }
  std::string percent(const Json& now, const Json& before, const char* key) const {
    if (!(seconds_ > 0)) return "-";
    return fmt::format("{:.0f}%", 100 * *of(now.at(key).get<double>(), before.at(key).get<double>()));
  }

 private:
  double seconds_;
};

std::string seconds_in_words(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string by_reason(const Json& entries) {
  double total = 0;
  std::string reasons;
  for (const auto& [reason, events] : entries.items()) {
    total += events.get<double>();
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", reason, short_number(events.get<double>()));
  }
  return reasons.empty() ? "0" : fmt::format("{} ({})", short_number(total), reasons);
}

double total_of(const Json& entries) {
  double total = 0;
  for (const auto& [reason, events] : entries.items()) total += events.get<double>();
  return total;
}

// Says how the image was filtered, and its unit: the image of the writer that states a unit, or else the last one that a
// gadget has filtered.
std::string image_in_words(const Json& status) {
  const Json none = Json::object();
  const Json* image = &none;
  for (const auto& [name, gadget] : status.at("gadgets").items()) {
    const auto figures = gadget.find("figures");
    if (figures == gadget.end() || !(figures->contains("unit") || figures->contains("filtered"))) continue;
    image = &*figures;
    if (figures->contains("unit")) break;
  }
  std::string words;
  const auto add = [&](const Json& figure, const char* before) {  // figures of other types are somebody else's
    if (figure.is_string()) words += (words.empty() ? "" : before) + figure.get<std::string>();
  };
  for (const char* key : {"filtered", "unit"})
    if (image->contains(key)) add(image->at(key), ", ");
  const char* before = ", not quantitative: ";
  for (const Json& reason : image->value("not_quantitative", Json::array())) add(reason, std::exchange(before, "; "));
  return words;
}

std::string head(const Json& status, const Json& before, const Rates& rates) {
  const Json& books = status.at("books");
  const double received = books.at("received").get<double>();
  const double since_data = status.value("data_seconds", 0.0);
  std::string text = fmt::format(
      "{}   {}   {:.1f} s   {} events", status.at("pipeline").get<std::string>(), status.at("state").get<std::string>(),
      since_data > 0 ? since_data : status.at("seconds").get<double>(), short_number(received));
  if (!before.is_null())
    if (const auto rate = rates.of(received, before.at("books").at("received").get<double>()))
      text += fmt::format("   {} events/s", short_number(*rate));
  text += '\n';
  for (const Json& wait : status.value("waiting", Json::array()))
    text += fmt::format("{:<9} {}\n", wait.at("gadget").get<std::string>(), wait.at("what").get<std::string>());
  const double settled = books.at("reconstructed").get<double>() + books.at("written").get<double>() +
                         total_of(books.at("rejected")) + total_of(books.at("lost")) +
                         books.at("discarded").get<double>();
  text += fmt::format(
      "books     reconstructed {}   written {}   rejected {}   lost {}   discarded {}   on their way {}\n",
      short_number(books.at("reconstructed").get<double>()), short_number(books.at("written").get<double>()),
      by_reason(books.at("rejected")), by_reason(books.at("lost")), short_number(books.at("discarded").get<double>()),
      short_number(std::max(received - settled, 0.0)));
  const Json& latency = status.at("latency");
  if (latency.at("messages") > 0)
    text += fmt::format("latency   p50 {}   p99 {}   longest {}\n",
                        seconds_in_words(latency.at("p50_seconds").get<double>()),
                        seconds_in_words(latency.at("p99_seconds").get<double>()),
                        seconds_in_words(latency.at("max_seconds").get<double>()));
  if (const std::string image = image_in_words(status); !image.empty()) text += fmt::format("image     {}\n", image);
  for (const Json& error : status.at("errors"))
    text +=
        fmt::format("error     {}: {}\n", error.at("gadget").get<std::string>(), error.at("what").get<std::string>());
  return text;
}

std::string progress_in_words(const Json& gadget) {
  const auto progress = gadget.find("progress");
  if (progress == gadget.end()) return "";
  const double done = progress->at("done").get<double>(), total = progress->at("total").get<double>();
  const std::string unit = progress->at("unit").get<std::string>();
  return total > 0 ? fmt::format("{:.0f}% {}", 100 * done / total, unit) : fmt::format("{:.4g} {}", done, unit);
}

std::string gadgets(const Json& status, const Json& before, const Rates& rates) {
  std::size_t width = 6;
  for (const auto& [name, gadget] : status.at("gadgets").items()) width = std::max(width, name.size());
  std::string text = fmt::format("\n{:<{}} {:>9} {:>9} {:>9} {:>9} {:>6} {:>7}  {}\n", "gadget", width, "msgs in",
                                 "msgs/s", "events in", "events/s", "busy", "held up", "progress");
  for (const auto& [name, gadget] : status.at("gadgets").items()) {
    const Json none;
    const Json& old = before.is_null() ? none : before.at("gadgets").at(name);
    const bool gives_only = gadget.at("messages_in") == 0;  // a source
    const char* messages = gives_only ? "messages_out" : "messages_in";
    const char* events = gives_only ? "events_out" : "events_in";
    text += fmt::format("{:<{}} {:>9} {:>9} {:>9} {:>9} {:>6} {:>7}  {}\n", name, width,
                        short_number(gadget.at(messages).get<double>()), rates.words(gadget, old, messages),
                        short_number(gadget.at(events).get<double>()), rates.words(gadget, old, events),
                        rates.percent(gadget, old, "busy_seconds"),
                        rates.percent(gadget, old, "waiting_output_seconds"), progress_in_words(gadget));
  }
  return text;
}

// A number of a rank's among a gadget's figures; figures of other types are somebody else's.
std::optional<double> of_rank(const Json& figures, const char* key, std::size_t rank) {
  const auto values = figures.find(key);
  if (values == figures.end() || !values->is_array() || rank >= values->size() || !(*values)[rank].is_number())
    return std::nullopt;
  return (*values)[rank].get<double>();
}

// What each rank does of a gadget's work that several share.
std::string ranks_of(const std::string& name, const Json& figures, const Json& before, const Rates& rates,
                     std::size_t width) {
  const auto devices = figures.find("rank_devices");
  if (devices == figures.end() || !devices->is_array()) return "";
  std::string text;
  for (std::size_t rank = 0; rank < devices->size(); ++rank) {
    const auto rate = [&](const char* key) -> std::optional<double> {
      const auto now = of_rank(figures, key, rank), old = of_rank(before, key, rank);
      return now && old ? rates.of(*now, *old) : std::nullopt;
    };
    const auto share = [&](const char* key) {
      const auto of_time = rate(key);
      return of_time ? fmt::format("{:.0f}%", 100 * *of_time) : "-";
    };
    const auto data_rate = rate("rank_data");
    const Json& device = (*devices)[rank];
    text += fmt::format("{:<{}} {:>4} {:>9} {:>9} {:>10} {:>8} {:>7} {:>8}  {}\n", name, width, rank,
                        short_number(of_rank(figures, "rank_data", rank).value_or(0)),
                        data_rate ? short_number(*data_rate) : "-", share("rank_projecting_s"),
                        share("rank_planning_s"), share("rank_waiting_s"), share("rank_reducing_s"),
                        device.is_string() ? device.get<std::string>() : "");
  }
  return text;
}

std::string ranks(const Json& status, const Json& before, const Rates& rates) {
  const Json none = Json::object();
  const auto figures_of = [&](const Json& page, const std::string& name) -> const Json& {
    if (page.is_null()) return none;
    const Json& gadget = page.at("gadgets").at(name);
    const auto figures = gadget.find("figures");
    return figures == gadget.end() ? none : *figures;
  };
  std::size_t width = 8;
  for (const auto& [name, gadget] : status.at("gadgets").items()) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, gadget] : status.at("gadgets").items())
    text += ranks_of(name, figures_of(status, name), figures_of(before, name), rates, width);
  if (text.empty()) return "";
  return fmt::format("\n{:<{}} {:>4} {:>9} {:>9} {:>10} {:>8} {:>7} {:>8}  {}\n", "ranks of", width, "rank", "data",
                     "data/s", "projecting", "planning", "waiting", "reducing", "on") +
         text;
}

// An edge that spills goes by bytes alone.
std::string waiting_messages(const Json& edge) {
  const auto waiting = edge.at("waiting_messages").get<double>();
  if (edge.value("policy", "") == "spill") return fmt::format("{}", waiting);
  return fmt::format("{} of {}", waiting, edge.at("limit_messages").get<double>());
}

// "1.5 now, 20.0 most": what an edge that spills has there.
std::string on_disk(const Json& edge) {
  if (edge.value("most_disk_bytes", 0.0) == 0) return "-";
  return fmt::format("{:.1f} now, {:.1f} most", edge.at("disk_bytes").get<double>() / mebibyte,
                     edge.at("most_disk_bytes").get<double>() / mebibyte);
}

std::string edges(const Json& status) {
  std::size_t width = 4;
  for (const Json& edge : status.at("edges")) width = std::max(width, edge.at("edge").get<std::string>().size());
  const bool spills = std::ranges::any_of(status.at("edges"), [](const Json& e) { return e.contains("disk_bytes"); });
  std::string text = fmt::format("\n{:<{}} {:>15} {:>19} {:>9}{}\n", "edge", width, "waiting msgs", "waiting MiB",
                                 "dropped", spills ? "  MiB on disk" : "");
  for (const Json& edge : status.at("edges")) {
    const auto of = [&](const char* key) { return edge.at(key).get<double>(); };
    text +=
        fmt::format("{:<{}} {:>15} {:>19} {:>9}{}\n", edge.at("edge").get<std::string>(), width, waiting_messages(edge),
                    fmt::format("{:.1f} of {:.0f}", of("waiting_bytes") / mebibyte, of("limit_bytes") / mebibyte),
                    short_number(of("dropped_messages")), spills ? "  " + on_disk(edge) : "");
  }
  return text;
}

// Cut to the terminal's width, so that a page keeps its number of lines; names may be UTF-8, of which no half is left.
std::string cut(const std::string& text, std::size_t columns) {
  std::string page;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::size_t stop = std::min(end, at + columns);
    while (stop < end && stop > at && (static_cast<unsigned char>(text[stop]) & 0xC0) == 0x80) --stop;
    page.append(text, at, stop - at).push_back('\n');
    at = end + 1;
  }
  return page;
}

}  // namespace

std::string short_number(double value) {
  constexpr std::array<const char*, 6> prefixes{"", "k", "M", "G", "T", "P"};
  std::size_t power = 0;
  while (std::abs(value) >= 999.5 && power + 1 < prefixes.size()) {
    value /= 1000;
    ++power;
  }
  if (power == 0) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, prefixes[power]);
}

std::string top_view(const Json& status, const Json& before, std::size_t columns) {
  const Rates rates(status, before);
  return cut(
      head(status, before, rates) + gadgets(status, before, rates) + ranks(status, before, rates) + edges(status),
      columns);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
