// An estimate in a file, from which a reconstruction that was killed goes on: the image as it was, bit for bit, with
// the number of the update that made it, what its values are and what was rejected until then, under a checksum. The
// file appears by rename. Its format is our own and no exchange format; share/doc/live.md describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kernels/types/image.hpp"
#include "kernels/types/quantity.hpp"
#include "kernels/types/rejected.hpp"

namespace tofstream {

inline constexpr auto* checkpoint_name = "checkpoint.tofc";

struct CheckpointStep {
  std::int64_t update = 0;
  int iteration = 0;
  Rejected rejected = {};                   // of the data of these updates
  std::map<std::string, double> kept = {};  // by the update's algorithm besides the image, by name
};

struct Checkpoint {
  CheckpointStep step;
  Image image;
  std::shared_ptr<const Quantity> quantity = {};  // null: not known
};

/// The image lies on the host; `quantity` may be null. Throws std::system_error.
void write_checkpoint(const std::filesystem::path& file, const CheckpointStep& step, const Image& image,
                      const Quantity* quantity = nullptr);

/// The checkpoint of a folder, or of a file; nothing if there is none yet. Throws std::runtime_error if it is damaged.
std::optional<Checkpoint> read_checkpoint(const std::filesystem::path& file_or_folder);
/// Where the checkpoint stands; update 0, the start image, where there is no checkpoint. Throws as read_checkpoint().
CheckpointStep checkpoint_step(const std::filesystem::path& file_or_folder);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
