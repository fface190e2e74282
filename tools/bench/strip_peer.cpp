// A peer for the strips: see strip_peer.hpp.
#include "tools/bench/strip_peer.hpp"

#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace tofstream::command {

namespace {

constexpr const char* strip_entry = "tofstream_strip_peer_get";

SharedLibrary load(const std::string& path) {
  try {
    return SharedLibrary(path);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("cannot use {} as a peer: {}", path, error.what()));
  }
}

const tofstream_strip_peer* table_of(const SharedLibrary& library, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("cannot use {} as a peer: {}", path, why));
  };
  if (!library.has(strip_entry)) refuse(fmt::format("it has no {} (share/benchmarks/peers/strip_peer.h)", strip_entry));
  const tofstream_strip_peer* table = library.function<const tofstream_strip_peer*()>(strip_entry)();
  if (!table) refuse("it gives no table of functions");
  if (table->interface_version != TOFSTREAM_STRIP_PEER_INTERFACE)
    refuse(fmt::format("it was built for version {} of strip_peer.h, this is version {}: build it again",
                       table->interface_version, TOFSTREAM_STRIP_PEER_INTERFACE));
  return table;
}

}  // namespace

StripPeer::StripPeer(const std::string& path) : library_(load(path)), peer_(table_of(library_, path)) {}

void StripPeer::prepare(const Grid& grid, const StripSettings& settings, const EventView& events) {
  if (grid.voxel_mm.y != grid.voxel_mm.z || !(grid == Grid::centred(1, grid.size[1], grid.size[2], grid.voxel_mm)))
    throw std::runtime_error(fmt::format("{} takes square pixels about the origin only", name()));
  std::vector<float> dl(static_cast<std::size_t>(events.count));
  for (std::size_t i = 0; i < dl.size(); ++i) dl[i] = 2 * events.tof_mm[i];
  const tofstream_strip_peer_scan scan{settings.geometry.radius_mm,
                                       settings.geometry.length_mm,
                                       settings.resolution.sigma_z_mm,
                                       settings.resolution.sigma_dl_mm,
                                       grid.size[1],
                                       grid.size[2],
                                       grid.voxel_mm.y};
  const tofstream_strip_peer_events list{events.count, events.ends[2], events.ends[5], dl.data()};
  check(peer_->prepare(&scan, &list));
}

void StripPeer::set_image(const Image& image) {
  check(peer_->set_image(image.voxels.data()));
}

Image StripPeer::image(const Grid& grid) const {
  Image result = Image::zeros(grid);
  check(peer_->get_image(result.voxels.data()));
  return result;
}

void StripPeer::iterate(int blocks, int threads_a_block) {
  check(peer_->iterate(blocks, threads_a_block));
}

void StripPeer::check(const char* error) const {
  if (error) throw std::runtime_error(fmt::format("{}: {}", peer_->name, error));
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
