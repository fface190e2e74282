// Which folders may include which. core/ knows nothing of PET, CUDA or sockets: its files include nothing from the
// other folders or their libraries. Shared code knows no family of scanners.
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
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

}  // namespace

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

// A family has folders in gadgets/ and kernels/; its `io` folder tells it from other folders there.
std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const auto& folder : std::filesystem::directory_iterator("gadgets"))
    if (std::filesystem::is_directory(folder.path() / "io")) names.push_back(folder.path().filename());
  return names;
}

// The family of a path; "" if it has none.
std::string family_of(const std::string& path) {
  for (const std::string& family : families())
    if (path.starts_with("kernels/" + family + "/") || path.starts_with("gadgets/" + family + "/")) return family;
  return "";
}

TEST_CASE("no family of scanners includes another") {
  if (!std::filesystem::is_directory("core")) return tofstream::skip_test("sources beside the test");
  CHECK(families().size() >= 2);
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

namespace {

std::string source_text(const std::filesystem::path& file) {
  std::ifstream source(file);
  return {std::istreambuf_iterator<char>(source), {}};
}

}  // namespace

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

TEST_CASE("no header includes itself, not even by way of others") {
  std::map<std::string, std::vector<std::string>> includes;
  for_each_include({"core", "kernels", "gadgets", "tools", "tests"},
                   [&](const std::string& file, const std::string& included) { includes[file].push_back(included); });
  std::map<std::string, bool> done;
  std::vector<std::string> way;
  const std::function<void(const std::string&)> walk = [&](const std::string& file) {
    if (const auto met = std::ranges::find(way, file); met != way.end()) {
      std::string circle = file;
      for (auto next = met + 1; next != way.end(); ++next) circle += " -> " + *next;
      FAIL_CHECK(circle);
      return;
    }
    if (std::exchange(done[file], true)) return;
    way.push_back(file);
    for (const std::string& included : includes[file]) walk(included);
    way.pop_back();
  };
  for (const auto& [file, unused] : std::map(includes)) walk(file);
  CHECK(done.size() > 100);
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
