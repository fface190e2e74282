// Events on disk, where memory has no room for them. A batch's arrays lie in a spill file and are read through its
// mapping in every pass, so readers of the batch need not know.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/spill_file.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

class SpilledEvents {
 public:
  /// Empty: the system's folder for temporary files.
  explicit SpilledEvents(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns a batch on the host with its arrays moved into the file; their place is free again when the batch and its
  /// pieces are gone. Throws std::runtime_error, which says what to do, if the folder takes no file or the disk is
  /// full.
  EventBatch put(const EventBatch& batch);
  /// Whether the batch's arrays are in the file already.
  bool has(const EventBatch& batch) const;

 private:
  struct Mapping {
    std::weak_ptr<const std::byte> data;
    std::size_t bytes;
  };

  SpillPiece write(const EventBatch& batch);

  std::filesystem::path folder_;
  std::shared_ptr<SpillFile> file_;  // made with the first batch
  std::vector<Mapping> mappings_;    // still in use
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
