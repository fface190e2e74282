#include "core/pipeline/nested.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/pipeline/configuration.hpp"
#include "core/pipeline/nested_level.hpp"
#include "core/value/document.hpp"

namespace tofstream {
namespace {

using namespace detail;
using Files = std::vector<std::filesystem::path>;

constexpr std::size_t most_gadgets = 1000;  // files that nest each other twice and twice again grow without end

std::filesystem::path normal(const std::filesystem::path& file) {
  return std::filesystem::absolute(file).lexically_normal();
}

bool is_nested(const Value& settings) {
  const Value* use = settings.find("use");
  return use && use->kind == Value::Kind::scalar && use->text == "pipeline";
}

class Flattening {
 public:
  Flattening(const PipelineOptions& options, Problems& problems) : options_(options), problems_(problems) {}

  FlatPipeline flatten(Value document, const std::filesystem::path& file) {
    open_.push_back(normal(file));
    const std::vector<SetOption> sets = read_sets(options_.sets, problems_);
    if (options_.backend) {
      backend_ = Value::scalar(*options_.backend, true);
      backend_.where = option_place("--backend " + *options_.backend);
      document.set("backend", backend_, backend_.where);
    }
    LevelNames names;
    names.label = "this pipeline";
    add_level({"", 0, std::move(document), {}}, std::move(names), Value::map(), sets);
    if (!names_[0].inputs.empty())
      problems_.add(names_[0].inputs[0].where,
                    fmt::format("a pipeline with inputs runs within another: NAME: {{use: pipeline, file: {}, from: "
                                "NAME}}",
                                file.filename().string()));
    look_up_sources();
    return std::move(result_);
  }

 private:
  // Reads one file's document, and those nested in it.
  void add_level(PipelineLevel level, LevelNames names, const Value& given, const std::vector<SetOption>& sets) {
    const std::size_t index = result_.levels.size();
    VariableNames uses;
    level.document = with_includes(std::move(level.document), open_.back().parent_path(), uses, problems_);
    const std::vector<SetOption> inner_sets = apply_sets(level.document, sets);
    substitute_variables(level.document, given, uses, problems_);
    Value own = level.document;
    std::erase_if(own.entries, [](const auto& e) { return std::ranges::count(pipeline_keys(), e.key) > 0; });
    level.defaults = index == 0 ? own : merged(result_.levels[level.outer].defaults, own);
    if (backend_.kind != Value::Kind::null) level.defaults.set("backend", backend_, backend_.where);
    const Value gadgets = listed_gadgets(level.document);
    for (const Value::Entry& entry : gadgets.entries)
      if (!is_nested(entry.value)) names.gadgets.push_back(entry.key);
    result_.levels.push_back(std::move(level));
    names_.push_back(std::move(names));
    for (const Value::Entry& entry : gadgets.entries) {
      check_name(index, entry);
      if (is_nested(entry.value))
        add_nested(index, entry, inner_sets);
      else
        add_gadget(index, entry);
    }
    refuse_misplaced(index, inner_sets);
    read_interface(result_.levels[index].document, names_[index], problems_);
  }

  Value listed_gadgets(const Value& document) {
    const Value* listed = document.find("gadgets");
    if (listed && listed->kind == Value::Kind::map && !listed->entries.empty()) return *listed;
    problems_.add(listed ? listed->where : document.where,
                  "a pipeline needs 'gadgets', a map of names: gadgets: {NAME: {use: GADGET, "
                  "from: NAME, ...}, ...}");
    return Value::map();
  }

  // Names may hold a slash: a run's resolved pipeline has those of nested pipelines, which are in place already.
  void check_name(std::size_t level, const Value::Entry& entry) {
    const std::string& name = entry.key;
    if (name.empty() || name.find_first_of(". \t") != std::string::npos || name.starts_with('/') ||
        name.ends_with('/') || name.find("//") != std::string::npos)
      problems_.add(entry.where, fmt::format("'{}' cannot name a gadget: no dots, slashes or blanks", name));
    const std::string full = result_.levels[level].prefix + name;
    if (std::ranges::find(result_.gadgets, full, &PipelineGadget::name) != result_.gadgets.end())
      problems_.add(entry.where, fmt::format("two gadgets are called '{}': rename one", full));
  }

  bool is_full(const Value::Entry& entry) {
    const bool full = result_.gadgets.size() >= most_gadgets || result_.levels.size() > most_gadgets;
    if (full && !was_full_)
      problems_.add(entry.where, fmt::format("more than {} gadgets: do nested pipelines multiply?", most_gadgets));
    was_full_ = was_full_ || full;
    return full;
  }

  void add_gadget(std::size_t level, const Value::Entry& entry) {
    if (is_full(entry)) return;
    const std::string name = result_.levels[level].prefix + entry.key;
    if (entry.value.kind == Value::Kind::map)
      result_.gadgets.push_back({.name = name, .where = entry.where, .settings = entry.value, .level = level});
    else
      problems_.add(entry.value.where,
                    fmt::format("gadgets.{} must be a map such as {{use: GADGET, from: NAME}}, not {}", name,
                                entry.value.in_words()));
  }

  void add_nested(std::size_t outer, const Value::Entry& entry, const std::vector<SetOption>& sets) {
    if (is_full(entry)) return;
    const std::string label = "gadgets." + result_.levels[outer].prefix + entry.key;
    // The level's place must be known even if its file is not, so that names that read from it are found.
    names_[outer].nested[entry.key] = result_.levels.size();
    const Value given = check_nested_keys(entry.value, label);
    LevelNames names;
    Value document = Value::map();
    std::filesystem::path path;
    if (const Value* file = entry.value.find("file"); file && file->kind == Value::Kind::scalar) {
      names.label = file->text;
      path = normal(folder_of(*file) / file->text);
      document = load_nested(*file, path, label);
    } else {
      problems_.add(file ? file->where : entry.where,
                    fmt::format("{}: 'file' must name the pipeline to put here", label));
    }
    if (document.kind != Value::Kind::map || document.entries.empty()) {
      unreadable_.push_back(result_.levels.size());
      result_.levels.push_back({result_.levels[outer].prefix + entry.key + "/", outer, {}, {}});
      names_.push_back(std::move(names));
      return;
    }
    const std::size_t index = result_.levels.size();
    open_.push_back(path);
    add_level({result_.levels[outer].prefix + entry.key + "/", outer, std::move(document), {}}, std::move(names), given,
              sets_within(entry.key, sets));
    open_.pop_back();
    const Value* from = entry.value.find("from");
    bind_inputs(from ? *from : Value{}, label, entry.where, names_[index], problems_);
  }

  // The path is relative to the file that names it, wherever that file was included.
  std::filesystem::path folder_of(const Value& mention) const {
    return mention.where.line ? std::filesystem::path(*mention.where.file).parent_path() : open_.front().parent_path();
  }

  Value load_nested(const Value& file, const std::filesystem::path& path, const std::string& label) {
    if (std::ranges::find(open_, path) != open_.end()) {
      problems_.add(file.where, fmt::format("{}: '{}' contains itself", label, file.text));
      return {};
    }
    Value document = load_from(path, file.where, problems_);
    if (document.kind != Value::Kind::map && document.kind != Value::Kind::null)
      problems_.add(document.where, "a pipeline is a map with the key 'gadgets'");
    return document;
  }

  // The variables that the gadget gives.
  Value check_nested_keys(const Value& settings, const std::string& label) {
    static const std::vector<std::string> keys{"use", "file", "from", "variables"};
    for (const Value::Entry& entry : settings.entries)
      if (std::ranges::find(keys, entry.key) == keys.end())
        problems_.add(entry.where, fmt::format("{}: a nested pipeline takes use, file, from and variables, not '{}'{}",
                                               label, entry.key, did_you_mean(entry.key, keys)));
    const Value* variables = settings.find("variables");
    if (!variables || variables->kind == Value::Kind::null) return Value::map();
    if (variables->kind == Value::Kind::map) return *variables;
    problems_.add(variables->where,
                  fmt::format("{}.variables must be a map such as {{dose: 5}}, not {}", label, variables->in_words()));
    return Value::map();
  }

  static std::vector<SetOption> sets_within(const std::string& nested, const std::vector<SetOption>& sets) {
    std::vector<SetOption> inner;
    for (const SetOption& set : sets)
      if (set.path.starts_with(nested + "/")) inner.push_back({set.path.substr(nested.size() + 1), set.value});
    return inner;
  }

  void refuse_misplaced(std::size_t level, const std::vector<SetOption>& sets) {
    for (const SetOption& set : sets) {
      const std::string name = set.path.substr(0, set.path.find('/'));
      if (!names_[level].nested.contains(name))
        problems_.add(set.value.where, fmt::format("'{}' is no nested pipeline: write gadget.parameter=value", name));
    }
  }

  void look_up_sources() {
    for (PipelineGadget& gadget : result_.gadgets) {
      const Value* from = gadget.settings.find("from");
      if (!from) continue;
      for (const WrittenInput& input : read_from(*from, "gadgets." + gadget.name, problems_)) {
        InputSources sources{input.input, input.where, {}};
        for (const Value& name : input.names) look_up(gadget, gadget.level, name, name, sources.sources);
        gadget.from.push_back(std::move(sources));
      }
    }
    for (std::size_t i = 1; i < names_.size(); ++i)
      for (const Value& input : names_[i].inputs)
        if (std::ranges::find(names_[i].read_inputs, input.text) == names_[i].read_inputs.end())
          problems_.add(input.where, fmt::format("no gadget reads the input '{}'", input.text));
  }

  // Adds the outputs that `name` stands for in a level: a gadget's, an output of a nested pipeline, or whatever is
  // bound to the level's input.
  void look_up(const PipelineGadget& reader, std::size_t at, const Value& name, const Value& written,
               std::vector<SourceName>& found) {
    LevelNames& level = names_[at];
    const auto [gadget, port] = split_name(name.text);
    if (const auto nested = level.nested.find(gadget); nested != level.nested.end()) {
      look_up_output(reader, nested->second, gadget, port, written, found);
    } else if (level.has_gadget(gadget)) {
      found.push_back({result_.levels[at].prefix + gadget, port, written});
    } else if (level.has_input(gadget)) {
      level.read_inputs.push_back(gadget);
      if (!port.empty())
        problems_.add(written.where,
                      fmt::format("gadgets.{}: '{}' is an input of this pipeline and has no ports: write "
                                  "{}",
                                  reader.name, gadget, gadget));
      for (const WrittenInput& bound : level.bindings)
        if (bound.input == gadget)
          for (const Value& outer : bound.names) look_up(reader, result_.levels[at].outer, outer, outer, found);
    } else {
      std::vector<std::string> known = level.input_names();
      for (const std::string& other : level.gadgets)
        if (result_.levels[at].prefix + other != reader.name) known.push_back(other);
      for (const auto& [other, index] : level.nested) known.push_back(other);
      problems_.add(written.where, fmt::format("gadgets.{}: from '{}': no gadget has this name{}", reader.name,
                                               written.text, did_you_mean(gadget, known)));
    }
  }

  void look_up_output(const PipelineGadget& reader, std::size_t at, const std::string& nested, const std::string& port,
                      const Value& written, std::vector<SourceName>& found) {
    if (std::ranges::find(unreadable_, at) != unreadable_.end()) return;
    const LevelNames& level = names_[at];
    std::vector<std::string> choices;
    for (const std::string& output : level.output_names()) choices.push_back(nested + "." + output);
    std::string wrong;
    if (choices.empty())
      wrong = fmt::format("{} has no outputs: add 'outputs: {{NAME: GADGET}}' there", level.label);
    else if (port.empty() && choices.size() > 1)
      wrong = fmt::format("'{}' has several outputs: write {}", nested, fmt::join(choices, " or "));
    else if (!port.empty() && !level.outputs.find(port))
      wrong = fmt::format("{} has no output '{}'{}", level.label, port, did_you_mean(nested + "." + port, choices));
    if (!wrong.empty()) {
      problems_.add(written.where, fmt::format("gadgets.{}: {}", reader.name, wrong));
      return;
    }
    const Value& inner = port.empty() ? level.outputs.entries[0].value : *level.outputs.find(port);
    if (level.has_gadget(split_name(inner.text).first)) look_up(reader, at, inner, written, found);
  }

  const PipelineOptions& options_;
  Problems& problems_;
  Value backend_;
  Files open_;
  FlatPipeline result_;
  std::vector<LevelNames> names_;        // of result_.levels
  std::vector<std::size_t> unreadable_;  // levels whose file could not be read
  bool was_full_ = false;
};

}  // namespace

const std::vector<std::string>& pipeline_keys() {
  static const std::vector<std::string> keys{"pipeline", "gadgets", "include", "variables", "inputs", "outputs"};
  return keys;
}

FlatPipeline flatten(Value document, const std::filesystem::path& file, const PipelineOptions& options,
                     Problems& problems) {
  return Flattening(options, problems).flatten(std::move(document), file);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
