// Events on disk, for those that memory has no room for: a batch's arrays lie in a spill file and are read through its
// mapping, as often as they are projected, so that whoever reads the batch need not know.
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

  /// The batch, which lies on the host, with its arrays in the file; its place is free again when the batch and its
  /// pieces are gone. Throws std::runtime_error that says what to do where the folder takes no file or the disk is
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
  std::vector<Mapping> mappings_;    // of what is still read
};

}  // namespace tofstream
