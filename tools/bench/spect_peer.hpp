// Another program's rotation projector of SPECT, loaded from a shared library that the user names, with the interface
// of share/benchmarks/peers/spect_peer.h, to be measured beside ours.
#pragma once

#include <string>
#include <vector>

#include "kernels/project/view_projector.hpp"
#include "kernels/spect/spect.hpp"
#include "share/benchmarks/peers/spect_peer.h"
#include "tools/bench/shared_library.hpp"

namespace tofstream::command {

class SpectPeer {
 public:
  /// Throws std::runtime_error, naming the file, if it cannot be loaded, has another interface or projects elsewhere.
  SpectPeer(const std::string& path, Backend backend);

  std::string name() const { return std::string(peer_->name) + " " + peer_->version; }
  /// The scan that our projector of these settings has. Throws std::runtime_error, also for one that the interface
  /// cannot describe: not a cube of voxels as wide as pixels about the origin, attenuation, several radii.
  void prepare(const Grid& grid, const ViewSet& set, const SpectSettings& settings);
  void set_image(const Image& image);
  void set_views(const std::vector<float>& views);
  /// In the units of our projector: Bq/mL and counts.
  std::vector<float> image() const;
  std::vector<float> views() const;
  void forward() { check(peer_->forward()); }
  void back() { check(peer_->back()); }

 private:
  void check(const char* error) const;
  std::vector<float> result(const char* (*get)(float*), std::size_t count) const;

  SharedLibrary library_;
  const tofstream_spect_peer* peer_;
  std::size_t voxels_ = 0, pixels_ = 0;
  double cell_mL_ = 1;  // a factor of our projector that the interface does not have
};

/// Medians by the wall clock, and how far the peer's results are from ours: RMS over the range of ours, of an image's
/// views, and of the image that those of ours give back, in the voxels that we reconstruct.
struct SpectPeerResult {
  double forward_ms = 0, back_ms = 0, forward_nrms = 0, back_nrms = 0;
};
SpectPeerResult measure_beside(SpectPeer& peer, ViewProjector& ours, const Views& views, const SpectSettings& settings,
                               const Image& image, int repeats);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
