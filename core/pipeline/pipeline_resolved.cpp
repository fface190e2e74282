#include "core/pipeline/pipeline_resolved.hpp"

#include <algorithm>

namespace tofstream {
namespace {

template <class E>
Value enum_value(E value) {
  return detail::write_value(value);
}

class Resolver {
 public:
  Resolver(const std::vector<PipelineGadget>& gadgets, const std::vector<PipelineEdge>& edges)
      : gadgets_(gadgets), edges_(edges) {}

  Value resolve(std::size_t index) const {
    const PipelineGadget& gadget = gadgets_[index];
    Value map = Value::map();
    map.set("use", Value::scalar(gadget.info->name, true));
    add_inputs(index, map);
    if (gadget.parallel > 1) map.set("parallel", Value::scalar(std::to_string(gadget.parallel)));
    if (gadget.fault.any()) map.set("fault", fault(gadget.fault));
    for (const Value::Entry& param : gadget.resolved.entries) map.set(param.key, param.value);
    return map;
  }

 private:
  void add_inputs(std::size_t index, Value& map) const {
    const PipelineGadget& gadget = gadgets_[index];
    const bool named = gadget.info->inputs.size() > 1;
    Value from = Value::map(), edge = Value::map();
    bool merges = false;
    for (const std::size_t port : ports_in_order(index)) {
      std::vector<const PipelineEdge*> writers;
      for (const PipelineEdge& e : edges_)
        if (e.to == index && e.to_port == port) writers.push_back(&e);
      merges = merges || writers.size() > 1;
      Value sources = Value::sequence();
      for (const PipelineEdge* e : writers) sources.items.push_back(source(*e));
      if (writers.size() == 1) sources = sources.items[0];
      Value settings = edge_settings(writers[0]->settings);
      if (!named) from = sources, edge = settings;
      if (named) from.set(gadget.info->inputs[port].name, sources);
      if (named) edge.set(gadget.info->inputs[port].name, settings);
    }
    if (gadget.info->inputs.empty()) return;
    map.set("from", from);
    map.set("edge", edge);
    if (merges) map.set("merge", enum_value(gadget.merge));
    if (named) map.set("join", enum_value(gadget.join));
  }

  // The connected inputs as `from` lists them.
  std::vector<std::size_t> ports_in_order(std::size_t index) const {
    std::vector<std::size_t> ports;
    for (const PipelineEdge& edge : edges_)
      if (edge.to == index && std::ranges::find(ports, edge.to_port) == ports.end()) ports.push_back(edge.to_port);
    return ports;
  }

  Value source(const PipelineEdge& edge) const {
    const PipelineGadget& writer = gadgets_[edge.from];
    const std::vector<PortInfo>& outputs = writer.info->outputs;
    return Value::scalar(outputs.size() > 1 ? writer.name + "." + outputs[edge.from_port].name : writer.name, true);
  }

  static Value edge_settings(const EdgeSettings& settings) {
    Value all = write_params(detail::infos_of<EdgeSettings>(), &settings);
    std::erase_if(all.entries, [&](const Value::Entry& entry) {
      const bool spills = settings.policy == EdgePolicy::spill;
      return (entry.key == "disk_bytes" && !settings.disk_bytes) || (entry.key == "spill_folder" && !spills);
    });
    return all;
  }

  static Value fault(const FaultSettings& settings) {
    Value all = write_params(detail::infos_of<FaultSettings>(), &settings);
    std::erase_if(all.entries, [](const Value::Entry& entry) { return entry.value.kind == Value::Kind::null; });
    return all;
  }

  const std::vector<PipelineGadget>& gadgets_;
  const std::vector<PipelineEdge>& edges_;
};

}  // namespace

Value resolved_pipeline(const std::string& name, const std::vector<PipelineGadget>& gadgets,
                        const std::vector<PipelineEdge>& edges) {
  Value resolved = Value::map();
  resolved.set("pipeline", Value::scalar(name, true));
  Value& all = resolved.set("gadgets", Value::map());
  for (std::size_t i = 0; i < gadgets.size(); ++i) all.set(gadgets[i].name, Resolver(gadgets, edges).resolve(i));
  return resolved;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
