// An estimate in a file, from which a reconstruction that was killed goes on: the image as it was, bit for bit, with
// the number of the update that made it and what its values are, under a checksum. The file appears by rename. Its
// format is our own and no exchange format; share/doc/live.md describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "kernels/types/image.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

inline constexpr auto* checkpoint_name = "checkpoint.tofc";

struct CheckpointStep {
  std::int64_t update = 0;
  int iteration = 0;
};

struct Checkpoint {
  CheckpointStep step;
  Image image;
  std::shared_ptr<const Quantity> quantity = {};  // null: nobody said
};

/// The image lies on the host; `quantity` may be null. Throws std::system_error.
void write_checkpoint(const std::filesystem::path& file, const CheckpointStep& step, const Image& image,
                      const Quantity* quantity = nullptr);

/// The checkpoint of a folder, or of a file; nothing where there is none yet. Throws std::runtime_error where it is
/// damaged.
std::optional<Checkpoint> read_checkpoint(const std::filesystem::path& file_or_folder);
/// The number of the update that the checkpoint was written after; 0, the start image, where there is no checkpoint.
std::int64_t checkpoint_update(const std::filesystem::path& file_or_folder);

}  // namespace tofstream
