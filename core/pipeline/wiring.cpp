#include "core/pipeline/wiring.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace tofstream {
namespace {

std::vector<std::string> names_of(const std::vector<PortInfo>& ports) {
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const PortInfo& port : ports) names.push_back(port.name);
  return names;
}

std::string label(const PipelineGadget& gadget) {
  return "gadgets." + gadget.name;
}

// The place of the gadget's `from`, which it has.
const Location& from_where(const PipelineGadget& gadget) {
  return gadget.settings.find("from")->where;
}

std::string inputs_in_words(const GadgetInfo& info) {
  std::vector<std::string> words;
  for (const PortInfo& port : info.inputs)
    words.push_back((info.inputs.size() > 1 ? port.name + ": " : "") + port.payload->name +
                    (port.is_optional ? " (optional)" : ""));
  return fmt::format("{}", fmt::join(words, ", "));
}

class Wiring {
 public:
  Wiring(const std::vector<PipelineGadget>& gadgets, Problems& problems) : gadgets_(gadgets), problems_(problems) {}

  std::vector<PipelineEdge> wire() {
    for (std::size_t to = 0; to < gadgets_.size(); ++to)
      if (gadgets_[to].has_ports) wire_inputs(to);
    return std::move(edges_);
  }

 private:
  void wire_inputs(std::size_t to) {
    const PipelineGadget& reader = gadgets_[to];
    const GadgetInfo& info = *reader.info;
    const std::size_t first = edges_.size();
    if (info.inputs.empty()) {
      if (!reader.from.empty())
        problems_.add(from_where(reader),
                      fmt::format("{}: {} is a source and takes no 'from'", label(reader), info.name));
    } else if (reader.from.empty()) {
      problems_.add(reader.where, fmt::format("{}: 'from' is missing: name the gadget whose output {} takes ({})",
                                              label(reader), info.name, inputs_in_words(info)));
    } else if (reader.from[0].input.empty()) {
      if (const auto port = unnamed_input(reader)) connect_all(to, *port, reader.from[0]);
    } else {
      wire_ports(to);
    }
    check_merge(reader, first);
  }

  // The input that `from: NAME` means: the only one, or the only one that must be connected.
  std::optional<std::size_t> unnamed_input(const PipelineGadget& reader) {
    const std::vector<PortInfo>& inputs = reader.info->inputs;
    if (inputs.size() == 1) return 0;
    if (std::ranges::count(inputs, false, &PortInfo::is_optional) == 1)
      return std::ranges::find(inputs, false, &PortInfo::is_optional) - inputs.begin();
    problems_.add(from_where(reader), fmt::format("{}: {} takes several inputs: from: {{{}: NAME}}", label(reader),
                                                  reader.info->name, fmt::join(names_of(inputs), ": NAME, ")));
    return std::nullopt;
  }

  void wire_ports(std::size_t to) {
    const PipelineGadget& reader = gadgets_[to];
    const std::vector<PortInfo>& inputs = reader.info->inputs;
    for (const InputSources& sources : reader.from) {
      const auto port = std::ranges::find(inputs, sources.input, &PortInfo::name);
      if (port == inputs.end())
        problems_.add(sources.where, fmt::format("{}: {} has no input '{}'{}", label(reader), reader.info->name,
                                                 sources.input, did_you_mean(sources.input, names_of(inputs))));
      else
        connect_all(to, static_cast<std::size_t>(port - inputs.begin()), sources);
    }
    for (const PortInfo& port : inputs)
      if (!port.is_optional && std::ranges::find(reader.from, port.name, &InputSources::input) == reader.from.end())
        problems_.add(from_where(reader), fmt::format("{}: input '{}' ({}) of {} is not connected: add it to 'from'",
                                                      label(reader), port.name, port.payload->name, reader.info->name));
  }

  void connect_all(std::size_t to, std::size_t to_port, const InputSources& sources) {
    const PipelineGadget& reader = gadgets_[to];
    if (reader.info->inputs[to_port].is_feedback && sources.sources.size() > 1)
      problems_.add(sources.where,
                    fmt::format("{}: '{}' is a feedback input and takes one writer, not {}", label(reader),
                                reader.info->inputs[to_port].name, sources.sources.size()));
    const std::size_t first = edges_.size();
    for (const SourceName& source : sources.sources) connect(to, to_port, source);
    for (std::size_t i = first; i < edges_.size(); ++i)
      for (std::size_t j = i + 1; j < edges_.size(); ++j)
        if (edges_[i].from == edges_[j].from && edges_[i].from_port == edges_[j].from_port)
          problems_.add(edges_[j].where, fmt::format("{}: one input reads '{}' twice: name it once", label(reader),
                                                     gadgets_[edges_[j].from].name));
    widen(first);
  }

  void connect(std::size_t to, std::size_t to_port, const SourceName& source) {
    const PipelineGadget& reader = gadgets_[to];
    const auto found = std::ranges::find(gadgets_, source.gadget, &PipelineGadget::name);
    if (found == gadgets_.end() || !found->has_ports) return;  // reported where its type is
    const PipelineGadget& writer = *found;
    const auto from_port = find_output(reader, writer, source);
    if (!from_port) return;
    const PayloadType& given = *writer.info->outputs[*from_port].payload;
    const PortInfo& input = reader.info->inputs[to_port];
    if (!given.same_as(*input.payload)) {
      problems_.add(source.written.where,
                    fmt::format("{}: '{}' ({}) gives {}, but {} takes {}{}", label(reader), source.written.text,
                                writer.info->name, given.name, reader.info->name, input.payload->name,
                                reader.info->inputs.size() > 1 ? " as '" + input.name + "'" : ""));
      return;
    }
    add_edge(static_cast<std::size_t>(found - gadgets_.begin()), *from_port, to, to_port, source.written.where);
  }

  std::optional<std::size_t> find_output(const PipelineGadget& reader, const PipelineGadget& writer,
                                         const SourceName& source) {
    const std::vector<PortInfo>& outputs = writer.info->outputs;
    const Location& where = source.written.where;
    if (outputs.empty()) {
      problems_.add(where, fmt::format("{}: '{}' ({}) is a sink and gives nothing", label(reader), writer.name,
                                       writer.info->name));
      return std::nullopt;
    }
    if (source.port.empty() && outputs.size() == 1) return 0;
    std::vector<std::string> choices;
    choices.reserve(outputs.size());
    for (const PortInfo& output : outputs) choices.push_back(writer.name + "." + output.name);
    if (source.port.empty()) {
      problems_.add(where, fmt::format("{}: '{}' has several outputs: write {}", label(reader), writer.name,
                                       fmt::join(choices, " or ")));
      return std::nullopt;
    }
    const auto found = std::ranges::find(outputs, source.port, &PortInfo::name);
    if (found != outputs.end()) return static_cast<std::size_t>(found - outputs.begin());
    problems_.add(where, fmt::format("{}: {} has no output '{}'{}", label(reader), writer.info->name, source.port,
                                     did_you_mean(writer.name + "." + source.port, choices)));
    return std::nullopt;
  }

  void add_edge(std::size_t from, std::size_t from_port, std::size_t to, std::size_t to_port, const Location& where) {
    const PipelineGadget& reader = gadgets_[to];
    const PipelineGadget& writer = gadgets_[from];
    const auto end = [](const PipelineGadget& gadget, const std::vector<PortInfo>& ports, std::size_t port) {
      return ports.size() > 1 ? gadget.name + "." + ports[port].name : gadget.name;
    };
    const EdgeSettings& settings = gadgets_[to].edges[to_port].settings;
    if (settings.policy == EdgePolicy::drop_oldest && gadgets_[to].from.size() > 1 && reader.join != JoinMode::sequence)
      problems_.add(where, fmt::format("{}: drop_oldest would pair the wrong messages of its inputs: use block, or "
                                       "join: sequence",
                                       label(reader)));
    check_spill(gadgets_[to].edges[to_port], *writer.info->outputs[from_port].payload, reader);
    edges_.push_back(
        {from, from_port, to, to_port, settings, reader.info->inputs[to_port].is_feedback, where,
         end(writer, writer.info->outputs, from_port) + " -> " + end(reader, reader.info->inputs, to_port)});
  }

  void check_spill(const InputEdge& edge, const PayloadType& payload, const PipelineGadget& reader) {
    const EdgeSettings& settings = edge.settings;
    if (settings.policy == EdgePolicy::spill) {
      if (!payload.spill)
        problems_.add(edge.where,
                      fmt::format("{}: policy spill cannot put '{}' on disk: use block, and spill at an edge "
                                  "upstream whose payload can be put there",
                                  label(reader), payload.name));
    } else if (settings.disk_bytes || !settings.spill_folder.empty() || settings.bytes == 0) {
      problems_.add(
          edge.where,
          fmt::format("{}: disk_bytes, spill_folder and bytes: 0 are for an edge with policy: spill", label(reader)));
    }
  }

  // A parallel writer holds a place for each message in work, so fewer places would leave it idle. All edges of an
  // input are alike.
  void widen(std::size_t first) {
    std::size_t places = 0;
    for (std::size_t i = first; i < edges_.size(); ++i)
      if (!gadgets_[edges_[i].to].edges[edges_[i].to_port].messages_given)
        places = std::max<std::size_t>(places, 2 * gadgets_[edges_[i].from].parallel);
    for (std::size_t i = first; i < edges_.size(); ++i)
      edges_[i].settings.messages = std::max(edges_[i].settings.messages, places);
  }

  void check_merge(const PipelineGadget& reader, std::size_t first) {
    const Value* const merge = reader.settings.find("merge");
    if (!merge) return;
    const bool merges = std::ranges::any_of(reader.from, [](const auto& input) { return input.sources.size() > 1; });
    if (!merges && edges_.size() > first)
      problems_.add(merge->where,
                    fmt::format("{}: 'merge' is for an input with several writers: from: [A, B]", label(reader)));
  }

  const std::vector<PipelineGadget>& gadgets_;
  Problems& problems_;
  std::vector<PipelineEdge> edges_;
};

std::vector<bool> reachable_from(std::size_t start, std::size_t count, const std::vector<PipelineEdge>& edges) {
  std::vector<bool> reached(count);
  std::vector<std::size_t> open{start};
  reached[start] = true;
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const PipelineEdge& edge : edges)
      if (edge.from == at && !reached[edge.to]) {
        reached[edge.to] = true;
        open.push_back(edge.to);
      }
  }
  return reached;
}

// A cycle among `left`, as names: "a -> b -> a".
std::string cycle_in_words(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                           const std::vector<std::size_t>& left, std::size_t& closing) {
  // Every gadget that is left has a predecessor that is left, so walking back must close a cycle.
  std::vector<std::size_t> walk{left.front()};
  while (true) {
    const auto edge = std::ranges::find_if(edges, [&](const PipelineEdge& e) {
      return e.to == walk.back() && !e.is_feedback && std::ranges::find(left, e.from) != left.end();
    });
    const auto seen = std::ranges::find(walk, edge->from);
    if (seen == walk.end()) {
      walk.push_back(edge->from);
      continue;
    }
    closing = static_cast<std::size_t>(edge - edges.begin());
    std::string words = gadgets[edge->from].name;
    for (auto at = walk.end(); at != seen;) words += " -> " + gadgets[*--at].name;
    return words;
  }
}

void check_feedback(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                    Problems& problems) {
  for (const PipelineEdge& edge : edges) {
    if (!edge.is_feedback) continue;
    const std::vector<bool> after_reader = reachable_from(edge.to, gadgets.size(), edges);
    if (!after_reader[edge.from]) continue;  // no cycle through this edge
    bool opened = false;
    for (std::size_t i = 0; i < gadgets.size(); ++i)
      opened = opened ||
               (gadgets[i].info->has_start && after_reader[i] && reachable_from(i, gadgets.size(), edges)[edge.from]);
    if (!opened)
      problems.add(edge.where, fmt::format("gadgets.{}: the cycle through {} never begins: no gadget on it has a first "
                                           "message (a start function)",
                                           gadgets[edge.to].name, edge.name));
  }
}

}  // namespace

std::vector<PipelineEdge> wire(const std::vector<PipelineGadget>& gadgets, Problems& problems) {
  return Wiring(gadgets, problems).wire();
}

std::vector<std::size_t> topological_order(const std::vector<PipelineGadget>& gadgets,
                                           const std::vector<PipelineEdge>& edges, Problems& problems) {
  std::vector<std::size_t> writers(gadgets.size());  // that are not in the order yet
  for (const PipelineEdge& edge : edges)
    if (!edge.is_feedback) ++writers[edge.to];
  std::vector<std::size_t> left(gadgets.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::vector<std::size_t> order;
  while (!left.empty()) {
    const auto next = std::ranges::find_if(left, [&](std::size_t gadget) { return writers[gadget] == 0; });
    if (next == left.end()) {
      std::size_t closing = 0;
      const std::string words = cycle_in_words(gadgets, edges, left, closing);
      problems.add(edges[closing].where, fmt::format("the gadgets form a cycle without a feedback input: {}", words));
      return order;
    }
    for (const PipelineEdge& edge : edges)
      if (edge.from == *next && !edge.is_feedback) --writers[edge.to];
    order.push_back(*next);
    left.erase(next);
  }
  check_feedback(gadgets, edges, problems);
  return order;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
