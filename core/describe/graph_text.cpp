#include "core/describe/graph_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/gadget/value_json.hpp"

namespace tofstream {
namespace {

using Lines = std::vector<std::string>;

// A nested pipeline with what stands in it; the outermost is the pipeline itself.
struct Cluster {
  std::string name;
  std::vector<std::size_t> gadgets;
  std::vector<Cluster> inner;

  Cluster& within(const std::string& part) {
    const auto known = std::ranges::find(inner, part, &Cluster::name);
    return known != inner.end() ? *known : inner.emplace_back(Cluster{part, {}, {}});
  }
};

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

Cluster clusters_of(const Pipeline& pipeline) {
  Cluster outermost{pipeline.name, {}, {}};
  for (std::size_t i = 0; i < pipeline.gadgets.size(); ++i) {
    const std::string& name = pipeline.gadgets[i].name;
    Cluster* place = &outermost;
    std::size_t begin = 0;
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', begin)) {
      place = &place->within(name.substr(begin, slash - begin));
      begin = slash + 1;
    }
    place->gadgets.push_back(i);
  }
  return outermost;
}

std::string bytes_text(std::size_t bytes) {
  static constexpr std::array units{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, units[unit]);
}

std::string policy_name(EdgePolicy policy) {
  return detail::write_value(policy).text;
}

// What is unusual about a gadget, a line each.
Lines notes_of(const Pipeline& pipeline, std::size_t index) {
  const PipelineGadget& gadget = pipeline.gadgets[index];
  Lines notes;
  if (gadget.parallel > 1) notes.push_back(fmt::format("{} in parallel", gadget.parallel));
  if (gadget.merge == MergeOrder::ordered) notes.emplace_back("merge: ordered");
  if (gadget.join == JoinMode::sequence) notes.emplace_back("join: sequence");
  for (std::size_t port = 0; port < gadget.info->inputs.size(); ++port)
    if (std::ranges::none_of(pipeline.edges, [&](const auto& e) { return e.to == index && e.to_port == port; }))
      notes.push_back(gadget.info->inputs[port].name + ": not connected");
  if (gadget.fault.any()) notes.emplace_back("with faults");
  return notes;
}

Lines gadget_lines(const Pipeline& pipeline, std::size_t index) {
  const PipelineGadget& gadget = pipeline.gadgets[index];
  Lines lines{last_part(gadget.name), fmt::format("{}, {}", gadget.info->name, kind_name(gadget.info->kind))};
  for (std::string& note : notes_of(pipeline, index)) lines.push_back(std::move(note));
  return lines;
}

const PortInfo& input_of(const Pipeline& pipeline, const PipelineEdge& edge) {
  return pipeline.gadgets[edge.to].info->inputs[edge.to_port];
}

const PortInfo& output_of(const Pipeline& pipeline, const PipelineEdge& edge) {
  return pipeline.gadgets[edge.from].info->outputs[edge.from_port];
}

// The payload; the ports, if there are several; the bounds, if they are not the default ones.
Lines edge_lines(const Pipeline& pipeline, const PipelineEdge& edge) {
  const PortInfo& input = input_of(pipeline, edge);
  std::string payload = input.payload->name;
  if (pipeline.gadgets[edge.to].info->inputs.size() > 1) payload = input.name + ": " + payload;
  if (pipeline.gadgets[edge.from].info->outputs.size() > 1) payload = output_of(pipeline, edge).name + " to " + payload;
  if (input.is_optional) payload += " (optional)";
  if (edge.is_feedback) payload += " (feedback)";
  const EdgeSettings usual;
  Lines bounds;
  if (edge.settings.policy != usual.policy) bounds.push_back(policy_name(edge.settings.policy));
  if (edge.settings.messages != usual.messages)
    bounds.push_back(
        fmt::format("{} {}", edge.settings.messages, edge.settings.messages == 1 ? "message" : "messages"));
  if (edge.settings.bytes != usual.bytes) bounds.push_back(bytes_text(edge.settings.bytes));
  Lines lines{std::move(payload)};
  if (!bounds.empty()) lines.push_back(fmt::format("{}", fmt::join(bounds, ", ")));
  return lines;
}

struct Look {
  const char* kind;
  const char* mermaid_open;
  const char* mermaid_close;
  const char* dot_shape;
  const char* fill;
};

// In the order of GadgetKind.
constexpr std::array<Look, 4> looks{{{"source", "([", "])", "shape=box, style=\"rounded,filled\"", "#d8f0d8"},
                                     {"pure", "[", "]", "shape=box, style=filled", "#f4f4f4"},
                                     {"stateful", "[[", "]]", "shape=box, peripheries=2, style=filled", "#dce8f8"},
                                     {"sink", "([", "])", "shape=box, style=\"rounded,filled\"", "#f8e4d0"}}};

const Look& look_of(const PipelineGadget& gadget) {
  return looks[static_cast<std::size_t>(gadget.info->kind)];
}

// Mermaid's own codes for characters that it would take for markup.
std::string mermaid_label(const Lines& lines) {
  std::string text;
  for (const char c : fmt::format("{}", fmt::join(lines, "\n"))) {
    switch (c) {
      case '\n':
        text += "<br/>";
        break;
      case '"':
        text += "#quot;";
        break;
      case '#':
      case '<':
      case '>':
      case '&':
      case '`':
        text += fmt::format("#{};", static_cast<int>(c));
        break;
      default:
        text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return "\"" + text + "\"";
}

void mermaid_cluster(const Pipeline& pipeline, const Cluster& cluster, int& number, int depth, std::string& text) {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  for (const std::size_t i : cluster.gadgets) {
    const Look& look = look_of(pipeline.gadgets[i]);
    text += fmt::format("{}g{}{}{}{}:::{}\n", indent, i, look.mermaid_open, mermaid_label(gadget_lines(pipeline, i)),
                        look.mermaid_close, look.kind);
  }
  for (const Cluster& inner : cluster.inner) {
    text += fmt::format("{}subgraph p{} [{}]\n", indent, ++number, mermaid_label({inner.name}));
    mermaid_cluster(pipeline, inner, number, depth + 1, text);
    text += indent + "end\n";
  }
}

std::string dot_label(const Lines& lines) {
  std::string text;
  for (const char c : fmt::format("{}", fmt::join(lines, "\n"))) {
    if (c == '\n')
      text += "\\n";
    else if (c == '"' || c == '\\')
      text += {'\\', c};
    else if (c == '&')  // DOT reads HTML's entities in every label
      text += "&amp;";
    else
      text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return "\"" + text + "\"";
}

void dot_cluster(const Pipeline& pipeline, const Cluster& cluster, int& number, int depth, std::string& text) {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  for (const std::size_t i : cluster.gadgets) {
    const Look& look = look_of(pipeline.gadgets[i]);
    text += fmt::format("{}g{} [label={}, {}, fillcolor=\"{}\"]\n", indent, i, dot_label(gadget_lines(pipeline, i)),
                        look.dot_shape, look.fill);
  }
  for (const Cluster& inner : cluster.inner) {
    text += fmt::format("{}subgraph cluster_{} {{\n{}  label={}\n", indent, ++number, indent, dot_label({inner.name}));
    dot_cluster(pipeline, inner, number, depth + 1, text);
    text += indent + "}\n";
  }
}

nlohmann::ordered_json fault_json(const FaultSettings& fault) {
  nlohmann::ordered_json json = to_json(write_params(detail::infos_of<FaultSettings>(), &fault));
  for (auto it = json.begin(); it != json.end();) it = it->is_null() ? json.erase(it) : std::next(it);
  return json;
}

// A row of many gadgets is wider than a screen: down the page then.
const char* direction_of(const Pipeline& pipeline) {
  constexpr std::size_t most_in_a_row = 5;
  return pipeline.gadgets.size() > most_in_a_row ? "TB" : "LR";
}

}  // namespace

std::string mermaid_text(const Pipeline& pipeline) {
  std::string text =
      fmt::format("---\ntitle: {}\n---\nflowchart {}\n", nlohmann::json(pipeline.name).dump(), direction_of(pipeline));
  int number = 0;
  mermaid_cluster(pipeline, clusters_of(pipeline), number, 1, text);
  for (const PipelineEdge& edge : pipeline.edges)
    text += fmt::format("  g{} {}|{}| g{}\n", edge.from, edge.is_feedback ? "-.->" : "-->",
                        mermaid_label(edge_lines(pipeline, edge)), edge.to);
  for (const Look& look : looks)
    text += fmt::format("  classDef {} fill:{},stroke:#555,color:#111\n", look.kind, look.fill);
  return text;
}

std::string dot_text(const Pipeline& pipeline) {
  std::string text = fmt::format(
      "digraph {} {{\n  label={}\n  labelloc=t\n  rankdir={}\n  node [fontname=\"Helvetica\"]\n"
      "  edge [fontname=\"Helvetica\", fontsize=10]\n  fontname=\"Helvetica\"\n",
      dot_label({pipeline.name}), dot_label({pipeline.name}), direction_of(pipeline));
  int number = 0;
  dot_cluster(pipeline, clusters_of(pipeline), number, 1, text);
  for (const PipelineEdge& edge : pipeline.edges)  // a feedback edge does not push its reader behind its writer
    text += fmt::format("  g{} -> g{} [label={}{}]\n", edge.from, edge.to, dot_label(edge_lines(pipeline, edge)),
                        edge.is_feedback ? ", style=dashed, constraint=false" : "");
  return text + "}\n";
}

nlohmann::ordered_json graph_json(const Pipeline& pipeline) {
  using Json = nlohmann::ordered_json;
  Json gadgets = Json::array(), edges = Json::array();
  for (const PipelineGadget& gadget : pipeline.gadgets) {
    Json json{{"name", gadget.name},
              {"use", gadget.info->name},
              {"kind", kind_name(gadget.info->kind)},
              {"parallel", gadget.parallel},
              {"merge", detail::write_value(gadget.merge).text},
              {"join", detail::write_value(gadget.join).text}};
    if (gadget.fault.any()) json["fault"] = fault_json(gadget.fault);
    gadgets.push_back(std::move(json));
  }
  for (const PipelineEdge& edge : pipeline.edges)
    edges.push_back({{"edge", edge.name},
                     {"from", pipeline.gadgets[edge.from].name},
                     {"output", output_of(pipeline, edge).name},
                     {"to", pipeline.gadgets[edge.to].name},
                     {"input", input_of(pipeline, edge).name},
                     {"payload", output_of(pipeline, edge).payload->name},
                     {"policy", policy_name(edge.settings.policy)},
                     {"messages", edge.settings.messages},
                     {"bytes", edge.settings.bytes},
                     {"feedback", edge.is_feedback},
                     {"optional", input_of(pipeline, edge).is_optional}});
  return {{"pipeline", pipeline.name}, {"gadgets", gadgets}, {"edges", edges}};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
