#include "core/plugin/plugins.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>

#include "core/plugin/plugin_file.hpp"
#include "core/plugin/plugin_trial.hpp"

namespace tofstream {
namespace {

namespace fs = std::filesystem;

// The message of dlopen, without what Boost puts around it and without the path with which the report begins.
std::string load_error(const fs::path& file, std::string text) {
  constexpr std::string_view begin = "dlerror system message: ";
  if (const auto at = text.find(begin); at != std::string::npos) {
    text = text.substr(at + begin.size());
    text = text.substr(0, text.rfind(')'));
  }
  if (text.starts_with(file.string() + ": ")) text = text.substr(file.string().size() + 2);
  return text;
}

// RTLD_NODELETE: payloads and parameters may outlive every handle, so the code stays to the very end.
void load_library(const fs::path& file) {
  constexpr auto mode = static_cast<boost::dll::load_mode::type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  try {
    const boost::dll::shared_library library(file, mode);
  } catch (const std::system_error& error) {
    throw std::runtime_error(fmt::format("cannot be loaded ({})", load_error(file, error.what())));
  }
}

void require_no_problem(const std::string& problem) {
  if (!problem.empty()) throw std::runtime_error(fmt::format("is refused: {}", problem));
}

void add_registered(Registered registered, const fs::path& file, Registry& known) {
  std::set<std::string> names;
  for (const GadgetInfo& info : registered.gadgets) {
    if (!names.insert(info.name).second)
      throw std::runtime_error(fmt::format("has two gadgets named '{}': rename one", info.name));
    if (const auto problems = known.problems_of(info); !problems.empty()) require_no_problem(problems.front());
  }
  for (const Extension& extension : registered.extensions) require_no_problem(extension.problem());
  for (Extension& extension : registered.extensions) known.add(std::move(extension));
  for (GadgetInfo& info : registered.gadgets) {
    info.origin = file.string();
    known.add(std::move(info));
  }
}

// Whose files are run: this user's, root's, and those of whoever this program belongs to.
bool is_trusted(uid_t owner) {
  struct stat own {};
  const bool is_known = ::stat(boost::dll::this_line_location().c_str(), &own) == 0;
  return owner == ::geteuid() || owner == 0 || (is_known && owner == own.st_uid);
}

// Why what lies there must not be run, in words that follow its name; empty where it may. Opens nothing: opening a FIFO
// waits for who writes to it.
std::string why_not_trusted(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};  // whoever opens it says why
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return "is no file but a device, FIFO or socket: remove it";
  if (!is_trusted(status.st_uid))
    return fmt::format("belongs to another user (uid {}), who could have put anything there: copy it as your own",
                       status.st_uid);
  if (status.st_mode & S_IWOTH)
    return fmt::format("can be written by everybody: chmod o-w {}, if it is still what it was", path.string());
  return {};
}

Plugin load_plugin(const fs::path& file, Registry& known) {
  Plugin plugin{.file = file};
  try {
    if (const std::string why = why_not_trusted(file); !why.empty()) throw std::runtime_error(why);
    const std::vector<PluginRecord> records = read_plugin_records(file);
    plugin.version = records.front().version;
    plugin.compiler = records.front().compiler;
    for (const PluginRecord& record : records)
      if (record.size == sizeof record) plugin.gadgets.emplace_back(record.gadget);
    std::ranges::sort(plugin.gadgets);
    for (const PluginRecord& record : records) check_record(record);
    if (const std::string problem = in_child_process([&] { load_library(file); }); !problem.empty())
      throw std::runtime_error(problem + ": fix it and build it again");
    add_registered(registry().captured([&] { load_library(file); }), file, known);
  } catch (const std::exception& error) {
    plugin.problem = error.what();
    for (const std::string& gadget : plugin.gadgets)
      known.note_absent(gadget, fmt::format("the plug-in {} has it, but {}", file.string(), plugin.problem));
  }
  return plugin;
}

std::vector<fs::path> libraries_in(const fs::path& folder, std::vector<std::string>& problems) {
  std::vector<fs::path> files;
  if (const std::string why = why_not_trusted(folder); !why.empty()) {
    problems.push_back(fmt::format("{}: no plug-in of this folder is loaded: it {}", folder.string(), why));
    return files;
  }
  try {
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".so") files.push_back(entry.path());
  } catch (const fs::filesystem_error& error) {
    problems.push_back(
        fmt::format("{}: this folder of plug-ins cannot be read ({}): name another by --plugins or "
                    "TOFSTREAM_PLUGIN_PATH",
                    folder.string(), error.code().message()));
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<std::string> PluginScan::warnings() const {
  std::vector<std::string> lines = problems;
  for (const Plugin& plugin : plugins)
    if (!plugin.loaded())
      lines.push_back(fmt::format("{}: plug-in skipped: it {}", plugin.file.string(), plugin.problem));
  return lines;
}

std::vector<fs::path> plugin_folders(const std::vector<fs::path>& named) {
  std::vector<fs::path> folders = named;
  const char* set = std::getenv("TOFSTREAM_PLUGIN_PATH");
  std::string_view rest = set ? set : "";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  std::error_code none;
  const fs::path installed = boost::dll::this_line_location().parent_path() / "tofstream" / "plugins";
  if (fs::is_directory(installed, none)) folders.push_back(installed);
  return folders;
}

PluginScan load_plugins(const std::vector<fs::path>& folders, Registry& known) {
  PluginScan scan;
  std::set<fs::path> seen;
  for (const fs::path& folder : folders) {
    for (const fs::path& file : libraries_in(folder, scan.problems)) {
      std::error_code unknown;
      const fs::path canonical = fs::canonical(file, unknown);
      if (!seen.insert(unknown ? file : canonical).second) continue;
      scan.plugins.push_back(load_plugin(unknown ? file : canonical, known));
    }
  }
  return scan;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
