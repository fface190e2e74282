// Another program's list-mode ToF projectors, loaded from a shared library that the user names, to be measured beside
// ours.
#pragma once

#include <memory>
#include <string>

#include "kernels/types/events.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::command {

/// Images, expectations and values lie in the memory of the backend that the peer was opened for; an image's x is
/// fastest. Calls may return before a GPU is done.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// Copies unbinned events with ToF and free ends from host memory into the peer's own layout.
  virtual void set_events(const EventView& events, const Grid& grid) = 0;
  virtual void forward(const float* image, float* expectation) const = 0;
  /// Adds to the image.
  virtual void back(const float* values, float* image) const = 0;
  /// Whether it can also do forward projection, ratio and back projection at once.
  virtual bool has_em_step() const { return false; }
  virtual void em_step(const float* /*image*/, float* /*sum*/) const {}
};

/// libparallelproj, or a library with the interface of share/benchmarks/peers/peer.h. Throws std::runtime_error, naming
/// the file, if it cannot be loaded, is neither, or is not of that backend.
std::unique_ptr<Peer> open_peer(const std::string& library, Backend backend);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
