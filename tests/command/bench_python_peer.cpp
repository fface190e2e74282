// tools/bench_python_peer says what it lacks.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/command/command.hpp"
#include "tests/support/python.hpp"
#include "tests/support/script.hpp"

using namespace tofstream;

TEST_CASE("bench_python_peer says in one line that there is no parallelproj, or that it is another build") {
  const auto script = script_or_skip("bench_python_peer");
  if (script.empty() || skip_without_numpy()) return;
  const TemporaryFolder folder;
  const auto log = folder / "log";
  const auto said = [&](const std::string& arguments) {
    const std::string command = "PYTHONPATH=" + folder.path().string() + " " + python_with_numpy() + " " +
                                script.string() + " --program " + program().string() + " " + arguments + " >" +
                                log.string() + " 2>&1";
    const int status = std::system(command.c_str());
    CHECK(WEXITSTATUS(status) == 1);
    const std::string text = text_of(log);
    CHECK(std::ranges::count(text, '\n') == 1);
    return text;
  };
  std::ofstream(folder / "parallelproj.py") << "raise ImportError('no CPython 3.12')\n";
  const std::string missing = said("");
  CHECK_MESSAGE(missing.find("parallelproj 2 cannot be imported (no CPython 3.12): install it") != std::string::npos,
                missing);
  std::ofstream(folder / "parallelproj_core.py") << "cuda_enabled = 0\n";
  std::filesystem::remove(folder / "parallelproj.py");
  std::filesystem::create_directory(folder / "parallelproj");
  for (const char* module : {"__init__", "projectors", "tof"})
    std::ofstream(folder / "parallelproj" / (std::string(module) + ".py"))
        << "__version__ = '2'\nclass ListmodePETProjector: pass\nclass TOFParameters: pass\n";
  const std::string cpu = said("--arrays cupy");
  CHECK_MESSAGE(cpu.find("was built without CUDA: give --arrays numpy") != std::string::npos, cpu);
}
// SPDX-License-Identifier: Apache-2.0
