// Dead times of modules from and to YAML: see dead_time_yaml.hpp.
#include "gadgets/ring/io/dead_time_yaml.hpp"

#include <iterator>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "core/base/printable.hpp"
#include "gadgets/dead_time_names.hpp"
#include "gadgets/io/yaml/described_file.hpp"

namespace tofstream::formats {
namespace {

struct DeadTimeFile {
  DeadTimeModel model = DeadTimeModel::non_paralysable;
  std::vector<double> dead_time_us, dead_time_error_us;
  static constexpr auto params =
      describe(param<&DeadTimeFile::model>("model", required, "What happens to photons while a module is busy"),
               param<&DeadTimeFile::dead_time_us>("dead_time_us", required, range(0, 1e6), "One number a module"),
               param<&DeadTimeFile::dead_time_error_us>("dead_time_error_us", range(0, 1e6), "Their errors"));
};

ModuleDeadTimes dead_times_of(const Value& document) {
  auto file = described<DeadTimeFile>(document, "dead times");
  return {file.model, std::move(file.dead_time_us)};
}

void add_row(std::string& text, const char* key, const std::vector<double>& values) {
  constexpr std::size_t in_a_line = 12;
  text += fmt::format("{}: [", key);
  for (std::size_t k = 0; k < values.size(); ++k)
    fmt::format_to(std::back_inserter(text), "{}{:.5g}", k == 0 ? "" : k % in_a_line == 0 ? ",\n  " : ", ", values[k]);
  text += "]\n";
}

}  // namespace

ModuleDeadTimes parse_dead_times(const std::string& text, const std::string& file) {
  return dead_times_of(parse_text(text, file));
}

ModuleDeadTimes read_dead_times(const std::filesystem::path& file) {
  return dead_times_of(read_document(file));
}

void write_dead_times(const std::filesystem::path& file, const ModuleDeadTimes& times,
                      const std::vector<double>& errors_us, const std::vector<std::string>& comments) {
  std::string text;
  for (const std::string& line : comments) text += fmt::format("# {}\n", printable(line));
  text += fmt::format("model: {}\n", times.model == DeadTimeModel::paralysable ? "paralysable" : "non_paralysable");
  add_row(text, "dead_time_us", times.dead_time_us);
  add_row(text, "dead_time_error_us", errors_us);
  AtomicFile written(file);
  written.write(std::string_view(text));
  written.commit();
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
