// An estimate in a file, from which a reconstruction that was killed goes on: the image as it was, bit for bit, with
// the number of the update that made it, what its values are and what was rejected until then, under a checksum. The
// file appears by rename. Of a dynamic scan each frame's image has a file of its own. The format is our own and no
// exchange format; share/doc/live.md describes it.
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

/// The frame, or gate, of a scan that has several images.
struct CheckpointFrame {
  int number = 0;  // from 1; 0: the scan is one image
  int frames = 0;
  double start_s = 0, duration_s = 0;
};

struct CheckpointStep {
  std::int64_t update = 0;
  int iteration = 0;
  Rejected rejected = {};                   // of the data of these updates
  std::map<std::string, double> kept = {};  // by the update's algorithm besides the image, by name
  std::uint64_t events = 0;                 // of these updates, each counted once; 0: not known
  std::string algorithm = {};               // the gadget that made the updates; empty: not known
  CheckpointFrame frame = {};               // whose image is complete
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
/// The file beside it that has a frame: `checkpoint_frame_0003.tofc`.
std::filesystem::path frame_checkpoint(const std::filesystem::path& file_or_folder, int frame);
/// Whether frames lie beside it.
bool has_frame_checkpoints(const std::filesystem::path& file_or_folder);
/// Where the checkpoint stands; update 0, the start image, where there is no checkpoint. Throws as read_checkpoint().
CheckpointStep checkpoint_step(const std::filesystem::path& file_or_folder);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
