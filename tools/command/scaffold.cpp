#include "tools/command/scaffold.hpp"

#include <cctype>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/make_folder.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace fs = std::filesystem;

std::string Scaffold::filled(std::string_view text) const {
  std::string result;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find('@'), text.size());
    result += text.substr(0, begin);
    text.remove_prefix(begin);
    if (text.empty()) break;
    std::size_t length = 1;
    while (length < text.size() && (std::isalnum(static_cast<unsigned char>(text[length])) || text[length] == '_'))
      ++length;
    if (length < 2 || length == text.size() || text[length] != '@')
      throw std::logic_error(fmt::format("a template has an @ that begins no word: {}", text.substr(0, 40)));
    const auto word = words_.find(std::string(text.substr(1, length - 1)));
    if (word == words_.end())
      throw std::logic_error(fmt::format("a template has the unknown word {}", text.substr(0, length + 1)));
    result += filled(word->second);
    text.remove_prefix(length + 1);
  }
  return result;
}

std::string Scaffold::read_template(const std::string& name) {
  std::ifstream file(find_shared_file(fs::path("templates") / name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error(fmt::format("the template {} cannot be read: install tofstream again", name));
  return text.str();
}

void Scaffold::add(const fs::path& file, const std::string& template_name) {
  files_.emplace_back(file, filled(read_template(template_name)));
}

std::vector<fs::path> Scaffold::write() const {
  std::vector<fs::path> paths;
  for (const auto& [path, text] : files_)
    if (fs::exists(fs::symlink_status(path)))
      throw InputError(fmt::format("{} exists: choose another name, or remove it first", path.string()));
  for (const auto& [path, text] : files_) {
    make_folder(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file << text << std::flush;
    if (!file) throw std::runtime_error(fmt::format("{} cannot be written: is the disk full?", path.string()));
    paths.push_back(path);
  }
  return paths;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
