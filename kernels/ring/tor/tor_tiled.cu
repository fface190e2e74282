// The TOR projector on CUDA with tiles of the image in shared memory (Cui et al. 2011, II.B, by today's means): the
// tubes of tube.hpp and the weights of weight-inl.hpp, walked a visit at a time (project/tiled/visit_plan.hpp).
// tor_plan.cu makes the visits.
#include <stdexcept>

#include "kernels/ring/tor/tor_footprint.cuh"
#include "kernels/ring/tor/tor_tiled.cuh"

namespace tofstream::tor {

TorTiled::TorTiled(const std::vector<Model>& lattices, const float* table, float table_peak, CudaPath path,
                   bool deterministic)
    : model_(lattices[0]),
      lattices_(lattices),
      path_(path),
      deterministic_(deterministic),
      table_(table),
      table_peak_(table_peak),
      workspace_(deterministic) {}

bool TorTiled::takes(const EventView& events) const {
  constexpr std::int64_t fewest = 5'000;
  if (path_ == CudaPath::direct || events.count == 0 || events.tof_width_mm) return false;
  if (model_.by_slice && !normalises_slices(ways_of(make_pass(model_, events)).radial)) return false;
  return path_ == CudaPath::tiled || deterministic_ || events.count >= fewest;
}

TofPieceView TorTiled::pieces_of(const Pass& pass, double stretch_mm, Stream stream) {
  const auto wanted =
      tof_cache_.pieces(pass.events.tof.sigma_mm, pass.events.bin_width_mm(0), pass.model.tof_cut_sigma, stretch_mm);
  if (wanted != tof_pieces_) {
    tof_on_device_ = Buffer<TofPiece>::from(wanted->pieces()).to(Memory::device, stream);
    synchronize(stream);  // another stream may be the next to read them
    tof_pieces_ = wanted;
  }
  return wanted->view(tof_on_device_.data());
}

/// Calls step with the footprint that suits the events.
template <class Step>
void TorTiled::with_footprint(const EventView& events, Stream stream, Step&& step) {
  const Pass pass = make_pass(model_, events);
  const Ways ways = ways_of(pass);
  TofBell bell;
  TofPieceView pieces;
  if (ways.tof == Tof::pieces) {
    pieces = pieces_of(pass, ways.stretch_mm, stream);
  } else if (ways.tof != Tof::none) {
    bell = TofBell::make(TofResponse(pass.events.tof.sigma_mm, pass.events.bin_width_mm(0), pass.model.tof_cut_sigma));
  }
  const auto with = [&]<Radial radial, bool by_slice = false>() {
    const auto take = [&]<Tof tof>(const FootprintTof<tof>& response, float unit) {
      return step(TorFootprint<radial, tof, by_slice>(pass, response, unit, table_, table_peak_));
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
      return model_.by_slice ? with.template operator()<Radial::thin, true>()
                             : with.template operator()<Radial::thin>();
    case Radial::narrow:
      return model_.by_slice ? with.template operator()<Radial::narrow, true>()
                             : with.template operator()<Radial::narrow>();
    case Radial::middle:
      return model_.by_slice ? with.template operator()<Radial::middle, true>()
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

void TorTiled::add_step(const tiled::Visits& made, const EventView& events, const float* image, float* accumulator,
                        Stream stream) {
  const float* additive = events.additive ? events.additive + made.first_event : nullptr;
  with_footprint(events, stream, [&](const auto& footprint) {
    workspace_.em_step(made, footprint, additive, image, accumulator, stream);
  });
}

void TorTiled::forward(const tiled::Visits& made, const EventView& events, const float* image, float* expectation,
                       Stream stream) {
  with_footprint(events, stream, [&](const auto& footprint) {
    workspace_.forward(made, footprint, image, expectation + made.first_event, stream);
  });
}

void TorTiled::back(const tiled::Visits& made, const EventView& events, const float* values, float* image,
                    Stream stream) {
  with_footprint(events, stream, [&](const auto& footprint) {
    workspace_.back(made, footprint, values ? values + made.first_event : nullptr, image, stream);
  });
}

}  // namespace tofstream::tor
