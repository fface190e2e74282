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

/// The paper's field of view, 260 x 300 mm along y and z; its pixels of 4 mm make 65 x 75.
Grid strip_grid(float pixel_mm);

class StripTiming {
 public:
  /// Draws events of the paper's phantom; the first `checked` are compared with the reference. `wrong`: share by which
  /// sums are made too large, to test that this is noticed.
  StripTiming(const Grid& grid, std::int64_t events, std::int64_t checked, int repeats, double wrong = 0);

  /// Milliseconds of an iteration with everything it needs: sums set to zero, EM step, update. Median of `repeats`, or
  /// of fewer if one takes long.
  double iteration_ms(const StripSettings& settings, Backend backend);
  /// Normalised RMS deviation from the reference of the image after ten iterations of the checked events.
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
// SPDX-License-Identifier: Apache-2.0
