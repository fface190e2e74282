// The live page's own files, read once; or a plain page that says how to get them.
#pragma once

#include <map>
#include <string>

#include "gadgets/monitor/web_server.hpp"

namespace tofstream {

/// By path, "/" and "/index.html" among them: what lies in share/viewer where the page was built, else one page that
/// says how to build it.
std::map<std::string, WebFile, std::less<>> viewer_files();

}  // namespace tofstream
