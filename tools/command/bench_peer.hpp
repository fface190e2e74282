// libparallelproj as a peer in a benchmark, loaded from a shared library that the user names: its list-mode ToF Joseph
// projectors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/types/events.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::command {

class ParallelprojPeer {
 public:
  /// Loads the library. Throws std::runtime_error where it cannot be loaded or lacks the functions.
  explicit ParallelprojPeer(const std::string& library);
  ~ParallelprojPeer();

  std::string version() const;
  /// Threads for its calls from now on.
  void set_threads(int threads) const;
  /// Takes over events with ToF (host memory) in the peer's layout: its axes are ours reversed, so that x is fastest.
  void set_events(const EventView& events, const Grid& grid);
  void forward(const float* image, float* expectation) const;
  void back(const float* values, float* image) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::vector<float> start_, end_;
  std::vector<std::int16_t> bins_;
  float sigma_mm_ = 0, bin_width_mm_ = 0, offset_mm_ = 0;
  short bin_count_ = 0;
  float origin_[3] = {}, voxel_[3] = {};
  int size_[3] = {};
  std::int64_t count_ = 0;
};

}  // namespace tofstream::command
