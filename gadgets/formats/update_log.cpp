// The log of updates: see update_log.hpp.
#include "gadgets/formats/update_log.hpp"

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/atomic_file.hpp"

namespace tofstream {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "tofstream update order";
constexpr int format_version = 1;

std::string first_line() {
  return Json{{"format", format_name}, {"version", format_version}}.dump() + "\n";
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

UpdateRecord record_of(const Json& line) {
  UpdateRecord record;
  record.update = line.at("update").get<std::int64_t>();
  record.restart = line.value("restart", false);
  if (record.restart) return record;
  record.first = line.at("subset").get<int>();
  record.count = line.at("subsets").get<int>();
  record.events = line.at("events").get<std::uint64_t>();
  if (record.first < 0 || record.count < 1 || record.count > 1'000'000) throw std::runtime_error("no such subset");
  return record;
}

void take_line(const std::string& text, UpdateLog& log) {
  const Json line = Json::parse(text);
  if (line.contains("end")) {
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
  UpdateLog log;
  std::string text;
  for (int number = 1; std::getline(stream, text); ++number) {
    if (stream.eof()) break;  // without its line's end: the program was killed as it wrote
    try {
      if (number > 1) {
        take_line(text, log);
      } else if (const Json head = Json::parse(text);
                 head.value("format", "") != format_name || head.value("version", 0) != format_version) {
        throw std::runtime_error(fmt::format("not \"{}\", version {}", format_name, format_version));
      }
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}:{}: no order of updates: {}", file.string(), number, error.what()));
    }
  }
  return log;
}

UpdateLogWriter::UpdateLogWriter(std::filesystem::path file, std::span<const UpdateRecord> before)
    : file_(std::move(file)) {
  std::string text = first_line();
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
