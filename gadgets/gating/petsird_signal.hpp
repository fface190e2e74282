// The external signals of a PETSIRD file, such as those of a belt or an ECG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "kernels/gating/gates.hpp"

namespace tofstream {

/// A signal of the file: samples of a trace, evenly over the time of their block, or times of triggers, which have no
/// values. `id`: as the header names it; nothing: the only one there is. Reads the file from its beginning to its end.
/// Throws std::runtime_error, one line that names the file and the signals that there are, for a file without signals, an
/// id that it does not have, and several where none is named.
MotionSignal read_petsird_signal(const std::filesystem::path& file, std::optional<std::uint32_t> id);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
