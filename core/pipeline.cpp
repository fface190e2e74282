#include "core/pipeline.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "core/configuration.hpp"
#include "core/document.hpp"
#include "core/wiring.hpp"

namespace tofstream {
namespace {

const std::vector<std::string>& gadget_keys() {
  static const std::vector<std::string> keys{"use", "from", "edge", "parallel"};
  return keys;
}

class Checker {
 public:
  Checker(const Value& document, const Registry& known, Problems& problems)
      : document_(document), known_(known), problems_(problems) {}

  Pipeline check(const std::string& default_name) {
    Pipeline pipeline;
    pipeline.name = pipeline_name(default_name);
    std::vector<UnwiredGadget> gadgets = read_gadgets();
    check_top_level(gadgets);
    std::vector<PipelineEdge> edges = wire(gadgets, problems_);
    if (!problems_.empty()) return pipeline;
    const std::vector<std::size_t> order = topological_order(gadgets, edges, problems_);
    if (!problems_.empty()) return pipeline;
    pipeline.resolved = resolve(pipeline.name, gadgets);
    std::vector<std::size_t> place(gadgets.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      pipeline.gadgets.push_back(std::move(gadgets[order[i]].gadget));
    }
    for (PipelineEdge& edge : edges) {
      edge.from = place[edge.from];
      edge.to = place[edge.to];
    }
    pipeline.edges = std::move(edges);
    return pipeline;
  }

 private:
  std::string pipeline_name(const std::string& default_name) {
    const Value* name = document_.find("pipeline");
    if (!name) return default_name;
    if (name->kind != Value::Kind::scalar) {
      problems_.add(name->where, "pipeline must be a name, not " + name->in_words());
      return default_name;
    }
    return name->text;
  }

  std::vector<UnwiredGadget> read_gadgets() {
    std::vector<UnwiredGadget> gadgets;
    const Value* listed = document_.find("gadgets");
    if (!listed || listed->kind != Value::Kind::map || listed->entries.empty()) {
      problems_.add(listed ? listed->where : document_.where,
                    "a pipeline needs 'gadgets', a map of names: gadgets: {NAME: {use: GADGET, "
                    "from: NAME, ...}, ...}");
      return gadgets;
    }
    for (const Value::Entry& entry : listed->entries) {
      if (entry.value.kind != Value::Kind::map) {
        problems_.add(entry.value.where,
                      fmt::format("gadgets.{} must be a map such as {{use: GADGET, from: NAME}}, not {}", entry.key,
                                  entry.value.in_words()));
      } else {
        gadgets.push_back(read_gadget(entry));
      }
    }
    return gadgets;
  }

  UnwiredGadget read_gadget(const Value::Entry& entry) {
    UnwiredGadget unwired;
    PipelineGadget& gadget = unwired.gadget;
    gadget.name = entry.key;
    gadget.where = entry.where;
    const std::string label = "gadgets." + entry.key;
    if (entry.key.empty() || entry.key.find_first_of(". \t/") != std::string::npos)
      problems_.add(entry.where, fmt::format("'{}' cannot name a gadget: no dots, slashes or blanks", entry.key));
    gadget.info = find_type(entry, label);
    if (const Value* from = entry.value.find("from")) unwired.from = *from;
    read_edge(entry.value, label, unwired);
    if (!gadget.info) return unwired;
    read_parallel(entry.value, label, gadget);
    read_gadget_params(entry, label, gadget);
    return unwired;
  }

  const GadgetInfo* find_type(const Value::Entry& entry, const std::string& label) {
    const Value* use = entry.value.find("use");
    if (!use || use->kind != Value::Kind::scalar) {
      problems_.add(use ? use->where : entry.where, fmt::format("{}: 'use' must name the kind of gadget", label));
      return nullptr;
    }
    const GadgetInfo* info = known_.find(use->text);
    if (!info) {
      const std::string absent = known_.why_absent(use->text);  // a plug-in that was skipped has it
      problems_.add(use->where, fmt::format("{}: no gadget is called '{}'{}", label, use->text,
                                            absent.empty() ? did_you_mean(use->text, known_.names()) : absent));
    }
    return info;
  }

  void read_edge(const Value& gadget, const std::string& label, UnwiredGadget& unwired) {
    const Value* edge = gadget.find("edge");
    if (!edge) return;
    read_params(detail::infos_of<EdgeSettings>(), &unwired.edge, *edge, label + ".edge", problems_);
    unwired.messages_given = edge->find("messages") != nullptr;
    if (unwired.gadget.info && unwired.gadget.info->inputs.empty())
      problems_.add(edge->where,
                    fmt::format("{}: a source reads from no edge: set 'edge' where its output is read", label));
  }

  void read_parallel(const Value& map, const std::string& label, PipelineGadget& gadget) {
    const Value* parallel = map.find("parallel");
    if (!parallel) return;
    if (gadget.info->kind != GadgetKind::pure || gadget.info->own_thread) {
      problems_.add(parallel->where,
                    fmt::format("{}: {} is not a pure gadget on the shared threads, so it cannot be parallel", label,
                                gadget.info->name));
    } else if (parallel->text == "auto") {
      gadget.parallel = std::max(1U, std::thread::hardware_concurrency());
    } else {
      ParamRules rules;
      rules.limits = range(1, 1024);
      detail::read_value(*parallel, label + ".parallel", rules, gadget.parallel, problems_);
    }
  }

  // A value under the gadget wins over a top-level one; of two maps (image: {...}) key by key.
  void read_gadget_params(const Value::Entry& entry, const std::string& label, PipelineGadget& gadget) {
    const std::shared_ptr<void> params = gadget.info->default_params();
    std::vector<std::string> keys = gadget_keys();
    for (const ParamInfo& param : gadget.info->params) {
      keys.push_back(param.name);
      const Value* own = entry.value.find(param.name);
      const Value* shared = document_.find(param.name);
      if (own) {
        param.read(params.get(), shared ? merged(*shared, *own) : *own, label + "." + param.name, param.rules,
                   problems_);
      } else if (shared) {
        param.read(params.get(), *shared, param.name, param.rules, problems_);
      } else if (param.rules.is_required) {
        problems_.add(entry.where, fmt::format("{}.{} is missing: {}", label, param.name, param.rules.doc));
      }
    }
    for (const Value::Entry& given : entry.value.entries)
      if (std::ranges::find(keys, given.key) == keys.end())
        problems_.add(given.where, fmt::format("{}: {} has no parameter '{}'{}", label, gadget.info->name, given.key,
                                               did_you_mean(given.key, keys)));
    gadget.resolved = write_params(gadget.info->params, params.get());
    gadget.params = params;
  }

  void check_top_level(const std::vector<UnwiredGadget>& gadgets) {
    std::vector<std::string> keys{"pipeline", "gadgets", "include"};
    for (const UnwiredGadget& unwired : gadgets) {
      if (!unwired.gadget.info) return;  // it might be the one that declares the key
      for (const ParamInfo& param : unwired.gadget.info->params) keys.push_back(param.name);
    }
    std::vector<std::string> candidates = keys;
    for (const UnwiredGadget& unwired : gadgets) candidates.push_back(unwired.gadget.name);
    for (const Value::Entry& entry : document_.entries)
      if (std::ranges::find(keys, entry.key) == keys.end())
        problems_.add(entry.where, fmt::format("no gadget of this pipeline declares '{}'{}", entry.key,
                                               did_you_mean(entry.key, candidates)));
  }

  Value resolve(const std::string& name, const std::vector<UnwiredGadget>& gadgets) {
    Value resolved = Value::map();
    resolved.set("pipeline", Value::scalar(name, true));
    Value& all = resolved.set("gadgets", Value::map());
    for (const auto& [gadget, from, edge, messages_given] : gadgets) {
      Value map = Value::map();
      map.set("use", Value::scalar(gadget.info->name, true));
      if (from.kind != Value::Kind::null) {
        map.set("from", from);
        map.set("edge", write_params(detail::infos_of<EdgeSettings>(), &edge));
      }
      if (gadget.parallel > 1) map.set("parallel", Value::scalar(std::to_string(gadget.parallel)));
      for (const Value::Entry& param : gadget.resolved.entries) map.set(param.key, param.value);
      all.set(gadget.name, std::move(map));
    }
    return resolved;
  }

  const Value& document_;
  const Registry& known_;
  Problems& problems_;
};

std::string joined(const std::vector<Problem>& problems) {
  std::vector<std::string> lines;
  lines.reserve(problems.size());
  for (const Problem& problem : problems) lines.push_back(problem.text());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

Pipeline check_document(Value document, const std::filesystem::path& file, const PipelineOptions& options,
                        const Registry& known, Problems& problems) {
  for (const std::string& problem : known.problems()) problems.add({}, problem);
  Pipeline pipeline;
  if (problems.empty() && document.kind != Value::Kind::map) {
    const Location where{std::make_shared<const std::string>(file.string()), 0, 0};
    problems.add(document.where.line ? document.where : where, "a pipeline is a map with the key 'gadgets'");
  }
  if (document.kind == Value::Kind::map) {
    document = with_includes(std::move(document), file.parent_path(), problems);
    apply_options(document, options, known, problems);
    pipeline = Checker(document, known, problems).check(file.stem().string());
  }
  if (!problems.empty()) throw ConfigErrors(problems.all());
  return pipeline;
}

}  // namespace

ConfigErrors::ConfigErrors(std::vector<Problem> problems)
    : std::runtime_error(joined(problems)), problems_(std::move(problems)) {}

Pipeline load_pipeline(const std::filesystem::path& file, const PipelineOptions& options, const Registry& known) {
  Problems problems;
  Value document = load_document(file, problems);
  return check_document(std::move(document), file, options, known, problems);
}

Pipeline parse_pipeline(std::string_view text, const std::string& name, const PipelineOptions& options,
                        const Registry& known) {
  Problems problems;
  Value document = parse_document(text, name, problems);
  return check_document(std::move(document), name, options, known, problems);
}

}  // namespace tofstream
