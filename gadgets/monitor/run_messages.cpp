// JSON to and from the live page: see run_messages.hpp.
#include "gadgets/monitor/run_messages.hpp"

#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/version.hpp"
#include "core/gadget/value_json.hpp"

namespace tofstream {
namespace {

using Json = nlohmann::ordered_json;
constexpr int protocol = 1;
constexpr std::size_t longest_figure = 256;  // of a list of numbers: its last ones

// Names may be no valid UTF-8: they are replaced, never a reason to say nothing.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::uint64_t total(const std::map<std::string, std::uint64_t>& by_reason) {
  return std::accumulate(by_reason.begin(), by_reason.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

Json finite(double x) {
  return std::isfinite(x) ? Json(x) : Json(nullptr);
}

const char* kind_text(TypeInfo::Kind kind) {
  switch (kind) {
    case TypeInfo::Kind::boolean:
      return "boolean";
    case TypeInfo::Kind::integer:
      return "integer";
    case TypeInfo::Kind::number:
      return "number";
    case TypeInfo::Kind::choice:
      return "choice";
    case TypeInfo::Kind::list:
      return "list";
    default:
      return "text";
  }
}

Json parameter_json(const LiveParameter& parameter) {
  const ParamInfo& info = *parameter.info;
  const bool has_choices = !info.choices.empty() && info.type_info.kind != TypeInfo::Kind::list;
  Json json{{"gadget", parameter.gadget},
            {"name", info.name},
            {"kind", has_choices ? "choice" : kind_text(info.type_info.kind)},
            {"unit", info.rules.unit},
            {"doc", info.rules.doc},
            {"lo", finite(std::max(info.rules.limits.lo, info.type_info.lo))},
            {"hi", finite(std::min(info.rules.limits.hi, info.type_info.hi))},
            {"value", to_json(parameter.value)},
            {"default", to_json(info.default_value)}};
  if (has_choices) json["choices"] = info.choices;
  return json;
}

Json gadget_json(const GadgetReport& gadget) {
  Json figures = Json::object();
  for (const auto& [key, figure] : gadget.figures) {
    if (const auto* list = std::get_if<std::vector<double>>(&figure); list && list->size() > longest_figure)
      figures[key] = std::vector<double>(list->end() - longest_figure, list->end());
    else
      figures[key] = to_json(figure);
  }
  Json json{{"messages_in", gadget.messages_in},   {"messages_out", gadget.messages_out},
            {"events_in", gadget.events_in},       {"events_out", gadget.events_out},
            {"busy_seconds", gadget.busy_seconds}, {"waiting_output_seconds", gadget.waiting_output_seconds},
            {"figures", std::move(figures)}};
  if (const Progress& p = gadget.progress; p.done > 0)
    json["progress"] = {{"done", finite(p.done)}, {"total", finite(p.total)}, {"unit", p.unit}};
  return json;
}

Json edge_json(const EdgeReport& edge) {
  return {{"messages", edge.figures.messages},
          {"waiting_messages", edge.figures.waiting_messages},
          {"waiting_bytes", edge.figures.waiting_bytes},
          {"disk_bytes", edge.figures.disk_bytes},
          {"most_disk_bytes", edge.figures.most_disk_bytes},
          {"dropped_messages", edge.figures.dropped_messages}};
}

Json latency_json(const LatencyFigures& latency) {
  return {{"messages", latency.messages},
          {"p50_seconds", latency.p50_seconds},
          {"p99_seconds", latency.p99_seconds},
          {"max_seconds", latency.max_seconds}};
}

Json counts_json(const CountSample& counts) {
  return {counts.seconds, counts.received, counts.reconstructed, counts.rejected, counts.lost};
}

Json pipeline_edge_json(const Pipeline& pipeline, const PipelineEdge& edge) {
  return {{"name", edge.name},
          {"from", pipeline.gadgets[edge.from].name},
          {"to", pipeline.gadgets[edge.to].name},
          {"feedback", edge.is_feedback},
          {"drops", edge.settings.policy == EdgePolicy::drop_oldest},
          {"spills", edge.settings.policy == EdgePolicy::spill},
          {"limit_messages", edge.settings.messages},
          {"limit_bytes", edge.settings.bytes}};
}

// A parameter's value as YAML would have it; nothing where JSON says what no live parameter can be.
std::optional<Value> value_of(const Json& json) {
  if (json.is_string()) return Value::scalar(json.get<std::string>(), true);
  if (json.is_boolean() || json.is_number()) return Value::scalar(json.dump());
  if (!json.is_array()) return std::nullopt;
  Value list = Value::sequence();
  for (const Json& item : json) {
    std::optional<Value> value = item.is_array() ? std::nullopt : value_of(item);
    if (!value) return std::nullopt;
    list.items.push_back(std::move(*value));
  }
  return list;
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string answer(const Json& message, const std::string& error) {
  Json json{{"type", "answer"}, {"ok", error.empty()}};
  if (message.is_object() && message.contains("id") && message["id"].is_number_integer()) json["id"] = message["id"];
  if (!error.empty()) json["error"] = error;
  return dumped(json);
}

std::string set_parameter(RunControl& run, const Json& message) {
  const std::optional<Value> value = message.contains("value") ? value_of(message["value"]) : std::nullopt;
  if (!value) return "value: a number, a text, true, false, or a list of these is needed";
  const std::vector<Problem> problems =
      run.set_parameter(text_at(message, "gadget"), text_at(message, "parameter"), *value);
  return problems.empty() ? "" : problems.front().text();
}

}  // namespace

CountSample count_sample(const RunReport& report, double seconds) {
  const BookBalance& books = report.books;
  return {seconds, books.received, books.reconstructed + books.written, total(books.rejected) + books.discarded,
          total(books.lost)};
}

std::string hello_message(const RunControl& run, bool may_steer, const std::deque<CountSample>& counts) {
  const Pipeline& pipeline = run.pipeline();
  Json json{{"type", "hello"},           {"protocol", protocol},        {"version", version()},
            {"pipeline", pipeline.name}, {"steering", may_steer},       {"gadgets", Json::array()},
            {"edges", Json::array()},    {"parameters", Json::array()}, {"counts", Json::array()}};
  for (const PipelineGadget& gadget : pipeline.gadgets)
    json["gadgets"].push_back({{"name", gadget.name},
                               {"use", gadget.info->name},
                               {"kind", kind_name(gadget.info->kind)},
                               {"doc", gadget.info->doc}});
  for (const PipelineEdge& edge : pipeline.edges) json["edges"].push_back(pipeline_edge_json(pipeline, edge));
  for (const LiveParameter& parameter : run.live_parameters()) json["parameters"].push_back(parameter_json(parameter));
  for (const CountSample& sample : counts) json["counts"].push_back(counts_json(sample));
  return dumped(json);
}

std::string state_message(const RunControl& run, const RunReport& report, const PageFigures& page) {
  const BookBalance& books = report.books;
  Json json{{"type", "state"},
            {"phase", outcome(report)},
            {"ended", page.has_ended},
            {"seconds", page.seconds},
            {"waiting", Json::array()},
            {"counts", counts_json(count_sample(report, page.seconds))},
            {"books",
             {{"received", books.received},
              {"reconstructed", books.reconstructed},
              {"written", books.written},
              {"rejected", books.rejected},
              {"lost", books.lost},
              {"discarded", books.discarded}}},
            {"latency", latency_json(report.latency)},
            {"shown", latency_json(page.shown)},
            {"images", page.images},
            {"past", Json::array()},
            {"parameters", Json::array()},
            {"gadgets", Json::array()},
            {"edges", Json::array()}};
  for (const GadgetReport& gadget : report.gadgets)
    if (!gadget.waiting.empty()) json["waiting"].push_back({{"gadget", gadget.name}, {"what", gadget.waiting}});
  if (page.has_ended) {
    json["folder"] = report.output_dir.string();
    json["files"] = Json::array();
    for (const RunFile& file : report.files) json["files"].push_back(file.name);
  }
  for (const PastEstimate& past : page.past)
    json["past"].push_back({past.number, past.iteration, past.subset, past.seconds});
  for (const LiveParameter& parameter : run.live_parameters()) json["parameters"].push_back(to_json(parameter.value));
  for (const GadgetReport& gadget : report.gadgets) json["gadgets"].push_back(gadget_json(gadget));
  for (const EdgeReport& edge : report.edges) json["edges"].push_back(edge_json(edge));
  return dumped(json);
}

std::string answer_message(const PageRequests& requests, std::string_view text) {
  const Json message = Json::parse(text, nullptr, false);
  if (!message.is_object()) return answer({}, "a message is a JSON object");
  const std::string type = text_at(message, "type");
  if (type == "shown") {
    const auto number = message.find("number");
    if (number != message.end() && number->is_number_unsigned()) requests.shown(number->get<std::uint32_t>());
    return {};
  }
  if (type != "set" && type != "stop") return answer(message, "type: set, stop or shown is needed");
  if (!requests.may_steer) return answer(message, "this page only shows: web_monitor says `steering: false`");
  if (type == "set") return answer(message, set_parameter(requests.run, message));
  requests.run.request_stop();
  return answer(message, "");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
