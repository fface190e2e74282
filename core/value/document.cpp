#include "core/value/document.hpp"

#include <optional>
#include <set>
#include <sstream>

#include <boost/locale/utf.hpp>
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace tofstream {
namespace {

// Where the first two documents begin. YAML::LoadAll would not do: it never ends if a document begins with ',', where
// the parser takes no token away and gives an empty document each time.
class DocumentStarts : private YAML::EventHandler {
 public:
  explicit DocumentStarts(std::string_view text) {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (marks.size() < 2 && parser.HandleNextDocument(*this)) continue;
  }

  std::vector<YAML::Mark> marks;

 private:
  void OnDocumentStart(const YAML::Mark& mark) override { marks.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Messages and run.json must be valid text, and names and values come from here.
bool is_utf8(std::string_view text) {
  namespace utf = boost::locale::utf;
  for (auto at = text.begin(); at != text.end();)
    if (!utf::is_valid_codepoint(utf::utf_traits<char>::decode(at, text.end()))) return false;
  return true;
}

class Converter {
 public:
  Converter(const std::string& name, Problems& problems)
      : file_(std::make_shared<const std::string>(name)), problems_(problems) {}

  Value convert(const YAML::Node& node, int depth = 0) {
    Value v;
    v.where = place(node.Mark());
    // With aliases a small file can hold an endless tree.
    if (depth > deepest || ++nodes_ > most_nodes) {
      overgrow(v.where, "the document is too deep or too large when its aliases are followed");
      return v;
    }
    if (node.IsScalar()) {
      v.kind = Value::Kind::scalar;
      v.text = node.Scalar();
      if (!is_utf8(v.text)) problems_.add(v.where, "a text is not valid UTF-8");
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
  using Keys = std::set<std::string, std::less<>>;

  static constexpr int deepest = 64;
  static constexpr int most_nodes = 1'000'000;
  static constexpr std::size_t most_keys = 10'000;  // of a map: maps are small and searched from their beginning

  void overgrow(const Location& where, const char* words) {
    if (!overgrown_) problems_.add(where, words);
    overgrown_ = true;
  }

  void convert_entries(const YAML::Node& node, Value& map, int depth) {
    Keys keys;
    std::vector<Value> merges;
    for (const auto& entry : node) {
      if (overgrown_) return;
      const Location where = place(entry.first.Mark());
      if (!entry.first.IsScalar()) {
        problems_.add(where, "a key must be a plain text");
        continue;
      }
      const std::string& key = entry.first.Scalar();
      if (!is_utf8(key)) problems_.add(where, "a key is not valid UTF-8");
      Value value = convert(entry.second, depth + 1);
      if (key == "<<")
        merges.push_back(std::move(value));
      else if (!add_entry(map, keys, {key, where, std::move(value)}))
        problems_.add(where, fmt::format("duplicate key '{}'", key));
    }
    for (const Value& merge : merges) lay_below(map, keys, merge);
  }

  // False if the key is there already.
  bool add_entry(Value& map, Keys& keys, Value::Entry entry) {
    if (!keys.insert(entry.key).second) return false;
    if (keys.size() > most_keys) overgrow(entry.where, "a map with more than 10000 keys");
    if (!overgrown_) map.entries.push_back(std::move(entry));
    return true;
  }

  // The merge key: what the map lacks comes from the merged map, or from the first map of a list that
  // has it.
  void lay_below(Value& map, Keys& keys, const Value& merge) {
    if (merge.kind == Value::Kind::sequence) {
      for (const Value& item : merge.items) lay_below(map, keys, item);
    } else if (merge.kind == Value::Kind::map) {
      for (const Value::Entry& entry : merge.entries)
        if (!keys.contains(entry.key)) add_entry(map, keys, entry);
    } else {
      problems_.add(merge.where, "'<<' merges a map or a list of maps, not " + merge.in_words());
    }
  }

  std::shared_ptr<const std::string> file_;
  Problems& problems_;
  int nodes_ = 0;
  bool overgrown_ = false;
};

// The first tab that indents a line up to the one where the parser gave up, which names another reason.
std::optional<YAML::Mark> indenting_tab(std::string_view text, const YAML::Mark& failed) {
  YAML::Mark mark;
  mark.pos = 0;
  mark.line = mark.column = 0;
  for (std::size_t begin = 0; begin < text.size() && mark.line <= failed.line; ++mark.line) {
    const std::size_t tab = text.find_first_not_of(' ', begin);
    if (tab != std::string_view::npos && text[tab] == '\t') {
      mark.pos = static_cast<int>(tab);
      mark.column = static_cast<int>(tab - begin);
      return mark;
    }
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) break;
    ++begin;
  }
  return {};
}

}  // namespace

Value parse_document(std::string_view text, const std::string& name, Problems& problems) {
  Converter converter(name, problems);
  try {
    const DocumentStarts starts(text);
    if (starts.marks.empty()) return {};
    if (starts.marks.size() == 1) return converter.convert(YAML::Load(std::string(text)));
    const bool is_stuck = starts.marks[0].pos == starts.marks[1].pos;
    problems.add(converter.place(starts.marks[1]),
                 is_stuck ? "not valid YAML: no value can begin so" : "a second document: a pipeline file holds one");
    return {};
  } catch (const YAML::Exception& error) {
    if (const auto tab = indenting_tab(text, error.mark)) {
      problems.add(converter.place(*tab), "a tab: YAML is indented by spaces alone");
      return {};
    }
    const bool braces = text.find("${") != std::string_view::npos;  // they end an unquoted scalar there
    problems.add(converter.place(error.mark),
                 fmt::format("not valid YAML: {}{}", error.msg,
                             braces ? "; within {} or [] write \"${name}\" with quotes" : ""));
    return {};
  }
}

Value load_from(const std::filesystem::path& file, const Location& mention, Problems& problems) {
  Problems unreadable;
  Value document = load_document(file, unreadable);
  for (const Problem& problem : unreadable.all())
    problems.add(problem.where.line ? problem.where : mention, problem.where.line ? problem.message : problem.text());
  return document;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
