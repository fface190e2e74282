// An estimate in a file, from which a reconstruction that was killed goes on: the image as it was, bit for bit, with
// the number of the update that made it, under a checksum. The file appears by rename. Its format is our own and no
// exchange format; share/doc/live.md describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "kernels/types/image.hpp"

namespace tofstream {

inline constexpr auto* checkpoint_name = "checkpoint.tofc";

struct CheckpointStep {
  std::int64_t update = 0;
  int iteration = 0;
};

struct Checkpoint {
  CheckpointStep step;
  Image image;
};

/// The image lies on the host. Throws std::system_error.
void write_checkpoint(const std::filesystem::path& file, const CheckpointStep& step, const Image& image);

/// The checkpoint of a folder, or of a file; nothing where there is none yet. Throws std::runtime_error where it is
/// damaged.
std::optional<Checkpoint> read_checkpoint(const std::filesystem::path& file_or_folder);
/// Of which update it is; 0, the start image, where there is none.
std::int64_t checkpoint_update(const std::filesystem::path& file_or_folder);

}  // namespace tofstream
