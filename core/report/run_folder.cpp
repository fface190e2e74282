#include "core/report/run_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.hpp"
#include "core/base/make_folder.hpp"

namespace tofstream {
namespace {

namespace fs = std::filesystem;

constexpr const char* lock_name = ".tofstream.lock";
constexpr const char* run_json_name = "run.json";

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw std::runtime_error(fmt::format("output folder {}: {}", folder.string(), why));
}

std::string cause(int number) {
  return std::error_code(number, std::generic_category()).message();
}

bool make_output_folder(const fs::path& folder) {
  try {
    return make_folder(folder);
  } catch (const std::exception& error) {
    refuse(folder, fmt::format("{}: name another", error.what()));
  }
}

std::string holder(std::string_view run) {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("run '{}', process {} on {}, since {:%Y-%m-%dT%H:%M:%SZ}", run, ::getpid(), host,
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

bool is_the_file_of(int descriptor, const fs::path& file) {
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 && ::stat(file.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

struct Earlier {
  std::string pipeline, outcome, started;
  std::optional<std::vector<RunFile>> files;  // nothing: it lists none
};

std::vector<RunFile> files_in(const nlohmann::json& list) {
  std::vector<RunFile> files;
  for (const nlohmann::json& file : list) files.push_back({file.at("name"), file.at("gadget")});
  return files;
}

// The run that a folder holds, or nothing.
std::optional<Earlier> read_earlier(const fs::path& folder) {
  const fs::path file = folder / run_json_name;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    if (std::error_code none; !fs::exists(file, none)) return {};
    throw std::runtime_error(fmt::format("{} cannot be read", file.string()));
  }
  try {
    const nlohmann::json run = nlohmann::json::parse(stream);
    Earlier earlier{run.value("pipeline", ""), run.value("outcome", ""), run.value("started", ""), {}};
    if (run.contains("files")) earlier.files = files_in(run.at("files"));
    return earlier;
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(fmt::format("{} is no report of a run", file.string()));
  }
}

// The path of a file of the folder. Nothing for a name that leads out of the folder, which an edited run.json may hold,
// and for what is no file.
std::optional<fs::path> file_in(const fs::path& folder, const std::string& name) {
  std::error_code wrong;
  const fs::path relative = fs::path(name).lexically_normal();
  if (relative.empty() || relative.is_absolute() || *relative.begin() == "..") return {};
  const fs::path file = folder / relative;
  const fs::path inside = fs::canonical(folder, wrong), parent = fs::canonical(file.parent_path(), wrong);
  if (wrong || std::ranges::mismatch(inside, parent).in1 != inside.end()) return {};
  const auto status = fs::symlink_status(file, wrong);
  if (!fs::is_regular_file(status) && !fs::is_symlink(status)) return {};
  return file;
}

template <class Visit>
void visit_scalars(const Value& value, const Visit& visit) {
  if (value.kind == Value::Kind::scalar) visit(value.text);
  for (const Value& item : value.items) visit_scalars(item, visit);
  for (const Value::Entry& entry : value.entries) visit_scalars(entry.value, visit);
}

bool is_same(const std::string& name, const fs::path& file) {
  std::error_code not_there;
  return !name.empty() && name.size() < 4096 && fs::equivalent(name, file, not_there) && !not_there;
}

bool holds(const std::vector<RunFile>& files, const std::string& name) {
  return std::ranges::find(files, name, &RunFile::name) != files.end();
}

}  // namespace

RunFolder::RunFolder(fs::path path, std::string_view run, EarlierRun earlier)
    : path_(std::move(path)), earlier_(earlier), made_(make_output_folder(path_)) {
  try {
    lock(run);
    look_at_earlier_run();
  } catch (...) {
    release();
    throw;
  }
}

RunFolder::~RunFolder() {
  release();
}

void RunFolder::release() const {
  if (descriptor_ >= 0) {
    ::unlink((path_ / lock_name).c_str());  // before it is free: whoever opened it meanwhile sees that its name is gone
    ::close(descriptor_);
  }
  std::error_code not_empty;  // then it is not ours to remove
  if (made_ && !began_) fs::remove(path_, not_empty);
}

void RunFolder::lock(std::string_view run) {
  const fs::path file = path_ / lock_name;
  for (;;) {
    descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) refuse(path_, fmt::format("cannot be written to: {}", cause(errno)));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) {  // a file system that knows no locks
        program_log().warn("{} cannot be locked ({}): see to it that no other run writes there", path_.string(),
                           cause(errno));
        return;
      }
      char text[512] = {};
      const auto length = ::read(descriptor_, text, sizeof text - 1);
      ::close(std::exchange(descriptor_, -1));
      refuse(path_, fmt::format("in use by {}: wait for its end or name another folder",
                                length > 0 ? one_line({text, static_cast<std::size_t>(length)}) : "another run"));
    }
    if (is_the_file_of(descriptor_, file)) break;
    ::close(descriptor_);  // its holder has just ended, and the name is another file's or nobody's
  }
  const std::string text = holder(run);
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, text.data(), text.size(), 0) < 0)
    program_log().warn("{}: {}", file.string(), cause(errno));
}

void RunFolder::look_at_earlier_run() {
  std::optional<Earlier> earlier;
  try {
    earlier = read_earlier(path_);
  } catch (const std::exception& error) {
    refuse(path_, fmt::format("{}: name another folder, or take this one away", error.what()));
  }
  if (!earlier) return;
  if (earlier_ == EarlierRun::resume) {
    resumed_ = earlier->files.value_or(std::vector<RunFile>{});
    return;
  }
  if (earlier_ == EarlierRun::refuse)
    refuse(path_, fmt::format("holds the run '{}' of {} ({}): name another folder, or clear that run's files by "
                              "--overwrite",
                              earlier->pipeline, earlier->started,
                              earlier->outcome == "running" ? "killed" : earlier->outcome));
  if (!earlier->files)
    refuse(path_,
           "holds a run whose run.json does not list its files, as of an older version: take the folder away or name "
           "another");
}

void RunFolder::begin(const std::vector<RunFile>& own, const Value& parameters) {
  if (earlier_ != EarlierRun::resume) clear(own, parameters);
  began_ = true;
}

void RunFolder::clear(const std::vector<RunFile>& own, const Value& parameters) const {
  const std::optional<Earlier> earlier = read_earlier(path_);
  const std::vector<RunFile> listed = earlier && earlier->files ? *earlier->files : std::vector<RunFile>{};
  std::vector<fs::path> files;
  for (const RunFile& file : listed)
    if (const auto path = file_in(path_, file.name)) files.push_back(*path);
  visit_scalars(parameters, [&](const std::string& text) {
    if (holds(own, text)) return;
    const bool named = std::ranges::any_of(files, [&](const fs::path& file) { return is_same(text, file); });
    if (named || (earlier && is_same(text, path_)))
      refuse(path_, fmt::format("this run reads {}, which --overwrite would clear: name another folder", text));
  });
  for (const RunFile& file : own)
    if (std::error_code none; !holds(listed, file.name) && fs::exists(path_ / file.name, none))
      refuse(path_, fmt::format("holds a file {} that no run.json there lists: move it away or name another folder",
                                file.name));
  // run.json goes last: a run that is killed meanwhile leaves less of the earlier run, and nothing that is not listed.
  if (earlier) files.push_back(path_ / run_json_name);
  for (const fs::path& file : files)
    if (std::error_code wrong; !fs::remove(file, wrong) && wrong)
      refuse(path_, fmt::format("{} cannot be removed: {}", file.string(), wrong.message()));
}

std::vector<RunFile> files_of_run(const fs::path& folder) {
  const std::optional<Earlier> run = read_earlier(folder);
  if (!run) throw std::runtime_error(fmt::format("{}: no run.json says whose the files there are", folder.string()));
  if (!run->files)
    throw std::runtime_error(
        fmt::format("{}: its run.json does not list the run's files, as of an older version", folder.string()));
  std::vector<RunFile> files;
  for (const RunFile& file : *run->files)
    if (file_in(folder, file.name)) files.push_back(file);
  return files;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
