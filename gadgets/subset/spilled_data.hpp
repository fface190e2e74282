// Data on disk, where memory has no room for them. A batch's arrays lie in a spill file and are read through its
// mapping in every pass, so readers of the batch need not know.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/spill_file.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream {

/// What a store asks of a kind of data; a kind specialises it.
///   static constexpr const char* words = "events";              in messages
///   template <class A, class B, class Visit> static void for_each_array_pair(A& a, B& b, Visit&& visit);
///   static Data on_host(Data batch);                            complete on return
///   static std::vector<std::vector<Data>> groups(std::vector<Data>, bool is_for_gpu);   of such as can be joined
///   static Data join(const std::vector<Data>& group, Memory memory, Stream stream);     complete on return
template <class Data>
struct StoredData;

/// spilled_data-inl.hpp has the definitions.
template <class Data>
class SpilledData {
 public:
  /// Empty: the system's folder for temporary files.
  explicit SpilledData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns a batch on the host with its arrays moved into the file; their place is free again when the batch and its
  /// pieces are gone. Throws std::runtime_error, which says what to do, if the folder takes no file or the disk is
  /// full.
  Data put(const Data& batch);
  /// Whether the batch's arrays are in the file already.
  bool has(const Data& batch) const;

 private:
  struct Mapping {
    std::weak_ptr<const std::byte> data;
    std::size_t bytes;
  };

  SpillPiece write(const Data& batch);

  std::filesystem::path folder_;
  std::shared_ptr<SpillFile> file_;  // made with the first batch
  std::vector<Mapping> mappings_;    // still in use
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
