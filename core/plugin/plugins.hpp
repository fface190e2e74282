// Plug-ins: shared objects in folders, whose gadgets join the registry. A bad one is reported and skipped; nothing that
// it does can end the program.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/gadget/registry.hpp"

namespace tofstream {

struct Plugin {
  std::filesystem::path file;
  std::vector<std::string> gadgets;  // that it declares, loaded or not; empty if the file does not tell
  std::string version;               // of tofstream that it was built for; empty if the file does not tell
  std::string compiler;
  std::string problem;  // why it was skipped and what to do, one line; empty if it is loaded

  bool loaded() const { return problem.empty(); }
};

struct PluginScan {
  std::vector<Plugin> plugins;
  std::vector<std::string> problems;  // folders that could not be read, a line each

  // Every problem with its path, a line each: what a command prints as warnings.
  std::vector<std::string> warnings() const;
};

// Where plug-ins are looked for, in this order: the named folders, those of TOFSTREAM_PLUGIN_PATH (separated by
// colons), and tofstream/plugins beside tofstream's own libraries if that exists.
std::vector<std::filesystem::path> plugin_folders(const std::vector<std::filesystem::path>& named);

// Loads every `*.so` of the folders, in the order of their names, once each. It checks, in this order: whose file it is
// (another user's, or one that everybody may write, is not loaded, nor anything of such a folder); the records of the
// file, without loading it; whether it loads, in a child process, since a static constructor may throw, crash or hang
// (so call this before other threads run); and its gadgets, which are added to `known` all or none. A library that was
// loaded stays loaded to the end. Throws only if the process is out of memory or of child processes.
PluginScan load_plugins(const std::vector<std::filesystem::path>& folders, Registry& known = registry());

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
