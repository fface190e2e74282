// The mu maps of a gadget's parameters: of the object, and of what stays with the scanner where the object moves.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kernels/ring/correct/attenuation.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

inline constexpr auto* hardware_mu_map_words =
    "The same of what stays with the scanner where rigid_motion or the bed moves the object: a coil, a table. It adds "
    "to mu_map, and events are attenuated by it along the line that was recorded. event_corrections and the projector "
    "need the same one";

/// What was read, and what events and images say of it.
struct ReadMuMaps {
  std::optional<Image> object, hardware;
  AttenuatedBy by;

  MuMaps maps() const { return {object ? &*object : nullptr, hardware ? &*hardware : nullptr}; }
};

/// Empty paths: no map. `gadget`: whose they are. Throws as read_mu_map() and require_per_cm() do.
ReadMuMaps read_mu_maps(const std::filesystem::path& object, const std::filesystem::path& hardware,
                        const std::string& gadget);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
