// The TOR projector on CUDA with tiles of the image in shared memory (Cui et al. 2011, II.B, by today's means): the
// tubes of tube.hpp and the weights of weight-inl.hpp, walked a visit at a time (project/tiled/visit_plan.hpp).
// tor_plan.cu makes the visits.
#include <stdexcept>

#include "kernels/project/tiled/tiled_projector.cuh"
#include "kernels/ring/tor/tor_backends.hpp"
#include "kernels/ring/tor/tor_family.cuh"
#include "kernels/ring/tor/tor_footprint.cuh"

namespace tofstream::tor {

bool TorFamily::has_visits(const EventView& events) const {
  if (events.tof_width_mm) return false;
  const Model& model = lattices_.front();
  return !model.by_slice || normalises_slices(ways_of(make_pass(model, events)).radial);
}

TofPieceView TorFamily::pieces_of(const Pass& pass, double stretch_mm, Stream stream) {
  const auto wanted =
      tof_cache_.pieces(pass.events.tof.sigma_mm, pass.events.bin_width_mm(0), pass.model.tof_cut_sigma, stretch_mm);
  if (wanted != tof_pieces_) {
    tof_on_device_ = Buffer<TofPiece>::from(wanted->pieces()).to(Memory::device, stream);
    synchronize(stream);  // another stream may be the next to read them
    tof_pieces_ = wanted;
  }
  return wanted->view(tof_on_device_.data());
}

const TofBell& TorFamily::bell_of(const Pass& pass) {
  const TofModel bin{pass.events.tof.sigma_mm, pass.events.bin_width_mm(0)};
  if (bin != tof_bin_) {
    tof_bell_ = TofBell::make(TofResponse(bin.sigma_mm, bin.bin_width_mm, pass.model.tof_cut_sigma));
    tof_bin_ = bin;
  }
  return tof_bell_;
}

template <class Step>
void TorFamily::with_footprint(const EventView& events, Stream stream, const Step& step) {
  const Model& model = lattices_.front();
  const Pass pass = make_pass(model, events);
  const Ways ways = ways_of(pass);
  TofBell bell;
  TofPieceView pieces;
  if (ways.tof == Tof::pieces) {
    pieces = pieces_of(pass, ways.stretch_mm, stream);
  } else if (ways.tof != Tof::none) {
    bell = bell_of(pass);
  }
  const auto with = [&]<Radial radial, bool by_slice = false>() {
    const auto take = [&]<Tof tof>(const FootprintTof<tof>& response, float unit) {
      return step(TorFootprint<radial, tof, by_slice>(pass, response, unit, table_.data(), table_peak_));
    };
    switch (ways.tof) {
      case Tof::none:
        return take(FootprintTof<Tof::none>(), 1);
      case Tof::step:
        if constexpr (has_windows(radial) || radial == Radial::smooth)
          return take(FootprintTof<Tof::step>(bell), bell.unit);
        break;
      case Tof::bell:
        if constexpr (has_windows(radial) || radial == Radial::smooth)
          return take(FootprintTof<Tof::bell>(bell), bell.unit);
        break;
      case Tof::pieces:
        return take(FootprintTof<Tof::pieces>{pieces, tof_pieces_->whole_mm(), ways.steps_a_piece},
                    tof_pieces_->unit());
    }
    throw std::logic_error("TOR projector: no such footprint");  // ways_of pairs others
  };
  switch (ways.radial) {
    case Radial::thin:
      return model.by_slice ? with.template operator()<Radial::thin, true>() : with.template operator()<Radial::thin>();
    case Radial::narrow:
      return model.by_slice ? with.template operator()<Radial::narrow, true>()
                            : with.template operator()<Radial::narrow>();
    case Radial::middle:
      return model.by_slice ? with.template operator()<Radial::middle, true>()
                            : with.template operator()<Radial::middle>();
    case Radial::blob:
      return with.template operator()<Radial::blob>();
    case Radial::smooth:
      return with.template operator()<Radial::smooth>();
    case Radial::steep:
      return with.template operator()<Radial::steep>();
    case Radial::table:
      return with.template operator()<Radial::table>();
  }
}

std::unique_ptr<ListModeProjector> make_cuda(const Grid& grid, const std::vector<Model>& lattices,
                                             const RadialResponse& response, CudaPath path, bool deterministic) {
  return std::make_unique<tiled::TiledProjector<TorFamily>>(path, deterministic, grid, lattices, response);
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
