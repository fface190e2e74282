// What gadgets that keep data declare alike: where the data may live.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "core/value/params.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/subset/data_store.hpp"

namespace tofstream {

inline constexpr auto* device_reserve_words =
    "GPU memory to leave free besides eight images; further events stay in host memory, from which they are copied for "
    "each pass";
inline constexpr auto* host_reserve_words = "Host memory to leave free; further events go to disk";
inline constexpr auto* spill_folder_words =
    "Where events go on disk, until the run ends; none: the system's folder for temporary files (TMPDIR)";
inline constexpr auto* keeps_events_note =
    "holds all events of the scan, 12 to 28 B each: on a GPU as many as device_reserve_gib leaves room for, else on "
    "the host as host_reserve_gib, else on disk";

/// Where events are kept; a gadget's own parameters come before these.
struct EventStoreParams {
  BackendChoice backend = BackendChoice::automatic;
  double device_reserve_gib = 4;
  double host_reserve_gib = 4;
  std::filesystem::path spill_folder;
  ImageParams image;
  static constexpr auto params = describe(
      param<&EventStoreParams::backend>("backend", "Where the subsets will be projected"),
      param<&EventStoreParams::device_reserve_gib>("device_reserve_gib", at_least(0), unit("GiB"),
                                                   device_reserve_words),
      param<&EventStoreParams::host_reserve_gib>("host_reserve_gib", at_least(0), unit("GiB"), host_reserve_words),
      param<&EventStoreParams::spill_folder>("spill_folder", spilling_is_operators, spill_folder_words),
      param<&EventStoreParams::image>("image", "The image, for which room is left on the GPU"));
};

inline std::size_t bytes_of_gib(double gib) {
  return static_cast<std::size_t>(std::min(gib * 1073741824.0, 9e18));
}

/// GPU memory that data leave free, from parameters named device_reserve_gib and image.
template <class Params>
std::size_t device_reserve(const Params& p) {
  // The estimate and the next one, back projections, sensitivity and its inverse, and the memory to make them.
  constexpr std::size_t reserved_images = 8;
  return bytes_of_gib(p.device_reserve_gib) + reserved_images * p.image.bytes();
}

/// From parameters named backend, device_reserve_gib, host_reserve_gib, spill_folder and image.
template <class Params>
DataStoreSettings store_settings(const Params& p) {
  return {p.backend, device_reserve(p), bytes_of_gib(p.host_reserve_gib), p.spill_folder};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
