// What a client may have run: see permissions.hpp. By default nothing; what is allowed is listed.
#include "tools/serve/permissions.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/gadget/registry.hpp"
#include "core/pipeline/configuration.hpp"
#include "core/pipeline/nested.hpp"
#include "core/value/document.hpp"
#include "core/value/params.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/stream_ends.hpp"

namespace tofstream::serve {

namespace {

namespace fs = std::filesystem;

bool is_allowed(const std::string& gadget, const Permissions& permissions) {
  const GadgetInfo* info = registry().find(gadget);
  return (info && info->harmless) || std::ranges::find(permissions.gadgets, gadget) != permissions.gadgets.end();
}

std::string not_allowed(const std::string& gadget) {
  return fmt::format(
      "gadget '{0}' is not allowed in a pipeline that is sent: it may reach files, sockets or processes "
      "of the server, whose operator can allow it by --allow {0}",
      gadget);
}

bool lies_within(const fs::path& path, const std::vector<fs::path>& folders) {
  std::error_code wrong;
  const fs::path real = fs::weakly_canonical(fs::absolute(path), wrong);
  if (wrong) return false;
  return std::ranges::any_of(folders, [&](const fs::path& folder) {
    const fs::path root = fs::weakly_canonical(fs::absolute(folder), wrong);
    const auto [at, unused] = std::ranges::mismatch(root, real);
    return !wrong && at == root.end();
  });
}

bool stays_in_its_folder(const fs::path& path) {
  return path.is_relative() && std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

// Checks a sent pipeline before anything that it names is looked at: nothing in it may read a file or be decided later.
void check_sent_document(const Value& document, const Permissions& permissions, Problems& problems) {
  for (const Value::Entry& entry : document.entries)
    if (entry.key == "include")
      problems.add(
          entry.where,
          "include: a pipeline that is sent cannot include files of the server: write all of it into one file");
  const Value* gadgets = document.find("gadgets");
  if (!gadgets) return;
  if (gadgets->kind != Value::Kind::map)
    problems.add(gadgets->where, "gadgets: of a pipeline that is sent they must be written out, as a map");
  for (const Value::Entry& gadget : gadgets->entries) {
    if (gadget.value.kind == Value::Kind::null) continue;  // left out
    const Value* use = gadget.value.find("use");
    if (gadget.value.kind != Value::Kind::map || (use && use->text.find("${") != std::string::npos)) {
      problems.add(gadget.value.where, fmt::format("gadgets.{}: in a pipeline that is sent a gadget and its 'use' must "
                                                   "be written out, without variables",
                                                   gadget.key));
      continue;
    }
    if (gadget.value.find("fault"))
      problems.add(gadget.value.find("fault")->where,
                   fmt::format("gadgets.{}: 'fault' is for tests of one's own, not for a server", gadget.key));
    if (!use) continue;
    if (use->text == "pipeline")
      problems.add(use->where, fmt::format("gadgets.{}: a pipeline that is sent cannot nest files of the server: write "
                                           "their gadgets out",
                                           gadget.key));
    else if (registry().find(use->text) && !is_allowed(use->text, permissions))
      problems.add(use->where, fmt::format("gadgets.{}: {}", gadget.key, not_allowed(use->text)));
  }
}

// Settings may change parameters of gadgets and their top-level defaults; `known` is the pipeline without the settings.
void check_settings(const std::vector<SetOption>& sets, const Pipeline& known, Problems& problems) {
  for (const SetOption& set : sets) {
    const std::size_t dot = set.path.find('.');
    const std::string first = set.path.substr(0, dot);
    const auto refuse = [&](const std::string& why) { problems.add(set.value.where, why); };
    const auto gadget = std::ranges::find(known.gadgets, first, &PipelineGadget::name);
    if (gadget == known.gadgets.end()) {
      const auto declares = [&](const PipelineGadget& each) {
        return std::ranges::find(each.info->params, first, &ParamInfo::name) != each.info->params.end();
      };
      const auto is_nested_in = [&](const PipelineGadget& each) { return each.name.starts_with(first + "/"); };
      if (std::ranges::none_of(known.gadgets, declares) || std::ranges::any_of(known.gadgets, is_nested_in))
        refuse(
            "a client may set GADGET.PARAMETER=VALUE, or a parameter that the pipeline's gadgets share; nothing else");
      continue;
    }
    const std::string second =
        dot == std::string::npos ? "" : set.path.substr(dot + 1, set.path.find('.', dot + 1) - dot - 1);
    if (std::ranges::find(gadget->info->params, second, &ParamInfo::name) == gadget->info->params.end())
      refuse(fmt::format("{} ({}) has no parameter '{}' that a client may set", first, gadget->info->name, second));
  }
}

class ParameterCheck {
 public:
  ParameterCheck(const Permissions& permissions, const Value& document, const std::vector<SetOption>& sets,
                 Problems& problems)
      : permissions_(permissions), document_(document), sets_(sets), problems_(problems) {}

  // `known` has the gadget's parameters as the operator, or the gadget's author, chose them.
  void check(const PipelineGadget& gadget, const Value& known, bool is_sent) {
    gadget_ = &gadget;
    for (const ParamInfo& param : gadget.info->params) {
      top_ = param.name;
      const Value* value = gadget.resolved.find(param.name);
      const Value* before = known.find(param.name);
      if (!value || (before && same(*value, *before))) continue;
      if (!is_sent && !is_allowed(gadget.info->name, permissions_))
        refuse(param.name, fmt::format("parameters of a {} are the operator's, who can let clients set them by --allow "
                                       "{}",
                                       gadget.info->name, gadget.info->name));
      else
        check_value(param, *value, before, param.name);
    }
  }

 private:
  static bool same(const Value& a, const Value& b) {
    return a.kind == b.kind && a.text == b.text && std::ranges::equal(a.items, b.items, same) &&
           std::ranges::equal(a.entries, b.entries,
                              [](const auto& x, const auto& y) { return x.key == y.key && same(x.value, y.value); });
  }

  void check_value(const ParamInfo& param, const Value& value, const Value* before, const std::string& name) {
    if (before && same(value, *before)) return;
    const bool is_empty =
        value.kind == Value::Kind::scalar ? value.text.empty() : value.items.empty() && value.entries.empty();
    if (param.rules.operators_alone && !is_empty)
      return refuse(name, fmt::format("{}: leave it out", param.rules.operators_alone));
    if (param.type.find("path") != std::string::npos || param.rules.is_in_run_folder)
      return check_paths(param, value, name);
    for (const ParamInfo& field : param.fields) {
      if (const Value* inner = value.find(field.name))
        check_value(field, *inner, before ? before->find(field.name) : nullptr, name + "." + field.name);
      for (const Value& item : value.items)  // a list of maps
        if (const Value* inner = item.find(field.name)) check_value(field, *inner, nullptr, name + "." + field.name);
    }
  }

  void check_paths(const ParamInfo& param, const Value& value, const std::string& name) {
    for (const Value& item : value.items) check_paths(param, item, name);
    if (value.kind != Value::Kind::scalar || value.text.empty()) return;
    if (param.rules.is_in_run_folder && !stays_in_its_folder(value.text))
      refuse(name, fmt::format("'{}' must be a name in the run's own folder, without '..'", value.text));
    else if (!param.rules.is_in_run_folder && !lies_within(value.text, permissions_.data))
      refuse(name, fmt::format("'{}' lies in no folder that clients may read: the operator names those by --data",
                               value.text));
  }

  void refuse(const std::string& name, const std::string& why) {
    problems_.add(place(), fmt::format("gadgets.{}.{}: {}", gadget_->name, name, why));
  }

  // Where the client wrote this parameter: in a setting, under the gadget, or as a top-level default.
  Location place() const {
    for (const SetOption& set : sets_)
      if (set.path.starts_with(gadget_->name + "." + top_) || set.path.starts_with(top_)) return set.value.where;
    const Value* gadgets = document_.find("gadgets");
    const Value* own = gadgets ? gadgets->find(gadget_->name) : nullptr;
    if (const Value* value = own ? own->find(top_) : nullptr) return value->where;
    if (const Value* value = document_.find(top_)) return value->where;
    return gadget_->where;
  }

  const Permissions& permissions_;
  const Value& document_;
  const std::vector<SetOption>& sets_;
  Problems& problems_;
  const PipelineGadget* gadget_ = nullptr;
  std::string top_;
};

Value defaults_of(const GadgetInfo& info) {
  Value defaults = Value::map();
  for (const ParamInfo& param : info.params) defaults.set(param.name, param.default_value);
  return defaults;
}

// An edge with more room than usual takes memory that nothing accounts for.
void check_edges(const Pipeline& pipeline, Problems& problems) {
  const EdgeSettings usual;
  for (const PipelineEdge& edge : pipeline.edges) {
    if (edge.settings.policy == EdgePolicy::spill)
      problems.add(edge.where,
                   fmt::format("edge {}: in a pipeline that is sent no edge may spill to the server's disk: use "
                               "policy: block",
                               edge.name));
    if (edge.settings.messages > usual.messages || edge.settings.bytes > usual.bytes)
      problems.add(edge.where,
                   fmt::format("edge {}: in a pipeline that is sent at most {} messages and {} bytes may wait "
                               "on an edge",
                               edge.name, usual.messages, usual.bytes));
  }
}

// What a run for a client needs.
void check_ends(const Pipeline& pipeline, Problems& problems) {
  std::size_t sources = 0, live = 0, images = 0;
  for (const PipelineGadget& gadget : pipeline.gadgets) {
    const bool is_live = gadget.info->stream_end == takes_live_stream;
    sources += gadget.info->kind == GadgetKind::source ? 1 : 0;
    live += is_live ? 1 : 0;
    images += gadget.info->stream_end == sends_images ? 1 : 0;
    if (const Value* journal = gadget.resolved.find("journal"); is_live && journal && !journal->text.empty())
      problems.add(gadget.where, "a run of a server keeps no journal: leave 'journal' out");
  }
  if (sources != 1 || live != 1)
    problems.add({}, fmt::format("{}: a pipeline for a server has one source, a {}, which takes the client's stream",
                                 pipeline.name, gadgets_at(takes_live_stream)));
  if (images == 0)
    problems.add({}, fmt::format("{}: a pipeline for a server has a {}, which gives the client its images",
                                 pipeline.name, gadgets_at(sends_images)));
}

void throw_if_any(const Problems& problems) {
  if (!problems.empty()) throw ConfigErrors(problems.all());
}

// Empty: it can be. What is wrong with a pipeline that has errors `check` tells its author.
std::string why_not_served(const fs::path& file) {
  try {
    Problems problems;
    check_ends(load_pipeline(file), problems);
    return problems.empty() ? "" : problems.all().front().message;
  } catch (const std::exception&) {
    return fmt::format("{} has errors, which 'tofstream check' on the server tells", file.filename().string());
  }
}

std::vector<fs::path> own_files(const Permissions& permissions) {
  return permissions.pipelines.empty() ? std::vector<fs::path>() : yaml_files_in(permissions.pipelines);
}

// The pipelines in and below the server's folder that clients may name.
std::vector<fs::path> offered_files(const Permissions& permissions) {
  std::vector<fs::path> files = own_files(permissions);
  std::erase_if(files, [](const fs::path& file) { return !why_not_served(file).empty(); });
  return files;
}

Pipeline sent_pipeline(const Hello& hello, const Permissions& permissions) {
  Problems problems;
  const Value document = parse_document(hello.yaml, hello.pipeline, problems);
  throw_if_any(problems);
  check_sent_document(document, permissions, problems);
  throw_if_any(problems);
  Pipeline pipeline = parse_pipeline(hello.yaml, hello.pipeline);
  const std::vector<SetOption> sets = read_sets(hello.settings, problems);
  check_settings(sets, pipeline, problems);
  throw_if_any(problems);
  if (!sets.empty()) pipeline = parse_pipeline(hello.yaml, hello.pipeline, {.sets = hello.settings});
  ParameterCheck parameters(permissions, document, sets, problems);
  for (const PipelineGadget& gadget : pipeline.gadgets) {
    if (!is_allowed(gadget.info->name, permissions))
      problems.add(gadget.where, not_allowed(gadget.info->name));
    else
      parameters.check(gadget, defaults_of(*gadget.info), true);
  }
  check_edges(pipeline, problems);
  check_ends(pipeline, problems);
  throw_if_any(problems);
  return pipeline;
}

Pipeline own_pipeline(const Hello& hello, const Permissions& permissions) {
  Problems problems;
  const std::vector<fs::path> files = offered_files(permissions);
  const auto file = std::ranges::find_if(files, [&](const fs::path& one) { return one.stem() == hello.pipeline; });
  if (file == files.end()) {
    for (const fs::path& one : own_files(permissions))
      if (one.stem() == hello.pipeline) problems.add({}, "the server cannot offer it: " + why_not_served(one));
    throw_if_any(problems);
    const std::vector<std::string> names = offered_pipelines(permissions);
    problems.add({}, fmt::format("the server offers no pipeline '{}'{}; it has: {}", hello.pipeline,
                                 did_you_mean(hello.pipeline, names),
                                 names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
    throw ConfigErrors(problems.all());
  }
  const Pipeline known = load_pipeline(*file);
  const std::vector<SetOption> sets = read_sets(hello.settings, problems);
  check_settings(sets, known, problems);
  throw_if_any(problems);
  Pipeline pipeline = sets.empty() ? known : load_pipeline(*file, {.sets = hello.settings});
  const Value none = Value::map();
  ParameterCheck parameters(permissions, none, sets, problems);
  for (std::size_t i = 0; i < pipeline.gadgets.size(); ++i)
    parameters.check(pipeline.gadgets[i], known.gadgets[i].resolved, false);
  check_ends(pipeline, problems);
  throw_if_any(problems);
  return pipeline;
}

}  // namespace

std::vector<std::string> offered_pipelines(const Permissions& permissions) {
  std::set<std::string> names;
  for (const fs::path& file : offered_files(permissions)) names.insert(file.stem());
  return {names.begin(), names.end()};
}

Pipeline permitted_pipeline(const Hello& hello, const Permissions& permissions) {
  return hello.yaml.empty() ? own_pipeline(hello, permissions) : sent_pipeline(hello, permissions);
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
