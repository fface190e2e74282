#include "core/document.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace tofstream {
namespace {

class Converter {
 public:
  Converter(const std::string& name, Problems& problems)
      : file_(std::make_shared<const std::string>(name)), problems_(problems) {}

  Value convert(const YAML::Node& node, int depth = 0) {
    Value v;
    v.where = place(node.Mark());
    // Aliases make small files of endless trees.
    if (depth > deepest || ++nodes_ > most_nodes) {
      if (!overgrown_) problems_.add(v.where, "the document is too deep or too large when its aliases are followed");
      overgrown_ = true;
      return v;
    }
    if (node.IsScalar()) {
      v.kind = Value::Kind::scalar;
      v.text = node.Scalar();
      v.quoted = node.Tag() == "!";
    } else if (node.IsSequence()) {
      v.kind = Value::Kind::sequence;
      for (const auto& item : node) {
        if (overgrown_) break;
        v.items.push_back(convert(item, depth + 1));
      }
    } else if (node.IsMap()) {
      v.kind = Value::Kind::map;
      convert_entries(node, v, depth);
    }
    return v;
  }

  Location place(const YAML::Mark& mark) const {
    if (mark.is_null()) return {file_, 0, 0};
    return {file_, mark.line + 1, mark.column + 1};
  }

 private:
  static constexpr int deepest = 64;
  static constexpr int most_nodes = 1'000'000;

  void convert_entries(const YAML::Node& node, Value& map, int depth) {
    std::vector<Value> merges;
    for (const auto& entry : node) {
      if (overgrown_) return;
      const Location where = place(entry.first.Mark());
      if (!entry.first.IsScalar()) {
        problems_.add(where, "a key must be a plain text");
        continue;
      }
      const std::string& key = entry.first.Scalar();
      Value value = convert(entry.second, depth + 1);
      if (key == "<<") {
        merges.push_back(std::move(value));
      } else if (map.find(key)) {
        problems_.add(where, fmt::format("duplicate key '{}'", key));
      } else {
        map.set(key, std::move(value), where);
      }
    }
    for (const Value& merge : merges) lay_below(map, merge);
  }

  // The merge key: what the map lacks comes from the merged map, or from the first of a list that
  // has it.
  void lay_below(Value& map, const Value& merge) {
    if (merge.kind == Value::Kind::sequence) {
      for (const Value& item : merge.items) lay_below(map, item);
    } else if (merge.kind == Value::Kind::map) {
      for (const Value::Entry& entry : merge.entries)
        if (!map.find(entry.key)) map.entries.push_back(entry);
    } else {
      problems_.add(merge.where, "'<<' merges a map or a list of maps, not " + merge.in_words());
    }
  }

  std::shared_ptr<const std::string> file_;
  Problems& problems_;
  int nodes_ = 0;
  bool overgrown_ = false;
};

}  // namespace

Value parse_document(std::string_view text, const std::string& name, Problems& problems) {
  Converter converter(name, problems);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) return {};
    if (documents.size() > 1) {
      problems.add(converter.place(documents[1].Mark()), "a second document: a pipeline file holds one");
      return {};
    }
    return converter.convert(documents[0]);
  } catch (const YAML::Exception& error) {
    const bool braces = text.find("${") != std::string_view::npos;  // they end an unquoted scalar there
    problems.add(converter.place(error.mark),
                 fmt::format("not valid YAML: {}{}", error.msg,
                             braces ? "; within {} or [] write \"${name}\" with quotes" : ""));
    return {};
  }
}

Value load_document(const std::filesystem::path& file, Problems& problems) {
  const Location where{std::make_shared<const std::string>(file.string()), 0, 0};
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    problems.add(where, "is a folder, not a YAML file");
    return {};
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) {
    const bool is_empty = stream.is_open() && errno == 0;  // inserting nothing counts as a failure
    problems.add(where, is_empty ? "is empty" : fmt::format("cannot be read: {}", std::strerror(errno ? errno : EIO)));
    return {};
  }
  return parse_document(std::move(text).str(), file.string(), problems);
}

Value load_from(const std::filesystem::path& file, const Location& mention, Problems& problems) {
  Problems unreadable;
  Value document = load_document(file, unreadable);
  for (const Problem& problem : unreadable.all())
    problems.add(problem.where.line ? problem.where : mention, problem.where.line ? problem.message : problem.text());
  return document;
}

}  // namespace tofstream
