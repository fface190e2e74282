// The TOR projector on CUDA with tiles of the image in shared memory (paper 000, II.B, by today's means): the tubes of
// tube.hpp and the weights of weight-inl.hpp, walked a visit at a time (project/tiled/visit_plan.hpp). tor_plan.cu
// makes the visits.
#include "kernels/project/tor/tor_footprint.cuh"
#include "kernels/project/tor/tor_tiled.cuh"

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
  if (path_ == CudaPath::direct || events.count == 0) return false;
  return path_ == CudaPath::tiled || deterministic_ || events.count >= fewest;
}

/// Calls step with the footprint that suits the events.
template <class Step>
void TorTiled::with_footprint(const EventView& events, Step&& step) const {
  const Pass pass = make_pass(model_, events);
  const auto with = [&]<Radial radial>() {
    if (pass.tof.cut_mm >= 0) {
      step(TorFootprint<radial, true>(pass, table_, table_peak_));
    } else {
      step(TorFootprint<radial, false>(pass, table_, table_peak_));
    }
  };
  switch (radial_of(pass)) {
    case Radial::thin:
      return with.template operator()<Radial::thin>();
    case Radial::narrow:
      return with.template operator()<Radial::narrow>();
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
  with_footprint(events, [&](const auto& footprint) {
    workspace_.em_step(made, footprint, additive, image, accumulator, stream);
  });
}

void TorTiled::back(const tiled::Visits& made, const EventView& events, const float* values, float* image,
                    Stream stream) {
  with_footprint(events, [&](const auto& footprint) {
    workspace_.back(made, footprint, values ? values + made.first_event : nullptr, image, stream);
  });
}

}  // namespace tofstream::tor
