// Keeps data for their passes: on the GPU while it has room, else in host memory that the GPU copies from, else on
// disk.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gadgets/parameters.hpp"
#include "gadgets/subset/spilled_data.hpp"

namespace tofstream {

struct DataStoreSettings {
  GadgetBackend backend = BackendChoice::cpu;  // where the data will be projected
  std::size_t device_reserve = 0;              // bytes of GPU memory to leave free
  std::size_t host_reserve = 0;                // bytes of host memory to leave free
  std::filesystem::path spill_folder = {};     // empty: the system's folder for temporary files
};

enum class StorePlace { device, pinned, host, disk };

/// `Data`: an owned batch, such as EventBatch, with StoredData<Data> (spilled_data.hpp). data_store-inl.hpp has the
/// definitions.
template <class Data>
class DataStore {
 public:
  using Place = StorePlace;
  static constexpr std::size_t places = 4;

  explicit DataStore(DataStoreSettings settings) : settings_(std::move(settings)) {}

  /// Returns a batch that is to be cut later: as it is, or moved from the host to disk if memory is short.
  Data hold(Data batch);
  /// The same of a batch that will not be cut any more: for a GPU it goes there now, where it has room, so that store()
  /// has little to copy when a subset is complete.
  Data bring(Data batch);

  /// Stores a subset's data where they can be projected from. For a GPU, batches are joined to the size that it
  /// projects at a time. Throws std::runtime_error where the disk is full too.
  std::vector<std::shared_ptr<const Data>> store(std::vector<Data> batches);

  /// Bytes of stored batches that live in a place now.
  std::size_t bytes_in(Place place) const { return (*bytes_)[static_cast<std::size_t>(place)]; }
  int places_used() const;
  /// Above 1 where there is more than one place, or the disk: grows with what a user should know.
  int worth_saying() const { return places_used() + (bytes_in(Place::disk) > 0 ? 1 : 0); }
  /// "2.0 GiB on the GPU, 1.0 GiB in pinned host memory"
  std::string in_words() const;

 private:
  bool device_has_room(std::size_t bytes) const;
  bool takes_room(std::size_t bytes);
  bool host_has_room(std::size_t bytes) const;
  // A batch's bytes are counted for as long as it lives, even if it outlives the store.
  using Bytes = std::array<std::atomic<std::size_t>, places>;
  struct Placed {
    Placed(Place at, Data what, std::shared_ptr<Bytes> of);
    ~Placed() { *counted -= bytes; }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;

    const Data batch;
    const std::size_t bytes;
    const std::shared_ptr<Bytes> all;
    std::atomic<std::size_t>* const counted;
  };

  std::shared_ptr<const Data> place(std::vector<Data> group);
  std::optional<Data> joined(const std::vector<Data>& group, Memory memory) const;
  std::shared_ptr<const Data> counted(Place place, Data batch);

  DataStoreSettings settings_;
  std::size_t room_ = 0;  // on the GPU, that bring() takes before it asks again
  SpilledData<Data> spilled_{settings_.spill_folder};
  std::shared_ptr<Bytes> bytes_ = std::make_shared<Bytes>();
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
