// Which folders may include which. core/ knows nothing of PET, CUDA or sockets: its files include nothing from the
// other folders or their libraries. kernels/ stands by itself, gadgets/ on both, tools/ on all. Shared code knows no
// family of scanners.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "gadgets.hpp"
#include "tests/support/skip.hpp"

namespace {

// Calls visit(file, included) for each include of a file of the tree in the sources below the folders.
void for_each_include(const std::vector<std::string>& folders,
                      const std::function<void(const std::string&, const std::string&)>& visit) {
  if (!std::filesystem::is_directory("core")) return tofstream::skip_test("sources beside the test");
  std::size_t found = 0;
  for (const std::string& folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".hpp" && extension != ".cpp" && extension != ".cuh" && extension != ".cu") continue;
      std::ifstream source(entry.path());
      for (std::string line; std::getline(source, line);) {
        if (!line.starts_with("#include \"")) continue;
        visit(entry.path().string(), line.substr(10, line.rfind('"') - 10));
        ++found;
      }
    }
  CHECK(found > 100);
}

std::string source_text(const std::filesystem::path& file) {
  std::ifstream source(file);
  return {std::istreambuf_iterator<char>(source), {}};
}

bool is_below(const std::string& file, const std::string& folder) {
  return file.starts_with(folder + "/");
}

}  // namespace

TEST_CASE("kernels include nothing of core, gadgets and tools; gadgets nothing of tools") {
  for_each_include({"kernels", "gadgets"}, [](const std::string& file, const std::string& included) {
    CAPTURE(file);
    CAPTURE(included);
    CHECK_FALSE(is_below(included, "tools"));
    if (is_below(file, "kernels")) CHECK(is_below(included, "kernels"));
  });
}

TEST_CASE("gadgets/io is plain libraries, which include no stage") {
  for_each_include({"gadgets/io"}, [](const std::string& file, const std::string& included) {
    CAPTURE(file);
    CAPTURE(included);
    if (is_below(included, "gadgets")) CHECK(is_below(included, "gadgets/io"));
  });
}

TEST_CASE("core includes nothing of kernels, gadgets, tools, CUDA or ZeroMQ") {
  const std::filesystem::path core = "core";  // tests run in the root of the sources
  if (!std::filesystem::is_directory(core)) return tofstream::skip_test("sources beside the test");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(core)) {
    if (entry.path().extension() != ".hpp" && entry.path().extension() != ".cpp") continue;
    ++files;
    std::ifstream source(entry.path());
    for (std::string line; std::getline(source, line);) {
      if (!line.starts_with("#include")) continue;
      CAPTURE(entry.path().string());
      CAPTURE(line);
      if (line.find('"') != std::string::npos) CHECK(line.find("\"core/") != std::string::npos);
      for (const char* foreign : {"cuda", "zmq", "hwy", "nifti", "png"}) CHECK(line.find(foreign) == std::string::npos);
    }
  }
  CHECK(files > 20);
}

// The folders of core, each of which includes only those before it; files in core/ itself are for authors.
constexpr const char* rooms[] = {"base", "value", "gadget", "pipeline", "report", "run", "plugin", "describe"};

std::size_t room_of(const std::string& path) {
  for (std::size_t room = 0; room < std::size(rooms); ++room)
    if (path.starts_with(std::string("core/") + rooms[room] + "/")) return room;
  return std::size(rooms);
}

TEST_CASE("the rooms of core include each other downwards") {
  for_each_include({"core"}, [](const std::string& file, const std::string& included) {
    if (!included.starts_with("core/") || included == "core/commit.hpp") return;
    CAPTURE(file);
    CAPTURE(included);
    const bool describes = room_of(file) == room_of("core/describe/schema.hpp");
    CHECK(room_of(included) <= room_of(file));
    if (describes) CHECK(room_of(included) != room_of("core/plugin/plugins.hpp"));
  });
}

namespace {

// Whether a source in the folder registers what only a family has.
bool registers_family(const std::filesystem::path& folder) {
  const std::regex registration(R"re(\nTOFSTREAM_(?:SCANNER|RECORDS|PROJECTOR|VIEW_PROJECTOR)\()re");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".cpp" && std::regex_search(source_text(entry.path()), registration)) return true;
  return false;
}

// A family's folder in gadgets/ registers a scanner, records or a projector, or has an `io` folder.
const std::vector<std::string>& families() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const auto& folder : std::filesystem::directory_iterator("gadgets"))
      if (folder.is_directory() && folder.path().filename() != "io" &&
          (std::filesystem::is_directory(folder.path() / "io") || registers_family(folder.path())))
        names.push_back(folder.path().filename());
    return names;
  }();
  return all;
}

// The family of a path; "" if it has none.
std::string family_of(const std::string& path) {
  for (const std::string& family : families())
    if (is_below(path, "kernels/" + family) || is_below(path, "gadgets/" + family)) return family;
  return "";
}

}  // namespace

TEST_CASE("no family of scanners includes another") {
  if (!std::filesystem::is_directory("core")) return tofstream::skip_test("sources beside the test");
  for (const char* known : {"direct", "ring", "spect", "strip"}) CHECK(std::ranges::count(families(), known) == 1);
  for_each_include({"kernels", "gadgets"}, [](const std::string& file, const std::string& included) {
    if (family_of(file).empty() || family_of(included).empty()) return;
    CAPTURE(file);
    CAPTURE(included);
    CHECK(family_of(file) == family_of(included));
  });
}

TEST_CASE("families register themselves: nothing but benchmarks includes their headers") {
  for_each_include({"core", "kernels", "gadgets", "tools"}, [](const std::string& file, const std::string& included) {
    if (!family_of(file).empty() || file.starts_with("tools/bench/")) return;
    CAPTURE(file);
    CAPTURE(included);
    CHECK(family_of(included).empty());
  });
}

TEST_CASE("tools name no gadget: what they ask of one, it says of itself") {
  if (!std::filesystem::is_directory("core")) return tofstream::skip_test("sources beside the test");
  const std::regex registration(R"re(TOFSTREAM_(?:GADGET|PROJECTOR|VIEW_PROJECTOR)\(\s*[\w:<>]+,\s*"(\w+)")re");
  const std::regex command_name(R"re(add_command\(\s*"\w+")re");  // which may be a gadget's too, as `psf`
  std::vector<std::string> gadgets;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("gadgets")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = source_text(entry.path());
    for (std::sregex_iterator found(text.begin(), text.end(), registration), end; found != end; ++found)
      gadgets.push_back((*found)[1]);
  }
  CHECK(gadgets.size() > 30);
  for (const char* folder : {"tools/command", "tools/serve", "tools/watch"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string text = std::regex_replace(source_text(entry.path()), command_name, "");
      for (const std::string& gadget : gadgets)
        CHECK_MESSAGE(text.find('"' + gadget + '"') == std::string::npos, entry.path().string(), " names ", gadget);
    }
}

namespace {

using Includes = std::map<std::string, std::set<std::string>>;

// Fails with each circle. How many files or folders were walked through.
std::size_t require_no_circle(const Includes& includes) {
  std::set<std::string> done;
  std::vector<std::string> way;
  const std::function<void(const std::string&)> walk = [&](const std::string& from) {
    if (const auto met = std::ranges::find(way, from); met != way.end()) {
      std::string circle = from;
      for (auto next = met + 1; next != way.end(); ++next) circle += " -> " + *next;
      FAIL_CHECK(circle);
      return;
    }
    if (!done.insert(from).second) return;
    way.push_back(from);
    if (const auto found = includes.find(from); found != includes.end())
      for (const std::string& included : found->second) walk(included);
    way.pop_back();
  };
  for (const auto& [from, unused] : includes) walk(from);
  return done.size();
}

}  // namespace

TEST_CASE("the tables of how tofstream is built name every folder of core, kernels and gadgets") {
  const std::filesystem::path document = "share/doc/architecture.md";
  if (!std::filesystem::exists(document)) return tofstream::skip_test("documents beside the test");
  const std::string text = source_text(document);
  for (const std::string floor : {"core", "kernels", "gadgets"}) {
    std::string cells;  // the first cell of each row about folders of this floor
    for (std::size_t row = text.find("| `" + floor + "/"); row != std::string::npos;
         row = text.find("| `" + floor + "/", row + 1))
      cells += text.substr(row, text.find(" |", row + 1) - row);
    for (const auto& folder : std::filesystem::directory_iterator(floor)) {
      if (!folder.is_directory()) continue;
      const std::string name = folder.path().filename();
      const bool is_named =
          cells.find("`" + name + "`") != std::string::npos || cells.find("/" + name + "`") != std::string::npos;
      CHECK_MESSAGE(is_named, folder.path().string());
    }
  }
}

TEST_CASE("no header includes itself, not even by way of others") {
  Includes includes;
  for_each_include({"core", "kernels", "gadgets", "tools", "tests"},
                   [&](const std::string& file, const std::string& included) { includes[file].insert(included); });
  CHECK(require_no_circle(includes) > 100);
}

// Files that lie in core/ itself are for authors, those in gadgets/ itself for all gadgets: they are no folder.
TEST_CASE("no folder includes itself by way of others") {
  const auto folder_of = [](const std::string& path) {
    const std::size_t floor = path.find('/');
    return path.substr(0, path.find('/', floor + 1));
  };
  Includes includes;
  for_each_include({"core", "kernels", "gadgets", "tools"}, [&](const std::string& file, const std::string& included) {
    if (folder_of(file) == file || folder_of(included) == included) return;
    if (folder_of(file) != folder_of(included)) includes[folder_of(file)].insert(folder_of(included));
  });
  CHECK(require_no_circle(includes) > 40);
}

TEST_CASE("what an author includes is light: no oneTBB, YAML, JSON, fmt or spdlog in it") {
  const std::filesystem::path root = ".";
  if (!std::filesystem::is_directory(root / "core")) return tofstream::skip_test("sources beside the test");
  std::vector<std::string> open{"core/gadget.hpp", "core/run/run_control.hpp"};
  std::vector<std::string> seen;
  while (!open.empty()) {
    const std::string header = open.back();
    open.pop_back();
    if (std::ranges::find(seen, header) != seen.end()) continue;
    seen.push_back(header);
    std::ifstream source(root / header);
    for (std::string line; std::getline(source, line);) {
      if (!line.starts_with("#include")) continue;
      CAPTURE(line);
      for (const char* heavy : {"tbb", "yaml", "nlohmann", "fmt/", "spdlog", "boost"})
        CHECK(line.find(heavy) == std::string::npos);
      if (const auto quote = line.find('"'); quote != std::string::npos)
        open.push_back(line.substr(quote + 1, line.rfind('"') - quote - 1));
    }
  }
  CHECK(seen.size() >= 8);
}
// SPDX-License-Identifier: Apache-2.0
