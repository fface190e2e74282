// libparallelproj as a peer in a benchmark: its list-mode ToF Joseph projectors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tools/bench/peer.hpp"

namespace tofstream::command {

class ParallelprojPeer : public Peer {
 public:
  /// Loads the library: its CPU build, or its CUDA build, which projects on the first device. Throws std::runtime_error
  /// if it cannot be loaded, lacks the functions or is the other build.
  ParallelprojPeer(const std::string& library, Backend backend);
  ~ParallelprojPeer() override;

  std::string name() const override { return "libparallelproj"; }
  std::string version() const override;
  /// Threads for the CPU build's calls from now on.
  void set_threads(int threads) const;
  /// Puts events in the backend's memory; the peer's axes are ours reversed, so that x is fastest.
  void set_events(const EventView& events, const Grid& grid) override;
  /// Complete on return.
  void forward(const float* image, float* expectation) const override;
  void back(const float* values, float* image) const override;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  Backend backend_;
  Buffer<float> start_, end_;
  Buffer<std::int16_t> bins_;
  float bin_width_mm_ = 0;
  short bin_count_ = 0;
  Buffer<float> sigma_mm_, offset_mm_, origin_, voxel_;
  Buffer<int> size_;
  std::int64_t count_ = 0;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
