#include "core/pipeline/pipeline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/pipeline/configuration.hpp"
#include "core/pipeline/deadlock.hpp"
#include "core/pipeline/nested.hpp"
#include "core/pipeline/numbering.hpp"
#include "core/pipeline/pipeline_gadget.hpp"
#include "core/pipeline/pipeline_resolved.hpp"
#include "core/pipeline/wiring.hpp"
#include "core/value/document.hpp"

namespace tofstream {
namespace {

// A gadget whose ports depend on its parameters is a source where it reads a path and no other gadget.
bool is_source(const PipelineGadget& gadget, const GadgetInfo& info) {
  return info.kind == GadgetKind::source ||
         (info.specialise && gadget.settings.find("path") && !gadget.settings.find("from"));
}

// --input is the path of the one source, wherever it is nested.
void apply_input(FlatPipeline& flat, const std::string& input, const Registry& known, Problems& problems) {
  const Location where = option_place("--input " + input);
  std::vector<std::pair<PipelineGadget*, const GadgetInfo*>> sources;
  for (PipelineGadget& gadget : flat.gadgets) {
    const Value* use = gadget.settings.find("use");
    const GadgetInfo* info = use ? known.find(use->text) : nullptr;
    if (info && is_source(gadget, *info)) sources.emplace_back(&gadget, info);
  }
  if (sources.size() != 1) {
    problems.add(where,
                 fmt::format("the pipeline has {} sources, so say which: --set NAME.path={}", sources.size(), input));
    return;
  }
  const auto& [gadget, info] = sources[0];
  if (std::ranges::find(info->params, "path", &ParamInfo::name) == info->params.end()) {
    problems.add(
        where, fmt::format("the source '{}' ({}) reads no file: it has no parameter 'path'", gadget->name, info->name));
    return;
  }
  Value path = Value::scalar(input, true);
  path.where = where;
  gadget->settings.set("path", std::move(path), where);
}

std::string pipeline_name(const Value& document, const std::string& default_name, Problems& problems) {
  const Value* name = document.find("pipeline");
  if (!name) return default_name;
  if (name->kind == Value::Kind::scalar) return name->text;
  problems.add(name->where, "pipeline must be a name, not " + name->in_words());
  return default_name;
}

bool is_within(const FlatPipeline& flat, std::size_t level, std::size_t outer) {
  while (level != outer && level != 0) level = flat.levels[level].outer;
  return level == outer;
}

// Every top-level key of a file must be a default of one of its gadgets, or of those nested in it.
void check_top_level(const FlatPipeline& flat, Problems& problems) {
  for (std::size_t level = 0; level < flat.levels.size(); ++level) {
    std::vector<std::string> keys = pipeline_keys();
    std::vector<std::string> names;
    bool all_known = true;
    for (const PipelineGadget& gadget : flat.gadgets) {
      if (!is_within(flat, gadget.level, level)) continue;
      if (gadget.level == level) names.push_back(gadget.name.substr(flat.levels[level].prefix.size()));
      all_known = all_known && gadget.info;
      if (gadget.info)
        for (const ParamInfo& param : gadget.info->params) keys.push_back(param.name);
    }
    if (!all_known) continue;  // it might be the one that declares the key
    names.insert(names.end(), keys.begin(), keys.end());
    for (const Value::Entry& entry : flat.levels[level].document.entries)
      if (!problems.full() && std::ranges::find(keys, entry.key) == keys.end())
        problems.add(entry.where, fmt::format("no gadget of this pipeline declares '{}'{}", entry.key,
                                              did_you_mean(entry.key, names)));
  }
}

// A top-level key of --set that every gadget which declares it sets by itself would change nothing.
void check_overridden_sets(const FlatPipeline& flat, Problems& problems) {
  for (const Value::Entry& entry : flat.levels[0].document.entries) {
    const auto& place = entry.value.where;
    if (!place.file || !place.file->starts_with("--set ") || entry.value.kind == Value::Kind::map) continue;
    std::string sets_it_itself;
    bool is_taken = false;
    for (const PipelineGadget& gadget : flat.gadgets) {
      if (!gadget.info ||
          std::ranges::find(gadget.info->params, entry.key, &ParamInfo::name) == gadget.info->params.end())
        continue;
      const Value* shared = flat.levels[gadget.level].defaults.find(entry.key);
      const bool is_own = gadget.settings.find(entry.key) || !shared || shared->where.file != place.file;
      is_taken = is_taken || !is_own;
      if (sets_it_itself.empty()) sets_it_itself = gadget.name;
    }
    if (!is_taken && !sets_it_itself.empty())
      problems.add(place, fmt::format("has no effect, since {0} sets {1} itself: write --set {0}.{1}=...",
                                      sets_it_itself, entry.key));
  }
}

Pipeline in_order(Pipeline pipeline, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> place(order.size());
  std::vector<PipelineGadget> gadgets;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    gadgets.push_back(std::move(pipeline.gadgets[order[i]]));
  }
  pipeline.gadgets = std::move(gadgets);
  for (PipelineEdge& edge : pipeline.edges) {
    edge.from = place[edge.from];
    edge.to = place[edge.to];
  }
  return pipeline;
}

Pipeline build(FlatPipeline flat, const std::string& name, const Registry& known, Problems& problems) {
  Pipeline pipeline;
  pipeline.name = name;
  std::vector<PipelineGadget>& gadgets = flat.gadgets;
  for (PipelineGadget& gadget : gadgets) {
    if (problems.full()) return pipeline;
    check_gadget(gadget, flat.levels[gadget.level].defaults, known, problems);
  }
  check_top_level(flat, problems);
  check_overridden_sets(flat, problems);
  pipeline.edges = wire(gadgets, problems);
  if (!problems.empty()) return pipeline;
  const std::vector<std::size_t> order = topological_order(gadgets, pipeline.edges, problems);
  if (!problems.empty()) return pipeline;
  Problems warnings;
  check_numbering(gadgets, pipeline.edges, order, problems);
  check_joins(gadgets, pipeline.edges, order, problems, warnings);
  pipeline.warnings = warnings.all();
  pipeline.gadgets = std::move(gadgets);
  pipeline.resolved = resolved_pipeline(pipeline.name, pipeline.gadgets, pipeline.edges);
  return in_order(std::move(pipeline), order);
}

std::string joined(const std::vector<Problem>& problems) {
  std::vector<std::string> lines;
  lines.reserve(problems.size());
  for (const Problem& problem : problems) lines.push_back(problem.text());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// In the order of reading: options first, then the files by their first mention, each from its top.
std::vector<Problem> in_reading_order(std::vector<Problem> problems) {
  std::vector<std::string> files;
  const auto file_rank = [&](const Problem& problem) {
    const std::string file = problem.where.file ? *problem.where.file : "";
    const auto known = std::ranges::find(files, file);
    if (known == files.end()) files.push_back(file);
    return std::ranges::find(files, file) - files.begin();
  };
  for (const Problem& problem : problems) file_rank(problem);
  std::ranges::stable_sort(problems, {}, [&](const Problem& problem) {
    return std::tuple(file_rank(problem), problem.where.line, problem.where.column);
  });
  return problems;
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
    FlatPipeline flat = flatten(std::move(document), file, options, problems);
    if (options.input) apply_input(flat, *options.input, known, problems);
    const std::string name = pipeline_name(flat.levels[0].document, file.stem().string(), problems);
    pipeline = build(std::move(flat), name, known, problems);
  }
  if (!problems.empty()) throw ConfigErrors(in_reading_order(problems.all()));
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
// SPDX-License-Identifier: Apache-2.0
