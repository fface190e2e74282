// The log of updates: see update_log.hpp.
#include "gadgets/io/update_log.hpp"

#include <cerrno>
#include <cmath>
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
constexpr int one_stretch_version = 1;  // "subset" and "subsets" in the place of "parts"
constexpr int format_version = 2;

Json first_line(int version) {
  return {{"format", format_name}, {"version", version}};
}

// `estimate` is for people: updates follow one another.
std::string line_of(const UpdateRecord& r) {
  if (r.restart) return Json{{"update", r.update}, {"restart", true}}.dump() + "\n";
  Json parts = Json::array();
  for (const UpdateParts& part : r.parts) parts.push_back({part.first, part.count});
  Json line{{"update", r.update}, {"parts", parts}, {"events", r.events}};
  if (r.as_of) {
    line["as_of_event"] = r.as_of->event;
    line["as_of_s"] = r.as_of->exposed_s;
  }
  line["estimate"] = r.update - 1;
  return line.dump() + "\n";
}

constexpr std::uint64_t most_parts = 1'000'000'000;
constexpr std::uint64_t most_events = std::numeric_limits<std::uint64_t>::max();

// A whole number from `least` to `most`: get() alone would truncate others.
std::uint64_t whole_number(const Json& value, const char* what, std::uint64_t least, std::uint64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most)
    throw std::runtime_error(fmt::format("{} is no whole number from {} to {}", what, least, most));
  return value.get<std::uint64_t>();
}

double seconds(const Json& value) {
  if (!value.is_number() || !(std::isfinite(value.get<double>()) && value.get<double>() >= 0))
    throw std::runtime_error("as_of_s is no time in seconds");
  return value.get<double>();
}

UpdateParts parts_of(const Json& first, const Json& count) {
  return {static_cast<int>(whole_number(first, "the first part", 0, most_parts)),
          static_cast<int>(whole_number(count, "the number of parts", 1, most_parts))};
}

std::vector<UpdateParts> list_of_parts(const Json& list) {
  if (!list.is_array() || list.empty()) throw std::runtime_error("parts is no list of [first, count]");
  std::vector<UpdateParts> parts;
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2) throw std::runtime_error("parts is no list of [first, count]");
    const UpdateParts next = parts_of(pair[0], pair[1]);
    if (!parts.empty() && next.first < parts.back().first + parts.back().count)
      throw std::runtime_error("parts do not ascend");
    parts.push_back(next);
  }
  return parts;
}

UpdateRecord record_of(const Json& line, int version) {
  UpdateRecord record;
  record.update =
      static_cast<std::int64_t>(whole_number(line.at("update"), "update", 1, std::numeric_limits<std::int64_t>::max()));
  record.restart = line.value("restart", false);
  if (record.restart) return record;
  record.events = whole_number(line.at("events"), "events", 0, most_events);
  if (version == one_stretch_version) {
    record.parts = {parts_of(line.at("subset"), line.at("subsets"))};
    return record;
  }
  record.parts = list_of_parts(line.at("parts"));
  if (line.contains("as_of_event"))
    record.as_of = AsOf{whole_number(line["as_of_event"], "as_of_event", 0, most_events), seconds(line.at("as_of_s"))};
  return record;
}

// Throws if the first line is not an order's, or is that of a later program.
int version_of(const std::string& text) {
  const Json line = Json::parse(text);
  for (const int version : {one_stretch_version, format_version})
    if (line == first_line(version)) return version;
  if (line.is_object() && line.value("format", "") == format_name)
    throw std::runtime_error(
        fmt::format("its version is {}, and this tofstream reads {} and {}: take one that is newer",
                    line.value("version", Json()).dump(), one_stretch_version, format_version));
  throw std::runtime_error(fmt::format("its first line must be {}", first_line(format_version).dump()));
}

void take_line(const std::string& text, int version, UpdateLog& log) {
  if (log.has_ended) throw std::runtime_error("it has ended before");
  const Json line = Json::parse(text);
  if (line.is_object() && line.value("end", false)) {
    log.has_ended = true;
    return;
  }
  UpdateRecord record = record_of(line, version);
  if (record.update != static_cast<std::int64_t>(log.updates.size()) + 1)
    throw std::runtime_error(fmt::format("update {} is missing", log.updates.size() + 1));
  log.updates.push_back(std::move(record));
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
  const auto read_line = [&] { return std::getline(stream, text) && !stream.eof(); };  // a cut line has no end
  try {
    const int version = version_of(read_line() ? text : "null");
    for (++number; read_line(); ++number) take_line(text, version, log);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}:{}: no order of updates: {}", name, number, error.what()));
  }
  return log;
}

UpdateLogWriter::UpdateLogWriter(std::filesystem::path file, std::span<const UpdateRecord> before)
    : file_(std::move(file)) {
  std::string text = first_line(format_version).dump() + "\n";
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

// Written in one call, so that a killed program leaves whole lines.
void UpdateLogWriter::write(const std::string& line) {
  const auto written = ::write(descriptor_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return;
  throw std::system_error(written < 0 ? errno : ENOSPC, std::generic_category(), "cannot write " + file_.string());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
