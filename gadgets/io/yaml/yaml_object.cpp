// Strict reading of YAML maps: see yaml_object.hpp.
#include "gadgets/io/yaml/yaml_object.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tofstream::formats {
namespace {

[[noreturn]] void fail_mark(const YAML::Mark& mark, const std::string& file, const std::string& message) {
  // An empty document has no mark: its mistakes lie at the beginning.
  throw std::runtime_error(
      fmt::format("{}:{}:{}: {}", file, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1, message));
}

void refuse_duplicates(const YAML::Node& node, const std::string& file) {
  if (node.IsMap()) {
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) fail_at(entry.first, file, "a key must be a plain word");
      if (!seen.insert(entry.first.Scalar()).second)
        fail_at(entry.first, file, fmt::format("'{}' is given twice", entry.first.Scalar()));
      refuse_duplicates(entry.second, file);
    }
  } else if (node.IsSequence()) {
    for (const auto& item : node) refuse_duplicates(item, file);
  }
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  constexpr std::uintmax_t limit = 16 << 20;
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) throw std::runtime_error(fmt::format("{}: cannot be read: {}", file.string(), error.message()));
  if (size > limit)
    throw std::runtime_error(fmt::format("{}: {} bytes are too many for a description in YAML", file.string(), size));
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw std::runtime_error(fmt::format("{}: cannot be read", file.string()));
  return text;
}

YAML::Node parse_yaml(const std::string& text, const std::string& file) {
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail_mark(error.mark, file, error.msg);
  }
  refuse_duplicates(root, file);
  return root;
}

void fail_at(const YAML::Node& node, const std::string& file, const std::string& message) {
  fail_mark(node.Mark(), file, message);
}

YamlObject::YamlObject(const YAML::Node& node, std::string file, std::string what)
    : node_(node), file_(std::move(file)), what_(std::move(what)) {
  if (!node_.IsMap()) fail(fmt::format("{} must be a map of keys and values", what_));
}

YAML::Node YamlObject::find(const char* key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return std::as_const(node_)[key];
}

YAML::Node YamlObject::required(const char* key) {
  YAML::Node value = find(key);
  if (!value) fail(fmt::format("{} needs '{}'", what_, key));
  return value;
}

bool YamlObject::has(const char* key) {
  return static_cast<bool>(find(key));
}

double YamlObject::converted(const YAML::Node& value, const char* key) const {
  double result = 0;
  if (!value.IsScalar() || !YAML::convert<double>::decode(value, result) || !std::isfinite(result))
    fail_at(value, file_, fmt::format("'{}' must be a finite number", key));
  return result;
}

double YamlObject::number(const char* key, double low, double high, std::optional<double> fallback) {
  if (fallback && !has(key)) return *fallback;
  const YAML::Node value = required(key);
  const double result = converted(value, key);
  if (!(result >= low && result <= high))
    fail_at(value, file_, fmt::format("'{}' is {}, outside [{}, {}]", key, result, low, high));
  return result;
}

int YamlObject::integer(const char* key, int low, int high, std::optional<int> fallback) {
  if (fallback && !has(key)) return *fallback;
  const double value = number(key, low, high);
  if (value != std::floor(value)) fail(key, fmt::format("'{}' must be a whole number", key));
  return static_cast<int>(value);
}

std::string YamlObject::text(const char* key, std::optional<std::string> fallback) {
  if (fallback && !has(key)) return *fallback;
  const YAML::Node value = required(key);
  if (!value.IsScalar() || value.Scalar().empty()) fail_at(value, file_, fmt::format("'{}' must be a text", key));
  return value.Scalar();
}

std::vector<double> YamlObject::numbers(const char* key, std::size_t count) {
  const YAML::Node value = required(key);
  if (!value.IsSequence() || (count != 0 && value.size() != count))
    fail_at(value, file_,
            count ? fmt::format("'{}' must be a list of {} numbers", key, count)
                  : fmt::format("'{}' must be a list of numbers", key));
  std::vector<double> result;
  for (const auto& item : value) result.push_back(converted(item, key));
  return result;
}

Vec3d YamlObject::vector(const char* key, std::optional<Vec3d> fallback) {
  if (fallback && !has(key)) return *fallback;
  const std::vector<double> v = numbers(key, 3);
  return {v[0], v[1], v[2]};
}

std::vector<YAML::Node> YamlObject::list(const char* key) {
  const YAML::Node value = find(key);
  if (!value) return {};
  if (!value.IsSequence()) fail_at(value, file_, fmt::format("'{}' must be a list", key));
  return {value.begin(), value.end()};
}

YamlObject YamlObject::object(const char* key) {
  return {required(key), file_, fmt::format("'{}'", key)};
}

void YamlObject::fail(const char* key, const std::string& message) const {
  fail_at(node_[key], file_, message);
}

void YamlObject::finish() const {
  for (const auto& entry : node_) {
    const std::string& key = entry.first.Scalar();
    if (std::ranges::find(known_, key) == known_.end())
      fail_at(entry.first, file_, fmt::format("{} has no key '{}'; it knows {}", what_, key, fmt::join(known_, ", ")));
  }
}

}  // namespace tofstream::formats
