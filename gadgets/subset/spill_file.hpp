// Events on disk, for those that memory has no room for: a batch's arrays are written to a file and read through its
// mapping, so that whoever reads the batch need not know. The file has no name in its folder: it is gone when the
// program ends, however it ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "kernels/types/events.hpp"

namespace tofstream {

class SpillFile {
 public:
  /// Makes the file. Throws std::runtime_error where the folder cannot be written.
  explicit SpillFile(std::filesystem::path folder);

  /// The batch, which lies on the host, with its arrays in the file; its place is free again when the batch and its
  /// pieces are gone. Throws std::runtime_error that says what to do where the disk is full.
  EventBatch put(const EventBatch& batch);
  /// Whether the batch's arrays are in the file already.
  bool has(const EventBatch& batch) const;

  const std::filesystem::path& folder() const { return folder_; }
  /// Bytes written in all.
  std::uint64_t written_bytes() const { return end_; }

 private:
  class Descriptor;
  struct Mapping;

  void write(const void* data, std::size_t bytes, std::uint64_t at);

  std::filesystem::path folder_;
  std::shared_ptr<const Descriptor> file_;
  std::uint64_t end_ = 0;
  std::vector<std::weak_ptr<const Mapping>> mappings_;  // in the order of the file; of what is still read
};

}  // namespace tofstream
