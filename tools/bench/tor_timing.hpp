// Times of list-mode MLEM iterations with TOR projectors on one batch of random LORs, and their results against the
// double-precision reference.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/ring/tor/paper/paper.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::command {

struct TorCase {
  Grid grid;
  TofModel tof;  // sigma 0: non-ToF
  double tube_width_voxels = 3;
  std::int64_t events = 1'000'000;
};

/// `count` random LORs through the grid's box from a cylinder of radius 443 mm and length 180 mm
/// (share/benchmarks/README.md), on the host.
EventBatch tor_events(const Grid& grid, TofModel tof, std::int64_t count);

class TorTiming {
 public:
  /// `events`: at least c.events, on the host, kept by the caller; the first c.events are taken.
  TorTiming(const TorCase& c, const EventBatch& events, int repeats);

  /// Settings that project the case's tube by `path`, and for CudaPath::paper by `scheme`.
  TorSettings settings(CudaPath path, const PaperScheme& scheme = {}) const;

  /// Medians in ms of runs on the GPU: an iteration (forward, back, update) with a planned batch; its plan, 0 if there
  /// is none; and a PaperProjector's planned forward and back projection.
  double iteration_ms(const TorSettings& settings) const;
  double plan_ms(const TorSettings& settings) const;
  struct Parts {
    double forward, back;
  };
  Parts parts_ms(const TorSettings& settings) const;
  /// The collisions of a PaperProjector's back projection of ones.
  tor::paper::Collisions collisions(const TorSettings& settings) const;
  /// The time of an iteration on one thread of the CPU, run once.
  double one_thread_ms() const;
  /// An EM step's sums against the reference's (bench_projecting.hpp: touched_nrms), for as many events as the
  /// reference takes in some seconds.
  double nrms(const TorSettings& settings) const;
  /// The estimate after one iteration.
  Image estimate(const TorSettings& settings) const;

 private:
  EventView events() const { return on_device_.view().slice(0, case_.events); }
  std::unique_ptr<ListModeProjector> make(const TorSettings& settings) const;
  const std::vector<double>& reference_sum(CudaPath path) const;  // of the scheme of 2011, or of all other paths
  std::int64_t checked() const;

  TorCase case_;
  const EventBatch& on_host_;
  EventBatch on_device_;
  Image inverse_sensitivity_;  // on the device
  int repeats_;
  mutable std::vector<double> reference_, paper_reference_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
