// Another code's list-mode reconstruction of two strips, loaded from a shared library with the interface of
// share/benchmarks/peers/strip_peer.h that the user names, to be measured beside ours.
#pragma once

#include <string>

#include "kernels/strip/strip.hpp"
#include "kernels/types/image.hpp"
#include "share/benchmarks/peers/strip_peer.h"
#include "tools/bench/shared_library.hpp"

namespace tofstream::command {

class StripPeer {
 public:
  /// Throws std::runtime_error, naming the file, where it cannot be loaded or has another interface.
  explicit StripPeer(const std::string& path);

  std::string name() const { return std::string(peer_->name) + " " + peer_->version; }
  /// Takes over events on the host, as the strip projector takes them. Throws std::runtime_error, also for a grid that
  /// is not centred or whose pixels are not square.
  void prepare(const Grid& grid, const StripSettings& settings, const EventView& events);
  void set_image(const Image& image);
  Image image(const Grid& grid) const;
  /// Queues an iteration on the GPU; zeros: launched as the peer does it by default.
  void iterate(int blocks, int threads_a_block);

 private:
  void check(const char* error) const;

  SharedLibrary library_;
  const tofstream_strip_peer* peer_;
};

}  // namespace tofstream::command
