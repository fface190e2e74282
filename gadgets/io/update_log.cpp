// The log of updates: see update_log.hpp.
#include "gadgets/io/update_log.hpp"

#include <cerrno>
#include <fstream>
#include <istream>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/base/atomic_file.hpp"

namespace tofstream {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "tofstream update order";
constexpr int format_version = 1;

Json first_line() {
  return {{"format", format_name}, {"version", format_version}};
}

// `estimate` is for people: updates follow one another.
std::string line_of(const UpdateRecord& r) {
  if (r.restart) return Json{{"update", r.update}, {"restart", true}}.dump() + "\n";
  return Json{{"update", r.update},
              {"subset", r.first},
              {"subsets", r.count},
              {"events", r.events},
              {"estimate", r.update - 1}}
             .dump() +
         "\n";
}

// A whole number from `least` to `most`: get() alone would cut what does not fit.
std::uint64_t whole_number(const Json& line, const char* key, std::uint64_t least, std::uint64_t most) {
  const Json& value = line.at(key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most)
    throw std::runtime_error(fmt::format("{} is no whole number from {} to {}", key, least, most));
  return value.get<std::uint64_t>();
}

UpdateRecord record_of(const Json& line) {
  constexpr std::uint64_t most_subsets = 1'000'000'000;
  UpdateRecord record;
  record.update = static_cast<std::int64_t>(whole_number(line, "update", 1, std::numeric_limits<std::int64_t>::max()));
  record.restart = line.value("restart", false);
  if (record.restart) return record;
  record.first = static_cast<int>(whole_number(line, "subset", 0, most_subsets));
  record.count = static_cast<int>(whole_number(line, "subsets", 1, most_subsets));
  record.events = whole_number(line, "events", 0, std::numeric_limits<std::uint64_t>::max());
  return record;
}

void take_line(const std::string& text, UpdateLog& log) {
  if (log.has_ended) throw std::runtime_error("it has ended before");
  const Json line = Json::parse(text);
  if (line.is_object() && line.value("end", false)) {
    log.has_ended = true;
    return;
  }
  UpdateRecord record = record_of(line);
  if (record.update != static_cast<std::int64_t>(log.updates.size()) + 1)
    throw std::runtime_error(fmt::format("update {} is missing", log.updates.size() + 1));
  log.updates.push_back(record);
}

}  // namespace

UpdateLog read_update_log(const std::filesystem::path& file_or_folder) {
  const auto file = std::filesystem::is_directory(file_or_folder) ? file_or_folder / update_log_name : file_or_folder;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(fmt::format("cannot read the order of updates {}", file.string()));
  return read_update_log(stream, file.string());
}

UpdateLog read_update_log(std::istream& stream, const std::string& name) {
  UpdateLog log;
  std::string text;
  int number = 1;
  const auto read_line = [&] { return std::getline(stream, text) && !stream.eof(); };  // a cut one has no end
  try {
    if (!read_line() || Json::parse(text) != first_line())
      throw std::runtime_error(fmt::format("its first line must be {}", first_line().dump()));
    for (++number; read_line(); ++number) take_line(text, log);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}:{}: no order of updates: {}", name, number, error.what()));
  }
  return log;
}

UpdateLogWriter::UpdateLogWriter(std::filesystem::path file, std::span<const UpdateRecord> before)
    : file_(std::move(file)) {
  std::string text = first_line().dump() + "\n";
  for (const UpdateRecord& record : before) text += line_of(record);
  AtomicFile begun(file_);
  begun.write(text);
  begun.commit();
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot open " + file_.string());
}

UpdateLogWriter::~UpdateLogWriter() {
  ::close(descriptor_);
}

void UpdateLogWriter::append(const UpdateRecord& record) {
  write(line_of(record));
}

void UpdateLogWriter::end() {
  write(Json{{"end", true}}.dump() + "\n");
}

// In one call, so that a killed program leaves whole lines.
void UpdateLogWriter::write(const std::string& line) {
  const auto written = ::write(descriptor_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return;
  throw std::system_error(written < 0 ? errno : ENOSPC, std::generic_category(), "cannot write " + file_.string());
}

}  // namespace tofstream
