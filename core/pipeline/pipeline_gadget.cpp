#include "core/pipeline/pipeline_gadget.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "core/value/known_names.hpp"

namespace tofstream {
namespace {

class GadgetCheck {
 public:
  GadgetCheck(PipelineGadget& gadget, const Value& defaults, Problems& problems)
      : gadget_(gadget), defaults_(defaults), problems_(problems), label_("gadgets." + gadget.name) {}

  void check(const Registry& known) {
    gadget_.info = find_type(known);
    if (!gadget_.info) return;
    read_parallel();
    read_merge_and_join();
    read_fault();
    const std::size_t problems_before = problems_.all().size();
    read_own_params();
    gadget_.has_ports = problems_.all().size() == problems_before || !gadget_.info->specialise;
    if (gadget_.has_ports && gadget_.info->specialise) specialise();
    if (!gadget_.has_ports) return;
    read_edges();
    check_join();
  }

 private:
  const std::string& type() { return gadget_.info->name; }

  const GadgetInfo* find_type(const Registry& known) {
    const Value* use = gadget_.settings.find("use");
    if (!use || use->kind != Value::Kind::scalar) {
      problems_.add(use ? use->where : gadget_.where, fmt::format("{}: 'use' must name the kind of gadget", label_));
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
    const Value* parallel = gadget_.settings.find("parallel");
    if (!parallel) return;
    if (gadget_.info->kind != GadgetKind::pure || gadget_.info->own_thread) {
      problems_.add(
          parallel->where,
          fmt::format("{}: {} is not a pure gadget on the shared threads, so it cannot be parallel", label_, type()));
    } else if (parallel->text == "auto") {
      gadget_.parallel = std::max(1U, std::thread::hardware_concurrency());
    } else {
      ParamRules rules;
      rules.limits = range(1, 1024);
      read_value({*parallel, label_ + ".parallel", problems_, rules}, gadget_.parallel);
    }
  }

  void read_merge_and_join() {
    if (const Value* merge = gadget_.settings.find("merge"))
      read_value({*merge, label_ + ".merge", problems_}, gadget_.merge);
    if (const Value* join = gadget_.settings.find("join"))
      read_value({*join, label_ + ".join", problems_}, gadget_.join);
  }

  void check_join() {
    const std::vector<PortInfo>& inputs = gadget_.info->inputs;
    const Value* const join = gadget_.settings.find("join");
    if (join && inputs.size() < 2)
      problems_.add(join->where, fmt::format("{}: 'join' is for a gadget with several inputs, and {} has {}", label_,
                                             type(), inputs.empty() ? "none" : "one"));
  }

  void read_fault() {
    const Value* fault = gadget_.settings.find("fault");
    if (!fault) return;
    read_params(detail::infos_of<FaultSettings>(), &gadget_.fault, {*fault, label_ + ".fault", problems_});
    if (fault->find("delay_at") && !(gadget_.fault.delay_ms > 0))
      problems_.add(fault->find("delay_at")->where,
                    fmt::format("{}.fault: delay_at needs delay_ms, how long the delay lasts", label_));
    check_fault_of_rank(*fault);
  }

  void check_fault_of_rank(const Value& fault) {
    if (gadget_.fault.rank.value_or(0) == 0) return;
    if (std::ranges::find(gadget_.info->params, "ranks", &ParamInfo::name) == gadget_.info->params.end())
      problems_.add(fault.find("rank")->where,
                    fmt::format("{}.fault: {} has no ranks that share its work: leave out rank", label_, type()));
    if (gadget_.fault.drop_at || gadget_.fault.duplicate_at)
      problems_.add(fault.find("rank")->where,
                    fmt::format("{}.fault: messages come to the first rank alone, which may drop_at and duplicate_at; "
                                "others may throw_at, kill_at or be delayed",
                                label_));
  }

  // A value under the gadget wins over a top-level one; two maps (image: {...}) are merged key by key.
  void read_own_params() {
    const std::shared_ptr<void> params = gadget_.info->default_params();
    std::vector<std::string> keys = gadget_keys(), names;
    for (const ParamInfo& param : gadget_.info->params) {
      keys.push_back(param.name);
      names.push_back(param.name);
      const Value* own = gadget_.settings.find(param.name);
      const Value* shared = defaults_.find(param.name);
      if (own) {
        const Value given = shared ? merged(*shared, *own) : *own;
        param.read(params.get(), {given, label_ + "." + param.name, problems_, param.rules});
        note_what_is_read(param, given, label_ + "." + param.name);
      } else if (shared) {
        param.read(params.get(), {*shared, param.name, problems_, param.rules});
        note_what_is_read(param, *shared, param.name);
      } else if (param.rules.is_required) {
        problems_.add(gadget_.where, fmt::format("{}.{} is missing: {}", label_, param.name, param.rules.doc));
      }
    }
    for (const Value::Entry& given : gadget_.settings.entries)
      if (std::ranges::find(keys, given.key) == keys.end())
        problems_.add(given.where,
                      fmt::format("{}: {} has no parameter '{}'{}", label_, type(), given.key,
                                  hint_or_names(given.key, keys, names,
                                                fmt::format("'tofstream gadgets {}' lists what it has", type()))));
    gadget_.resolved = write_params(gadget_.info->params, params.get());
    gadget_.params = params;
  }

  void note_what_is_read(const ParamInfo& param, const Value& given, const std::string& path) {
    if (param.rules.reads && given.kind == Value::Kind::scalar && !given.text.empty())
      gadget_.reads.push_back({path, param.rules.reads, given.text, given.where});
    for (const ParamInfo& field : param.fields)
      if (const Value* part = given.find(field.name)) note_what_is_read(field, *part, path + "." + field.name);
  }

  void specialise() {
    try {
      gadget_.specialised = std::make_shared<const GadgetInfo>(gadget_.info->specialise(gadget_.params.get()));
      gadget_.info = gadget_.specialised.get();
    } catch (const std::invalid_argument& wrong) {
      problems_.add(gadget_.where, fmt::format("{}: {}", label_, wrong.what()));
      gadget_.has_ports = false;
    }
  }

  // Settings for all inputs stand beside settings under an input's name, which win.
  void read_edges() {
    const std::vector<PortInfo>& inputs = gadget_.info->inputs;
    const Value* edge = gadget_.settings.find("edge");
    gadget_.edges.resize(inputs.size());
    if (!edge) return;
    if (inputs.empty()) {
      problems_.add(edge->where,
                    fmt::format("{}: a source reads from no edge: set 'edge' where its output is read", label_));
    } else if (inputs.size() == 1 || edge->kind != Value::Kind::map) {
      for (InputEdge& input : gadget_.edges) read_edge(*edge, label_ + ".edge", input);
    } else {
      const Value general = general_settings(*edge);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        read_edge(general, label_ + ".edge", gadget_.edges[i]);
        if (const Value* own = edge->find(inputs[i].name))
          read_edge(*own, label_ + ".edge." + inputs[i].name, gadget_.edges[i]);
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
    for (const PortInfo& port : gadget_.info->inputs) keys.push_back(port.name);
    Value general = edge;
    std::erase_if(general.entries, [&](const Value::Entry& entry) {
      if (std::ranges::find(keys, entry.key) == keys.end())
        problems_.add(entry.where,
                      fmt::format("{}.edge: unknown key '{}'{}", label_, entry.key, did_you_mean(entry.key, keys)));
      return std::ranges::find(settings, entry.key) == settings.end();
    });
    return general;
  }

  PipelineGadget& gadget_;
  const Value& defaults_;
  Problems& problems_;
  std::string label_;
};

}  // namespace

void check_gadget(PipelineGadget& gadget, const Value& defaults, const Registry& known, Problems& problems) {
  GadgetCheck(gadget, defaults, problems).check(known);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
