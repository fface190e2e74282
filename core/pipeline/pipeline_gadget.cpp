#include "core/pipeline/pipeline_gadget.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace tofstream {
namespace {

class Reader {
 public:
  Reader(const FlatGadget& flat, const Value& defaults, Problems& problems)
      : flat_(flat), defaults_(defaults), problems_(problems), label_("gadgets." + flat.name) {
    unwired_.gadget.name = flat.name;
    unwired_.gadget.where = flat.where;
    unwired_.level = flat.level;
    unwired_.from = flat.from;
    unwired_.from_where = flat.from_where;
  }

  UnwiredGadget read(const Registry& known) {
    gadget().info = find_type(known);
    if (!gadget().info) return std::move(unwired_);
    read_parallel();
    read_merge_and_join();
    read_fault();
    const std::size_t problems_before = problems_.all().size();
    read_own_params();
    unwired_.has_ports = problems_.all().size() == problems_before || !gadget().info->specialise;
    if (unwired_.has_ports && gadget().info->specialise) specialise();
    if (!unwired_.has_ports) return std::move(unwired_);
    read_edges();
    check_join();
    return std::move(unwired_);
  }

 private:
  PipelineGadget& gadget() { return unwired_.gadget; }
  const std::string& type() { return gadget().info->name; }

  const GadgetInfo* find_type(const Registry& known) {
    const Value* use = flat_.settings.find("use");
    if (!use || use->kind != Value::Kind::scalar) {
      problems_.add(use ? use->where : flat_.where, fmt::format("{}: 'use' must name the kind of gadget", label_));
      return nullptr;
    }
    const GadgetInfo* info = known.find(use->text);
    if (info) return info;
    std::vector<std::string> names = known.names();
    names.emplace_back("pipeline");
    const std::string absent = known.why_absent(use->text);  // a plug-in that was skipped has it
    problems_.add(use->where, fmt::format("{}: no gadget is called '{}'{}", label_, use->text,
                                          absent.empty() ? did_you_mean(use->text, names) : absent));
    return nullptr;
  }

  void read_parallel() {
    const Value* parallel = flat_.settings.find("parallel");
    if (!parallel) return;
    if (gadget().info->kind != GadgetKind::pure || gadget().info->own_thread) {
      problems_.add(
          parallel->where,
          fmt::format("{}: {} is not a pure gadget on the shared threads, so it cannot be parallel", label_, type()));
    } else if (parallel->text == "auto") {
      gadget().parallel = std::max(1U, std::thread::hardware_concurrency());
    } else {
      ParamRules rules;
      rules.limits = range(1, 1024);
      read_value({*parallel, label_ + ".parallel", problems_, rules}, gadget().parallel);
    }
  }

  void read_merge_and_join() {
    if (const Value* merge = flat_.settings.find("merge")) {
      read_value({*merge, label_ + ".merge", problems_}, gadget().merge);
      unwired_.merge_given = true;
      unwired_.merge_where = merge->where;
    }
    if (const Value* join = flat_.settings.find("join")) {
      read_value({*join, label_ + ".join", problems_}, gadget().join);
      unwired_.join_given = true;
    }
  }

  void check_join() {
    const std::vector<PortInfo>& inputs = gadget().info->inputs;
    if (unwired_.join_given && inputs.size() < 2)
      problems_.add(flat_.settings.find("join")->where,
                    fmt::format("{}: 'join' is for a gadget with several inputs, and {} has {}", label_, type(),
                                inputs.empty() ? "none" : "one"));
  }

  void read_fault() {
    const Value* fault = flat_.settings.find("fault");
    if (!fault) return;
    read_params(detail::infos_of<FaultSettings>(), &gadget().fault, {*fault, label_ + ".fault", problems_});
    if (fault->find("delay_at") && !(gadget().fault.delay_ms > 0))
      problems_.add(fault->find("delay_at")->where,
                    fmt::format("{}.fault: delay_at needs delay_ms, how long the delay lasts", label_));
  }

  // A value under the gadget wins over a top-level one; of two maps (image: {...}) key by key.
  void read_own_params() {
    const std::shared_ptr<void> params = gadget().info->default_params();
    std::vector<std::string> keys = gadget_keys();
    for (const ParamInfo& param : gadget().info->params) {
      keys.push_back(param.name);
      const Value* own = flat_.settings.find(param.name);
      const Value* shared = defaults_.find(param.name);
      if (own) {
        const Value given = shared ? merged(*shared, *own) : *own;
        param.read(params.get(), {given, label_ + "." + param.name, problems_, param.rules});
        note_what_is_read(param, given, label_ + "." + param.name);
      } else if (shared) {
        param.read(params.get(), {*shared, param.name, problems_, param.rules});
        note_what_is_read(param, *shared, param.name);
      } else if (param.rules.is_required) {
        problems_.add(flat_.where, fmt::format("{}.{} is missing: {}", label_, param.name, param.rules.doc));
      }
    }
    for (const Value::Entry& given : flat_.settings.entries)
      if (std::ranges::find(keys, given.key) == keys.end())
        problems_.add(given.where, fmt::format("{}: {} has no parameter '{}'{}", label_, type(), given.key,
                                               did_you_mean(given.key, keys)));
    gadget().resolved = write_params(gadget().info->params, params.get());
    gadget().params = params;
  }

  void note_what_is_read(const ParamInfo& param, const Value& given, const std::string& path) {
    if (param.rules.reads && given.kind == Value::Kind::scalar && !given.text.empty())
      gadget().reads.push_back({path, param.rules.reads, given.text, given.where});
    for (const ParamInfo& field : param.fields)
      if (const Value* part = given.find(field.name)) note_what_is_read(field, *part, path + "." + field.name);
  }

  void specialise() {
    try {
      gadget().specialised = std::make_shared<const GadgetInfo>(gadget().info->specialise(gadget().params.get()));
      gadget().info = gadget().specialised.get();
    } catch (const std::invalid_argument& wrong) {
      problems_.add(flat_.where, fmt::format("{}: {}", label_, wrong.what()));
      unwired_.has_ports = false;
    }
  }

  // Settings for all inputs stand beside those under an input's name, which win.
  void read_edges() {
    const std::vector<PortInfo>& inputs = gadget().info->inputs;
    const Value* edge = flat_.settings.find("edge");
    unwired_.edges.resize(inputs.size());
    if (!edge) return;
    if (inputs.empty()) {
      problems_.add(edge->where,
                    fmt::format("{}: a source reads from no edge: set 'edge' where its output is read", label_));
    } else if (inputs.size() == 1 || edge->kind != Value::Kind::map) {
      for (InputEdge& input : unwired_.edges) read_edge(*edge, label_ + ".edge", input);
    } else {
      const Value general = general_settings(*edge);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        read_edge(general, label_ + ".edge", unwired_.edges[i]);
        if (const Value* own = edge->find(inputs[i].name))
          read_edge(*own, label_ + ".edge." + inputs[i].name, unwired_.edges[i]);
      }
    }
  }

  void read_edge(const Value& settings, const std::string& path, InputEdge& input) {
    read_params(detail::infos_of<EdgeSettings>(), &input.settings, {settings, path, problems_});
    input.messages_given = input.messages_given || settings.find("messages");
    const Value* policy = settings.find("policy");
    input.where = policy ? policy->where : settings.where;
  }

  // `edge` without what stands under the names of inputs.
  Value general_settings(const Value& edge) {
    std::vector<std::string> settings, keys;
    for (const ParamInfo& param : detail::infos_of<EdgeSettings>()) settings.push_back(param.name);
    keys = settings;
    for (const PortInfo& port : gadget().info->inputs) keys.push_back(port.name);
    Value general = edge;
    std::erase_if(general.entries, [&](const Value::Entry& entry) {
      if (std::ranges::find(keys, entry.key) == keys.end())
        problems_.add(entry.where,
                      fmt::format("{}.edge: unknown key '{}'{}", label_, entry.key, did_you_mean(entry.key, keys)));
      return std::ranges::find(settings, entry.key) == settings.end();
    });
    return general;
  }

  const FlatGadget& flat_;
  const Value& defaults_;
  Problems& problems_;
  std::string label_;
  UnwiredGadget unwired_;
};

}  // namespace

UnwiredGadget read_gadget(const FlatGadget& flat, const Value& defaults, const Registry& known, Problems& problems) {
  return Reader(flat, defaults, problems).read(known);
}

}  // namespace tofstream
