// Every gadget has an example, share/examples/gadgets/NAME.yaml, that runs. A line `# before: COMMAND` at its top makes
// its data; `# needs: gpu` or `# needs: python` says what a machine must have for it.
#include <cstdlib>
#include <sstream>

#include "gadgets/io/shared_files.hpp"
#include "tests/command/command.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/python.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

std::vector<std::string> lines_after(const std::string& text, const std::string& mark) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line) && line.starts_with('#');)
    if (line.starts_with(mark)) found.push_back(line.substr(mark.size()));
  return found;
}

bool can_run(const std::string& need) {
  if (need == "gpu") return why_no_cuda().empty();
  if (need == "python") return !python_with_numpy().empty();
  FAIL("an example may need gpu or python, not ", need);
  return false;
}

}  // namespace

TEST_CASE("every gadget has an example that runs") {
  const auto listed = run_command("gadgets --json");
  REQUIRE(listed.code == 0);
  for (const auto& gadget : listed.json()) {
    const std::string name = gadget["name"];
    CAPTURE(name);
    REQUIRE_MESSAGE(gadget.contains("example"), "share/examples/gadgets/", name, ".yaml is missing");
    const std::string text = gadget["example"];
    CHECK(text.find("use: " + name) != std::string::npos);
    bool runs = true;
    for (const std::string& need : lines_after(text, "# needs: ")) {
      runs = runs && can_run(need);
      if (!runs) std::printf("the example of %s needs %s: not run\n", name.c_str(), need.c_str());
    }
    if (!runs) continue;
    const TemporaryFolder folder;
    std::ofstream(folder / "example.yaml") << text;
    if (python_with_numpy().starts_with('/'))  // not the one on the path
      std::filesystem::create_symlink(python_with_numpy(), folder / "python3");
    const std::string path =
        fmt::format("cd {0} && PATH={0}:{1}:$PATH ", folder.path().string(), program().parent_path().string());
    for (const std::string& before : lines_after(text, "# before: ")) {
      const int made = std::system((path + before + " >/dev/null").c_str());
      REQUIRE_MESSAGE(made == 0, before);
    }
    const std::string log = (folder / "log").string();
    const int ended = std::system((path + "tofstream run example.yaml --quiet >" + log + " 2>&1").c_str());
    CHECK_MESSAGE(ended == 0, text_of(log));
    CHECK(std::filesystem::exists(folder / "results" / "run.json"));
  }
}

TEST_CASE("examples of senders in Python say how they are used where they are given nothing") {
  if (std::system("python3 --version >/dev/null 2>&1") != 0) return skip_test("Python", "TOFSTREAM_REQUIRE_PYTHON");
  for (const std::string name : {"send_events.py", "send_poses.py"}) {
    const auto said = run_line("python3 " + find_shared_file("examples/python/" + name).string());
    CHECK(said.code == 1);
    CHECK(said.err.find("usage: " + name + " tcp://") != std::string::npos);
    CHECK(said.err.find("Traceback") == std::string::npos);
  }
}
// SPDX-License-Identifier: Apache-2.0
