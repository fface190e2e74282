#include "core/configuration.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/document.hpp"

namespace tofstream {
namespace {

using Files = std::vector<std::filesystem::path>;

Value merged_pipelines(const Value& base, const Value& over) {
  Value result = merged(base, over);
  const Value* gadgets = over.find("gadgets");
  Value* merged_gadgets = result.find("gadgets");
  if (!gadgets || !merged_gadgets || merged_gadgets->kind != Value::Kind::map) return result;
  for (const Value::Entry& gadget : gadgets->entries)
    if (gadget.value.find("use")) merged_gadgets->set(gadget.key, gadget.value, gadget.where);
  return result;
}

Value include_all(Value document, const std::filesystem::path& folder, Files& open, Problems& problems) {
  if (document.kind != Value::Kind::map) return document;
  const Value* include = document.find("include");
  if (!include) return document;
  const std::vector<Value> files = include->kind == Value::Kind::sequence ? include->items : std::vector{*include};
  std::erase_if(document.entries, [](const Value::Entry& entry) { return entry.key == "include"; });
  Value base = Value::map();
  for (const Value& file : files) {
    if (file.kind != Value::Kind::scalar) {
      problems.add(file.where, "include takes a file or a list of files, not " + file.in_words());
      continue;
    }
    const std::filesystem::path path = (folder / file.text).lexically_normal();
    if (std::ranges::find(open, path) != open.end()) {
      problems.add(file.where, fmt::format("'{}' includes itself", file.text));
      continue;
    }
    Problems unreadable;
    const Value included = load_document(path, unreadable);
    // An error of the file itself has its place there; one about the file belongs where it is
    // included.
    for (const Problem& problem : unreadable.all())
      problems.add(problem.where.line ? problem.where : file.where,
                   problem.where.line ? problem.message : problem.text());
    open.push_back(path);
    base = merged_pipelines(base, include_all(included, path.parent_path(), open, problems));
    open.pop_back();
  }
  return merged_pipelines(base, document);
}

// Every place within the value becomes the option itself.
void relocate(Value& value, const Location& where) {
  value.where = where;
  for (Value& item : value.items) relocate(item, where);
  for (Value::Entry& entry : value.entries) {
    entry.where = where;
    relocate(entry.value, where);
  }
}

Location option_place(const std::string& text) {
  return {std::make_shared<const std::string>(text), 0, 0};
}

Value empty_map(const Location& where) {
  Value map = Value::map();
  map.where = where;
  return map;
}

void set_path(Value& document, std::string_view path, Value value, const Location& where) {
  Value* at = &document;
  while (true) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    if (at->kind != Value::Kind::map) *at = empty_map(where);
    if (dot == std::string_view::npos) {
      at->set(key, std::move(value), where);
      return;
    }
    Value* next = at->find(key);
    at = next ? next : &at->set(key, empty_map(where), where);
    path.remove_prefix(dot + 1);
  }
}

void apply_set(Value& document, const std::string& text, Problems& problems) {
  const Location where = option_place("--set " + text);
  const std::size_t equals = text.find('=');
  const std::string path = text.substr(0, equals);
  if (equals == std::string::npos || path.empty() || path.starts_with('.') || path.ends_with('.') ||
      path.find("..") != std::string::npos) {
    problems.add(where, "write --set gadget.parameter=value");
    return;
  }
  Problems wrong;
  Value value = parse_document(std::string_view(text).substr(equals + 1), "value", wrong);
  for (const Problem& problem : wrong.all()) problems.add(where, problem.message);
  if (!wrong.empty()) return;
  relocate(value, where);
  const std::string first = path.substr(0, path.find('.'));
  const Value* gadgets = document.find("gadgets");
  const bool is_gadget = gadgets && gadgets->find(first);
  set_path(document, is_gadget ? "gadgets." + path : path, std::move(value), where);
}

void apply_input(Value& document, const std::string& input, const Registry& known, Problems& problems) {
  const Location where = option_place("--input " + input);
  std::vector<Value::Entry*> sources;
  if (Value* gadgets = document.find("gadgets")) {
    for (Value::Entry& gadget : gadgets->entries) {
      const Value* use = gadget.value.find("use");
      const GadgetInfo* info = use ? known.find(use->text) : nullptr;
      if (info && info->kind == GadgetKind::source) sources.push_back(&gadget);
    }
  }
  if (sources.size() != 1) {
    problems.add(where,
                 fmt::format("the pipeline has {} sources, so say which: --set NAME.path={}", sources.size(), input));
    return;
  }
  const GadgetInfo* info = known.find(sources[0]->value.find("use")->text);
  if (std::ranges::find(info->params, "path", &ParamInfo::name) == info->params.end()) {
    problems.add(where, fmt::format("the source '{}' ({}) reads no file: it has no parameter 'path'", sources[0]->key,
                                    info->name));
    return;
  }
  Value path = Value::scalar(input, true);
  path.where = where;
  sources[0]->value.set("path", std::move(path), where);
}

}  // namespace

Value with_includes(Value document, const std::filesystem::path& folder, Problems& problems) {
  Files open;
  return include_all(std::move(document), folder, open, problems);
}

void apply_options(Value& document, const PipelineOptions& options, const Registry& known, Problems& problems) {
  if (document.kind != Value::Kind::map) return;
  for (const std::string& set : options.sets) apply_set(document, set, problems);
  if (options.backend) {
    Value backend = Value::scalar(*options.backend, true);
    backend.where = option_place("--backend " + *options.backend);
    const Location where = backend.where;
    document.set("backend", std::move(backend), where);
  }
  if (options.input) apply_input(document, *options.input, known, problems);
}

}  // namespace tofstream
