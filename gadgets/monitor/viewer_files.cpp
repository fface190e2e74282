// The page's files: see viewer_files.hpp.
#include "gadgets/monitor/viewer_files.hpp"

#include <fstream>
#include <iterator>
#include <utility>

#include "gadgets/io/shared_files.hpp"

namespace tofstream {
namespace {

namespace fs = std::filesystem;

constexpr const char* plain_page =
    "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>tofstream</title>\n"
    "<h1>The live page was not built</h1>\n"
    "<p>The reconstruction runs. To see it here, install npm (Debian: <code>apt install npm</code>), and build "
    "tofstream again where npm's registry can be reached: <code>cmake --build build/release --target "
    "viewer</code>.</p>\n"
    "<p>The run's figures and images are sent to WebSockets at <code>/live</code> meanwhile.</p>\n</html>\n";

const char* type_of(const fs::path& file) {
  const std::map<std::string, const char*> types = {{".html", "text/html; charset=utf-8"},
                                                    {".js", "text/javascript; charset=utf-8"},
                                                    {".css", "text/css; charset=utf-8"},
                                                    {".svg", "image/svg+xml"},
                                                    {".txt", "text/plain; charset=utf-8"}};
  const auto found = types.find(file.extension().string());
  return found == types.end() ? nullptr : found->second;
}

}  // namespace

fs::path viewer_folder() {
  try {
    return find_shared_file("viewer/index.html").parent_path();
  } catch (const std::runtime_error&) {
    return {};
  }
}

std::map<std::string, WebFile, std::less<>> viewer_files(const fs::path& folder) {
  std::map<std::string, WebFile, std::less<>> files;
  if (folder.empty()) {
    files["/index.html"] = {"text/html; charset=utf-8", std::make_shared<const std::string>(plain_page)};
  } else {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const char* type = type_of(entry.path());
      if (!type || !entry.is_regular_file()) continue;
      std::ifstream stream(entry.path(), std::ios::binary);
      std::string content(std::istreambuf_iterator<char>(stream), {});
      files[(fs::path("/") / entry.path().filename()).string()] = {
          type, std::make_shared<const std::string>(std::move(content))};
    }
  }
  files["/"] = files["/index.html"];
  return files;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
