#include "core/wiring.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tofstream {
namespace {

std::vector<std::string> names_of(const std::vector<PortInfo>& ports) {
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const PortInfo& port : ports) names.push_back(port.name);
  return names;
}

class Wiring {
 public:
  Wiring(const std::vector<UnwiredGadget>& gadgets, Problems& problems) : gadgets_(gadgets), problems_(problems) {}

  std::vector<PipelineEdge> wire() {
    for (std::size_t to = 0; to < gadgets_.size(); ++to) wire_inputs(to);
    return std::move(edges_);
  }

 private:
  static std::string label(const PipelineGadget& gadget) { return "gadgets." + gadget.name; }

  void wire_inputs(std::size_t to) {
    const auto& [gadget, from, edge, messages_given] = gadgets_[to];
    if (!gadget.info) {
      check_names_only(to, from);
    } else if (gadget.info->inputs.empty()) {
      if (from.kind != Value::Kind::null)
        problems_.add(from.where,
                      fmt::format("{}: {} is a source and takes no 'from'", label(gadget), gadget.info->name));
    } else if (from.kind == Value::Kind::null) {
      problems_.add(gadget.where, fmt::format("{}: 'from' is missing: name the gadget whose output {} takes ({})",
                                              label(gadget), gadget.info->name, inputs_in_words(*gadget.info)));
    } else if (from.kind == Value::Kind::map) {
      wire_ports(to, from);
    } else if (gadget.info->inputs.size() > 1) {
      std::vector<std::string> ports;
      for (const PortInfo& port : gadget.info->inputs) ports.push_back(port.name + ": NAME");
      problems_.add(from.where, fmt::format("{}: {} takes several inputs: from: {{{}}}", label(gadget),
                                            gadget.info->name, fmt::join(ports, ", ")));
    } else {
      connect(to, 0, from);
    }
  }

  static std::string inputs_in_words(const GadgetInfo& info) {
    std::vector<std::string> words;
    for (const PortInfo& port : info.inputs)
      words.push_back(info.inputs.size() > 1 ? port.name + ": " + port.payload->name : port.payload->name);
    return fmt::format("{}", fmt::join(words, ", "));
  }

  // The gadget's own type is unknown, but a misspelt name in its `from` can still be told.
  void check_names_only(std::size_t to, const Value& from) {
    if (from.kind == Value::Kind::scalar) find_source(to, from);
    for (const Value::Entry& entry : from.entries)
      if (entry.value.kind == Value::Kind::scalar) find_source(to, entry.value);
  }

  void wire_ports(std::size_t to, const Value& from) {
    const PipelineGadget& gadget = gadgets_[to].gadget;
    const std::vector<PortInfo>& inputs = gadget.info->inputs;
    for (const Value::Entry& entry : from.entries) {
      const auto port = std::ranges::find(inputs, entry.key, &PortInfo::name);
      if (port == inputs.end()) {
        problems_.add(entry.where, fmt::format("{}: {} has no input '{}'{}", label(gadget), gadget.info->name,
                                               entry.key, did_you_mean(entry.key, names_of(inputs))));
      } else {
        connect(to, static_cast<std::size_t>(port - inputs.begin()), entry.value);
      }
    }
    for (const PortInfo& port : inputs)
      if (!from.find(port.name))
        problems_.add(from.where, fmt::format("{}: input '{}' ({}) of {} is not connected: add it to 'from'",
                                              label(gadget), port.name, port.payload->name, gadget.info->name));
  }

  // The gadget and the port text that a `from` names: "gadget" or "gadget.port".
  std::optional<std::pair<std::size_t, std::string>> find_source(std::size_t to, const Value& from) {
    const std::size_t dot = from.text.find('.');
    const std::string name = from.text.substr(0, dot);
    const auto found = std::ranges::find_if(gadgets_, [&](const auto& g) { return g.gadget.name == name; });
    if (found == gadgets_.end()) {
      std::vector<std::string> names;
      for (const UnwiredGadget& other : gadgets_)
        if (other.gadget.name != gadgets_[to].gadget.name) names.push_back(other.gadget.name);
      problems_.add(from.where, fmt::format("{}: from '{}': no gadget has this name{}", label(gadgets_[to].gadget),
                                            from.text, did_you_mean(name, names)));
      return std::nullopt;
    }
    return std::pair{static_cast<std::size_t>(found - gadgets_.begin()),
                     dot == std::string::npos ? std::string() : from.text.substr(dot + 1)};
  }

  void connect(std::size_t to, std::size_t to_port, const Value& from) {
    const PipelineGadget& reader = gadgets_[to].gadget;
    if (from.kind != Value::Kind::scalar) {
      problems_.add(from.where,
                    fmt::format("{}: from takes the name of a gadget, not {}", label(reader), from.in_words()));
      return;
    }
    const auto source = find_source(to, from);
    if (!source) return;
    const PipelineGadget& writer = gadgets_[source->first].gadget;
    if (!writer.info) return;
    const auto from_port = find_output(reader, writer, source->second, from);
    if (!from_port) return;
    const PayloadType& given = *writer.info->outputs[*from_port].payload;
    const PortInfo& input = reader.info->inputs[to_port];
    if (!given.same_as(*input.payload)) {
      problems_.add(from.where, fmt::format("{}: '{}' ({}) gives {}, but {} takes {}{}", label(reader), from.text,
                                            writer.info->name, given.name, reader.info->name, input.payload->name,
                                            reader.info->inputs.size() > 1 ? " as '" + input.name + "'" : ""));
      return;
    }
    add_edge(source->first, *from_port, to, to_port, from.where);
  }

  std::optional<std::size_t> find_output(const PipelineGadget& reader, const PipelineGadget& writer,
                                         const std::string& port, const Value& from) {
    const std::vector<PortInfo>& outputs = writer.info->outputs;
    if (outputs.empty()) {
      problems_.add(from.where, fmt::format("{}: '{}' ({}) is a sink and gives nothing", label(reader), writer.name,
                                            writer.info->name));
      return std::nullopt;
    }
    if (port.empty() && outputs.size() == 1) return 0;
    std::vector<std::string> choices;
    choices.reserve(outputs.size());
    for (const PortInfo& output : outputs) choices.push_back(writer.name + "." + output.name);
    if (port.empty()) {
      problems_.add(from.where, fmt::format("{}: '{}' has several outputs: write {}", label(reader), writer.name,
                                            fmt::join(choices, " or ")));
      return std::nullopt;
    }
    const auto found = std::ranges::find(outputs, port, &PortInfo::name);
    if (found != outputs.end()) return static_cast<std::size_t>(found - outputs.begin());
    problems_.add(from.where, fmt::format("{}: {} has no output '{}'{}", label(reader), writer.info->name, port,
                                          did_you_mean(from.text, choices)));
    return std::nullopt;
  }

  void add_edge(std::size_t from, std::size_t from_port, std::size_t to, std::size_t to_port, const Location& where) {
    const UnwiredGadget& reader = gadgets_[to];
    const UnwiredGadget& writer = gadgets_[from];
    const auto end = [](const PipelineGadget& gadget, const std::vector<PortInfo>& ports, std::size_t port) {
      return ports.size() > 1 ? gadget.name + "." + ports[port].name : gadget.name;
    };
    PipelineEdge edge{from,
                      from_port,
                      to,
                      to_port,
                      reader.edge,
                      reader.gadget.info->inputs[to_port].is_feedback,
                      where,
                      end(writer.gadget, writer.gadget.info->outputs, from_port) + " -> " +
                          end(reader.gadget, reader.gadget.info->inputs, to_port)};
    // A parallel writer holds a place for each message in work, so fewer places would leave it
    // idle.
    if (!reader.messages_given)
      edge.settings.messages = std::max<std::size_t>(edge.settings.messages, 2 * writer.gadget.parallel);
    if (edge.settings.policy == EdgePolicy::drop_oldest && reader.gadget.info->inputs.size() > 1)
      problems_.add(where, fmt::format("{}: drop_oldest would pair the wrong messages of its inputs: use block",
                                       label(reader.gadget)));
    edges_.push_back(std::move(edge));
  }

  const std::vector<UnwiredGadget>& gadgets_;
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
std::string cycle_in_words(const std::vector<UnwiredGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                           const std::vector<std::size_t>& left, std::size_t& closing) {
  // Every gadget that is left has a predecessor that is left: walking back must come round.
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
    std::string words = gadgets[edge->from].gadget.name;
    for (auto at = walk.end(); at != seen;) words += " -> " + gadgets[*--at].gadget.name;
    return words;
  }
}

void check_feedback(const std::vector<UnwiredGadget>& gadgets, const std::vector<PipelineEdge>& edges,
                    Problems& problems) {
  for (const PipelineEdge& edge : edges) {
    if (!edge.is_feedback) continue;
    const std::vector<bool> after_reader = reachable_from(edge.to, gadgets.size(), edges);
    if (!after_reader[edge.from]) continue;  // no cycle through this edge
    bool opened = false;
    for (std::size_t i = 0; i < gadgets.size(); ++i)
      opened = opened || (gadgets[i].gadget.info->has_start && after_reader[i] &&
                          reachable_from(i, gadgets.size(), edges)[edge.from]);
    if (!opened)
      problems.add(edge.where, fmt::format("gadgets.{}: the cycle through {} never begins: no gadget on it has a first "
                                           "message (a start function)",
                                           gadgets[edge.to].gadget.name, edge.name));
  }
}

}  // namespace

std::vector<PipelineEdge> wire(const std::vector<UnwiredGadget>& gadgets, Problems& problems) {
  return Wiring(gadgets, problems).wire();
}

std::vector<std::size_t> topological_order(const std::vector<UnwiredGadget>& gadgets,
                                           const std::vector<PipelineEdge>& edges, Problems& problems) {
  std::vector<std::size_t> left(gadgets.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  std::vector<std::size_t> order;
  const auto waits = [&](std::size_t gadget) {
    return std::ranges::any_of(edges, [&](const PipelineEdge& e) {
      return e.to == gadget && !e.is_feedback && std::ranges::find(left, e.from) != left.end();
    });
  };
  while (!left.empty()) {
    const auto next = std::ranges::find_if_not(left, waits);
    if (next == left.end()) {
      std::size_t closing = 0;
      const std::string words = cycle_in_words(gadgets, edges, left, closing);
      problems.add(edges[closing].where, fmt::format("the gadgets form a cycle without a feedback input: {}", words));
      return order;
    }
    order.push_back(*next);
    left.erase(next);
  }
  check_feedback(gadgets, edges, problems);
  return order;
}

}  // namespace tofstream
