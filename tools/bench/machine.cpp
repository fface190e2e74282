// The machine's description: see machine.hpp.
#include "tools/bench/machine.hpp"

#include <fstream>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "core/base/version.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream::command {

namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

nlohmann::ordered_json machine() {
  return {{"processor", processor()},
          {"threads", std::thread::hardware_concurrency()},
          {"gpu", cuda_device_name()},
          {"version", version()},
          {"commit", std::string(commit())}};
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
