// The TOR projector with tiles in shared memory, for batches of many events (tor_tiled.cu); see tiled/stretches.hpp.
#pragma once

#include <optional>
#include <vector>

#include "kernels/project/tiled/em_tiles.cuh"
#include "kernels/ring/tor/tof_profile.hpp"
#include "kernels/ring/tor/tor_model.hpp"

namespace tofstream::tor {

class TorTiled {
 public:
  /// `lattices`: one of voxels, or two of blobs. `table`: the radial response's samples on the device, of which
  /// `table_peak` is the largest; kept by the caller.
  TorTiled(const std::vector<Model>& lattices, const float* table, float table_peak, CudaPath path, bool deterministic);
  /// Whether these events are to be planned: many enough, and their ToF bins of one width.
  bool takes(const EventView& events) const;
  /// Whether a back projection alone is to be planned, for one use.
  bool takes_back(const EventView& events) const {
    return takes(events) && tiled::pays_for_one_use(path_, deterministic_, events.count);
  }
  static std::int64_t events_at_a_time() { return tiled::most_at_a_time; }
  std::optional<tiled::Visits> visits(const EventView& events, std::int64_t first, Stream stream);
  void begin_step() { workspace_.begin(); }
  void add_step(const tiled::Visits& made, const EventView& events, const float* image, float* accumulator,
                Stream stream);
  EmTally end_step(Stream stream) { return workspace_.tally(stream); }
  void forward(const tiled::Visits& made, const EventView& events, const float* image, float* expectation,
               Stream stream);
  void back(const tiled::Visits& made, const EventView& events, const float* values, float* image, Stream stream);

 private:
  template <class Step>
  void with_footprint(const EventView& events, Stream stream, Step&& step);
  /// The pieces of the pass's ToF response on the device, ready for the stream.
  TofPieceView pieces_of(const Pass& pass, double stretch_mm, Stream stream);

  Model model_;  // of the first lattice
  std::vector<Model> lattices_;
  CudaPath path_;
  bool deterministic_;
  const float* table_;
  float table_peak_;
  tiled::Workspace workspace_;
  TofPieceCache tof_cache_;
  std::shared_ptr<const TofPieces> tof_pieces_;  // of tof_on_device_
  Buffer<TofPiece> tof_on_device_;
};

}  // namespace tofstream::tor
