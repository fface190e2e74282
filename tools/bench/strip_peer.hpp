// Another program's list-mode reconstruction of two strips, loaded from a shared library that the user names, with the
// interface of share/benchmarks/peers/strip_peer.h, to be measured beside ours.
#pragma once

#include <string>

#include "kernels/strip/strip.hpp"
#include "kernels/types/image.hpp"
#include "share/benchmarks/peers/strip_peer.h"
#include "tools/bench/shared_library.hpp"

namespace tofstream::command {

class StripPeer {
 public:
  /// Throws std::runtime_error, naming the file, if it cannot be loaded or has another interface.
  explicit StripPeer(const std::string& path);

  std::string name() const { return std::string(peer_->name) + " " + peer_->version; }
  /// Copies events from the host, in the strip projector's form. Throws std::runtime_error, also for a grid that is not
  /// centred or has pixels that are not square.
  void prepare(const Grid& grid, const StripSettings& settings, const EventView& events);
  void set_image(const Image& image);
  Image image(const Grid& grid) const;
  /// Queues an iteration on the GPU; zeros: with the peer's default launch.
  void iterate(int blocks, int threads_a_block);

 private:
  void check(const char* error) const;

  SharedLibrary library_;
  const tofstream_strip_peer* peer_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
