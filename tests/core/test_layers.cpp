// core/ knows nothing of PET, CUDA or sockets: its files include nothing of the other folders or of their libraries.
#include <filesystem>
#include <fstream>

#include "gadgets.hpp"
#include "tests/support/skip.hpp"

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
