// A recording that tests of the command reconstruct: a uniform cylinder in demo_ring, without attenuation.
#pragma once

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "tests/command/command.hpp"

namespace tofstream {

/// Simulated when it is first asked for, and kept until the tests end.
inline std::filesystem::path cylinder_recording(int events) {
  static const TemporaryFolder folder;
  const std::filesystem::path file = folder / fmt::format("{}.petsird", events);
  if (!std::filesystem::exists(file)) {
    const auto made = run_command(fmt::format(
        "simulate --quiet --phantom uniform_cylinder --events {} --no-attenuation -o {}", events, file.string()));
    REQUIRE_MESSAGE(made.code == 0, made.err);
  }
  return file;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
