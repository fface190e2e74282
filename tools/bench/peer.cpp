// Peers by the interface of share/benchmarks/peers/peer.h, and the choice between them and libparallelproj.
#include "tools/bench/peer.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "share/benchmarks/peers/peer.h"
#include "tools/bench/parallelproj_peer.hpp"
#include "tools/bench/shared_library.hpp"

namespace tofstream::command {

namespace {

constexpr float cut_sigmas = 3;
constexpr const char* entry = "tofstream_peer_get";

class PluginPeer : public Peer {
 public:
  PluginPeer(const std::string& path, Backend backend)
      : library_(path), peer_(library_.function<const tofstream_peer*()>(entry)()) {
    if (!peer_) throw std::runtime_error("it gives no table of functions");
    if (peer_->interface_version != TOFSTREAM_PEER_INTERFACE)
      throw std::runtime_error(fmt::format("it was built for version {} of peer.h, this is version {}: build it again",
                                           peer_->interface_version, TOFSTREAM_PEER_INTERFACE));
    const bool cuda = backend == Backend::cuda;
    if ((peer_->cuda != 0) != cuda)
      throw std::runtime_error(
          fmt::format("it projects on the {}: give --backend {}", cuda ? "CPU" : "GPU", cuda ? "cpu" : "cuda"));
  }

  std::string name() const override { return peer_->name; }
  std::string version() const override { return peer_->version; }
  void set_events(const EventView& events, const Grid& grid) override {
    tofstream_peer_grid g{};
    for (int axis = 0; axis < 3; ++axis) {
      g.size[axis] = grid.size[axis];
      g.voxel_mm[axis] = grid.voxel_mm[axis];
      g.origin_mm[axis] = grid.origin_mm[axis];
    }
    tofstream_peer_events e{events.count, {}, events.tof_mm, events.tof.sigma_mm, cut_sigmas};
    for (int i = 0; i < 6; ++i) e.ends[i] = events.ends[i];
    check(peer_->prepare(&g, &e));
  }
  void forward(const float* image, float* expectation) const override { check(peer_->forward(image, expectation)); }
  void back(const float* values, float* image) const override { check(peer_->back(values, image)); }
  bool has_em_step() const override { return peer_->em_step != nullptr; }
  void em_step(const float* image, float* sum) const override { check(peer_->em_step(image, sum)); }

 private:
  void check(const char* error) const {
    if (error) throw std::runtime_error(fmt::format("{}: {}", name(), error));
  }

  SharedLibrary library_;
  const tofstream_peer* peer_;
};

bool is_plugin(const std::string& path) {
  const SharedLibrary library(path);
  if (library.has(entry)) return true;
  if (library.has("joseph3d_tof_lm_fwd")) return false;
  throw std::runtime_error(
      fmt::format("it is neither libparallelproj nor has it {} (share/benchmarks/peers/peer.h)", entry));
}

}  // namespace

std::unique_ptr<Peer> open_peer(const std::string& library, Backend backend) {
  try {
    if (is_plugin(library)) return std::make_unique<PluginPeer>(library, backend);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("cannot use {} as a peer: {}", library, error.what()));
  }
  return std::make_unique<ParallelprojPeer>(library, backend);
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
