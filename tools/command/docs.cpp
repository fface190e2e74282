// `tofstream docs [TOPIC [SECTION]]`: the documents that come with the program, by name.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/did_you_mean.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

namespace fs = std::filesystem;

struct DocsOptions {
  std::string topic, section;
  bool path = false;
};

struct Topic {
  std::string name, title;
  fs::path file;
};

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

// The number of # at a line's beginning; 0 where it is no heading.
std::size_t level_of(std::string_view line) {
  const std::size_t marks = line.find_first_not_of('#');
  return marks != std::string_view::npos && marks > 0 && line[marks] == ' ' ? marks : 0;
}

std::string heading_of(std::string_view line) {
  return std::string(line.substr(level_of(line) + 1));
}

std::string title_of(const fs::path& file) {
  for (const std::string& line : lines_of(file))
    if (level_of(line) == 1) return heading_of(line);
  return {};
}

std::vector<Topic> topics() {
  const fs::path folder = find_shared_file("doc/architecture.md").parent_path();
  std::vector<Topic> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".md") continue;
    const std::string name = entry.path().lexically_relative(folder).replace_extension().generic_string();
    all.push_back({name, title_of(entry.path()), entry.path()});
  }
  std::ranges::sort(all, {}, &Topic::name);
  return all;
}

void print_topics(const std::vector<Topic>& all) {
  std::size_t width = 0;
  for (const Topic& topic : all) width = std::max(width, topic.name.size());
  for (const Topic& topic : all) fmt::print("{:<{}}  {}\n", topic.name, width, topic.title);
}

// By its name, with or without the folder it lies in, and with or without what messages and links have around it.
const Topic& find_topic(const std::vector<Topic>& all, const std::string& wanted) {
  const std::string name = fs::path(wanted).filename().replace_extension().string();
  const auto found =
      std::ranges::find_if(all, [&](const Topic& topic) { return topic.name == wanted || topic.file.stem() == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Topic& topic : all) names.push_back(topic.file.stem().string());
  throw InputError(
      fmt::format("there is no document '{}'{} (tofstream docs lists them)", wanted, did_you_mean(name, names)));
}

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The first section whose heading has these words, to the next heading of its level.
std::vector<std::string> section_of(const std::vector<std::string>& lines, const Topic& topic,
                                    const std::string& wanted) {
  std::vector<std::string> section, headings;
  std::size_t level = 0;
  bool is_code = false;
  for (const std::string& line : lines) {
    if (line.starts_with("```")) is_code = !is_code;
    const std::size_t here = is_code ? 0 : level_of(line);
    if (level > 0 && here > 0 && here <= level) break;
    if (level == 0 && here > 0) {
      headings.push_back(heading_of(line));
      if (in_lower_case(headings.back()).find(in_lower_case(wanted)) != std::string::npos) level = here;
    }
    if (level > 0) section.push_back(line);
  }
  if (level > 0) return section;
  throw InputError(fmt::format("{} has no section '{}'{}: name one of\n  {}", topic.name, wanted,
                               did_you_mean(wanted, headings), fmt::join(headings, "\n  ")));
}

void docs(const DocsOptions& options) {
  const std::vector<Topic> all = topics();
  if (options.topic.empty()) return print_topics(all);
  const Topic& topic = find_topic(all, options.topic);
  if (options.path) return fmt::print("{}\n", topic.file.string());
  std::vector<std::string> lines = lines_of(topic.file);
  if (!options.section.empty()) lines = section_of(lines, topic, options.section);
  fmt::print("{}\n", fmt::join(lines, "\n"));
}

Suggestions suggest_topics(const Given&) {
  Suggestions words;
  for (const Topic& topic : topics()) words.push_back({topic.name, topic.title});
  return words;
}

}  // namespace

void add_docs(Command& app) {
  auto& command = app.add_command("docs", "Print a document that comes with tofstream, or list them");
  auto options = std::make_shared<DocsOptions>();
  command.add_option("topic", options->topic, "Its name (default: lists all)").suggests(suggest_topics);
  command.add_option("section", options->section, "Words of a heading: that section alone").takes_no_files();
  command.add_flag("--path", options->path, "Print where the document lies instead");
  command.footer(
      "Example: tofstream docs conventions 'ToF'\n"
      "The documents are Markdown: tofstream docs how-to | less");
  command.on_run([options] { docs(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
