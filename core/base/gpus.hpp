// The GPUs of this machine as their driver's files name them, without setting one up, which would take some tenths of a
// second. A run may use fewer (CUDA_VISIBLE_DEVICES).
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace tofstream {

struct Gpus {
  std::vector<std::string> names;  // "NVIDIA H200"; none: no NVIDIA driver, or nothing that it drives
  std::string driver;              // its version, "580.159.04"; empty where there is none
};

// `folder`: where the driver's files are. What cannot be read is left out.
Gpus gpus_of_this_machine(const std::filesystem::path& folder = "/proc/driver/nvidia");

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
