// Times of list-mode MLEM iterations with the strip projector on the paper's workload (share/benchmarks/README.md, W4),
// and their images against the double-precision reference.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/strip/strip.hpp"
#include "kernels/types/image.hpp"
#include "tools/bench/strip_peer.hpp"

namespace tofstream::command {

/// The paper's field of view, 260 x 300 mm along y and z; its pixels are of 4 mm: 65 x 75.
Grid strip_grid(float pixel_mm);

class StripTiming {
 public:
  /// Draws events of the paper's phantom; the first `checked` of them serve the comparison with the reference.
  /// `wrong`: by which share sums are made too large, for tests of what is said to that.
  StripTiming(const Grid& grid, std::int64_t events, std::int64_t checked, int repeats, double wrong = 0);

  /// Milliseconds of an iteration with everything it needs: sums set to zero, EM step, update. Median of `repeats`, of
  /// fewer where one takes long.
  double iteration_ms(const StripSettings& settings, Backend backend);
  /// Normalised RMS of the image after ten iterations of the checked events from the reference's.
  double nrms(const StripSettings& settings, Backend backend);

  struct PeerTimes {
    double default_ms, best_ms;
    int best_blocks, best_threads;
    double deviation;  // of its first estimate from ours by the same form, relative RMS
  };
  PeerTimes peer(StripPeer& peer);

 private:
  EventView events(Backend backend, std::int64_t count);
  const Image& reference(const StripSettings& settings);

  Grid grid_;
  std::int64_t checked_;
  int repeats_;
  double wrong_;
  EventBatch on_host_, on_device_;
  Image sensitivity_;
  std::optional<StripForm> reference_form_;
  Image reference_;
};

}  // namespace tofstream::command
