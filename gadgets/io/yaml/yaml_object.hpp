// A YAML map read strictly: values are converted and checked for range, every key must be known,
// and each mistake throws std::runtime_error of one line, file:line:column: message.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "kernels/math/vec3.hpp"

namespace tofstream::formats {

/// The text of a small file. Throws std::runtime_error when it cannot be read or exceeds 16 MiB.
std::string read_text(const std::filesystem::path& file);
/// The root of a YAML text, in which every key of a map must be unique.
YAML::Node parse_yaml(const std::string& text, const std::string& file);
[[noreturn]] void fail_at(const YAML::Node& node, const std::string& file, const std::string& message);

class YamlObject {
 public:
  /// `what` names the object in messages, as 'a solid'. Throws unless the node is a map.
  YamlObject(const YAML::Node& node, std::string file, std::string what);

  /// Each of these throws where the key is missing (and has no fallback), has another type or is
  /// out of [low, high].
  double number(const char* key, double low, double high, std::optional<double> fallback = {});
  int integer(const char* key, int low, int high, std::optional<int> fallback = {});
  std::string text(const char* key, std::optional<std::string> fallback = {});
  std::vector<double> numbers(const char* key, std::size_t count);
  Vec3d vector(const char* key, std::optional<Vec3d> fallback = {});
  std::vector<YAML::Node> list(const char* key);  // empty where the key is missing
  YamlObject object(const char* key);
  bool has(const char* key);

  /// Throws at the first key that nobody asked for, with the known ones. Call it last.
  void finish() const;
  [[noreturn]] void fail(const std::string& message) const { fail_at(node_, file_, message); }
  [[noreturn]] void fail(const char* key, const std::string& message) const;
  const std::string& file() const { return file_; }

 private:
  YAML::Node find(const char* key);      // undefined where missing
  YAML::Node required(const char* key);  // throws where missing
  double converted(const YAML::Node& value, const char* key) const;

  YAML::Node node_;
  std::string file_, what_;
  std::vector<std::string> known_;
};

}  // namespace tofstream::formats
