// Files made from the templates of share/templates: a template's @words@ are replaced by what they stand for.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tofstream::command {

class Scaffold {
 public:
  /// What `@word@` stands for; the text may have words itself.
  void set(const std::string& word, std::string text) { words_[word] = std::move(text); }
  /// The text with its words replaced. Throws std::logic_error for one that is not set: a mistake in a template.
  std::string filled(std::string_view text) const;
  /// The file of share/templates, as it is.
  static std::string read_template(const std::string& name);

  /// Plans a file, from a template.
  void add(const std::filesystem::path& file, const std::string& template_name);
  /// Writes what was planned, or nothing: throws InputError where one of the files exists, and std::runtime_error where
  /// one cannot be written. Returns their paths.
  std::vector<std::filesystem::path> write() const;

 private:
  std::map<std::string, std::string> words_;
  std::vector<std::pair<std::filesystem::path, std::string>> files_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
