// The live page's own files, read once; or a plain page that says how to get them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "gadgets/monitor/web_server.hpp"

namespace tofstream {

/// Where the built page lies; empty where it was left out of the build.
std::filesystem::path viewer_folder();

/// The folder's files by path, "/" and "/index.html" among them; of an empty path, one page that says how to build it.
std::map<std::string, WebFile, std::less<>> viewer_files(const std::filesystem::path& folder);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
