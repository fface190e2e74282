#include "core/pipeline/configuration.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/value/document.hpp"

namespace tofstream {
namespace {

Value merged_pipelines(const Value& base, const Value& over) {
  Value result = merged(base, over);
  const Value* gadgets = over.find("gadgets");
  Value* merged_gadgets = result.find("gadgets");
  if (!gadgets || !merged_gadgets || merged_gadgets->kind != Value::Kind::map) return result;
  const Value* below = base.find("gadgets");
  for (const Value::Entry& gadget : gadgets->entries) {
    if (gadget.value.find("use")) merged_gadgets->set(gadget.key, gadget.value, gadget.where);
    if (gadget.value.kind == Value::Kind::null && below && below->find(gadget.key))
      std::erase_if(merged_gadgets->entries, [&](const Value::Entry& entry) { return entry.key == gadget.key; });
  }
  return result;
}

class Inclusion {
 public:
  Inclusion(VariableNames& uses, Problems& problems) : uses_(uses), problems_(problems) {}

  Value include_all(Value document, const std::filesystem::path& folder) {
    collect_variable_uses(document, uses_);
    if (document.kind != Value::Kind::map) return document;
    const Value* include = document.find("include");
    if (!include) return document;
    const std::vector<Value> files = include->kind == Value::Kind::sequence ? include->items : std::vector{*include};
    std::erase_if(document.entries, [](const Value::Entry& entry) { return entry.key == "include"; });
    Value base = Value::map();
    for (const Value& file : files) base = merged_pipelines(base, included(file, folder));
    return merged_pipelines(base, document);
  }

 private:
  Value included(const Value& file, const std::filesystem::path& folder) {
    if (file.kind != Value::Kind::scalar) {
      problems_.add(file.where, "include takes a file or a list of files, not " + file.in_words());
      return Value::map();
    }
    if (file.text.find("${") != std::string::npos) {
      problems_.add(file.where, fmt::format("include: '{}' cannot hold a variable: files are included before variables "
                                            "are known",
                                            file.text));
      return Value::map();
    }
    const std::filesystem::path path = (folder / file.text).lexically_normal();
    if (std::ranges::find(open_, path) != open_.end()) {
      problems_.add(file.where, fmt::format("'{}' includes itself", file.text));
      return Value::map();
    }
    if (++count_ > most_includes) {
      problems_.add(file.where,
                    fmt::format("more than {} files are included: do they include each other twice?", most_includes));
      return Value::map();
    }
    open_.push_back(path);
    Value result = include_all(load_from(path, file.where, problems_), path.parent_path());
    open_.pop_back();
    return result;
  }

  static constexpr int most_includes = 1000;  // files that include two others each grow without end

  VariableNames& uses_;
  Problems& problems_;
  std::vector<std::filesystem::path> open_;
  int count_ = 0;
};

void set_path(Value& document, std::string_view path, const Value& value) {
  Value* at = &document;
  Value empty = Value::map();
  empty.where = value.where;
  while (true) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    if (at->kind != Value::Kind::map) *at = empty;
    if (dot == std::string_view::npos) {
      at->set(key, value, value.where);
      return;
    }
    Value* next = at->find(key);
    at = next ? next : &at->set(key, empty, value.where);
    path.remove_prefix(dot + 1);
  }
}

}  // namespace

Value with_includes(Value document, const std::filesystem::path& folder, VariableNames& uses, Problems& problems) {
  return Inclusion(uses, problems).include_all(std::move(document), folder);
}

Location option_place(const std::string& text) {
  return {std::make_shared<const std::string>(text), 0, 0};
}

std::vector<SetOption> read_sets(const std::vector<std::string>& texts, Problems& problems) {
  std::vector<SetOption> sets;
  for (const std::string& text : texts) {
    const Location where = option_place("--set " + text);
    const std::size_t equals = text.find('=');
    const std::string path = text.substr(0, equals);
    if (equals == std::string::npos || path.empty() || path.starts_with('.') || path.ends_with('.') ||
        path.find("..") != std::string::npos) {
      problems.add(where, "write --set gadget.parameter=value");
      continue;
    }
    Problems wrong;
    Value value = parse_document(std::string_view(text).substr(equals + 1), "value", wrong);
    for (const Problem& problem : wrong.all()) problems.add(where, problem.message);
    if (!wrong.empty()) continue;
    relocate(value, where);
    sets.push_back({path, std::move(value)});
  }
  return sets;
}

std::vector<SetOption> apply_sets(Value& document, const std::vector<SetOption>& sets) {
  std::vector<SetOption> nested;
  for (const SetOption& set : sets) {
    const std::string first = set.path.substr(0, set.path.find('.'));
    const std::size_t slash = first.find('/');
    const Value* gadgets = document.find("gadgets");
    if (gadgets && gadgets->find(first)) {
      set_path(document, "gadgets." + set.path, set.value);
    } else if (slash != std::string::npos && gadgets && gadgets->find(first.substr(0, slash))) {
      // The gadget of a nested pipeline gives it variables, and the value of the option must win over these.
      const std::string rest = set.path.substr(slash + 1);
      if (rest.starts_with("variables."))
        set_path(document, "gadgets." + first.substr(0, slash) + "." + rest, set.value);
      else
        nested.push_back(set);
    } else {
      set_path(document, set.path, set.value);
    }
  }
  return nested;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
