// Look-up of shared files: see shared_files.hpp.
#include "gadgets/io/shared_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <dlfcn.h>
#include <unistd.h>

#include "core/value/value.hpp"

namespace tofstream {

namespace {

namespace fs = std::filesystem;

// Where the file lies that this code is in: the program may be another's, such as Python.
fs::path folder_of_library() {
  Dl_info info{};
  std::error_code none;
  if (::dladdr(reinterpret_cast<const void*>(&folder_of_library), &info) != 0 && info.dli_fname)
    return fs::canonical(info.dli_fname, none).parent_path();
  return fs::read_symlink("/proc/self/exe", none).parent_path();
}

// TOFSTREAM_SHARE, then the installed folder beside the library, then the source tree around a build folder.
std::vector<fs::path> shared_folders(const std::string& kind) {
  std::vector<fs::path> folders;
  if (const char* set = std::getenv("TOFSTREAM_SHARE"); set && *set) folders.push_back(fs::path(set) / kind);
  std::error_code none;
  const fs::path library = folder_of_library();
  folders.push_back(library.parent_path() / "share" / "tofstream" / kind);
  for (fs::path up = library.parent_path(); up.has_relative_path(); up = up.parent_path()) {
    const fs::path installed = up / "share" / "tofstream" / kind;
    if (installed != folders.back() && fs::exists(installed, none)) folders.push_back(installed);
    if (!fs::exists(up / "share" / "scanners", none)) continue;
    folders.push_back(up / "share" / kind);
    folders.push_back(up / "tools" / kind);
    folders.push_back(up / kind);
    break;
  }
  return folders;
}

// The YAML files of a kind, in the order of shared_folders.
std::vector<fs::path> shared_yaml(const std::string& kind) {
  std::vector<fs::path> files;
  for (const auto& folder : shared_folders(kind)) std::ranges::copy(yaml_files_in(folder), std::back_inserter(files));
  return files;
}

std::string no_shared_files(const std::string& kind, const std::string& name) {
  std::vector<std::string> places;
  for (const fs::path& folder : shared_folders(kind)) places.push_back(folder.string());
  return fmt::format(
      "'{}' is no file, and tofstream's own {} were not found (looked for in {}): install tofstream again, or set "
      "TOFSTREAM_SHARE to its share folder",
      name, kind, fmt::join(places, ", "));
}

}  // namespace

std::vector<fs::path> yaml_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry :
       fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, none))
    if (entry.path().extension() == ".yaml" && entry.is_regular_file(none)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> shared_names(const std::string& kind) {
  std::vector<std::string> names;
  for (const fs::path& file : shared_yaml(kind)) names.push_back(file.stem().string());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

fs::path find_shared_file(const fs::path& path) {
  std::error_code none;
  for (const auto& folder : shared_folders(path.parent_path()))
    if (const fs::path file = folder / path.filename(); fs::is_regular_file(file, none)) return file;
  throw std::runtime_error(
      fmt::format("{} does not lie where this program looks for it: install all of tofstream (of its Debian packages "
                  "python3-tofstream has what is Python), or set TOFSTREAM_SHARE to its share folder",
                  path.string()));
}

void require_readable(const fs::path& path, std::string_view remedy) {
  const auto refuse = [&](std::string wrong) {
    if (!remedy.empty()) wrong += fmt::format("{} {}", wrong.ends_with('?') ? "" : ";", remedy);
    throw std::runtime_error(fmt::format("{}: {}", path.string(), wrong));
  };
  std::error_code error;
  if (fs::exists(path, error)) {
    if (::access(path.c_str(), R_OK) == 0) return;
    refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  std::vector<std::string> beside;
  for (const auto& entry : fs::directory_iterator(path.has_parent_path() ? path.parent_path() : ".", error))
    beside.push_back(entry.path().filename().string());
  std::ranges::sort(beside);
  refuse("no such file" + did_you_mean(path.filename().string(), beside));
}

fs::path find_shared(const std::string& kind, const std::string& name) {
  const fs::path as_given(name);
  std::error_code none;
  if (fs::is_regular_file(as_given, none)) return as_given;
  if (as_given.has_parent_path() || as_given.has_extension()) {
    require_readable(as_given);
    throw std::runtime_error(fmt::format("{}: not a file", name));
  }
  for (const fs::path& file : shared_yaml(kind))
    if (file.stem() == name) return file;
  const std::vector<std::string> names = shared_names(kind);
  if (names.empty()) throw std::runtime_error(no_shared_files(kind, name));
  const std::string nearest = did_you_mean(name, names);
  throw std::runtime_error(fmt::format("there is no {} named '{}'{}{} name a file, or one of {}",
                                       kind.substr(0, kind.size() - 1), name, nearest, nearest.empty() ? ":" : "",
                                       fmt::join(names, ", ")));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
