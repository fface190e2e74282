#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "core/base/gpus.hpp"
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("GPUs and their driver are named by the driver's files") {
  const TemporaryFolder folder;
  std::ofstream(folder / "version") << "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release "
                                       "Build  (x@y)\nGCC version: 15.3.0\n";
  for (const char* place : {"0000:00:07.0", "0000:00:06.0"}) {
    std::filesystem::create_directories(folder / "gpus" / place);
    std::ofstream(folder / "gpus" / place / "information") << "Model: \t\t NVIDIA H200\nIRQ:   \t\t 41\n";
  }
  std::filesystem::create_directories(folder / "gpus" / "empty");
  const Gpus gpus = gpus_of_this_machine(folder.path());
  CHECK(gpus.names == std::vector<std::string>{"NVIDIA H200", "NVIDIA H200"});
  CHECK(gpus.driver == "580.159.04");
  const Gpus none = gpus_of_this_machine(folder / "nowhere");
  CHECK(none.names.empty());
  CHECK(none.driver.empty());
}
// SPDX-License-Identifier: Apache-2.0
