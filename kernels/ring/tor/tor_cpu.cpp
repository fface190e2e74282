// The TOR projector on the CPU: packs images into padded slices (slice_layout.hpp) around the
// common CPU projector.
#include "kernels/project/cpu_projector.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "kernels/ring/tor/tor_backends.hpp"
#include "kernels/ring/tor/tor_kernel.hpp"

namespace tofstream::tor {

namespace {

class CpuTorProjector final : public ListModeProjector {
 public:
  CpuTorProjector(const Grid& grid, const CpuSetup& setup, std::int64_t packed_floats, bool deterministic)
      : lattices_(setup.lattices),
        projector_(grid, make_kernel(setup),
                   {.reach_mm = setup.lattices.front().model.reach_mm(),
                    .deterministic = deterministic,
                    .image_floats = packed_floats}),
        packed_(Buffer<float>::zeros(Memory::host, packed_floats)),
        packed_sum_(Buffer<float>::zeros(Memory::host, packed_floats)) {}

  const Grid& grid() const override { return projector_.grid(); }
  Backend backend() const override { return Backend::cpu; }
  float reach_mm() const override { return projector_.reach_mm(); }

  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    pack(image);
    projector_.forward(events, packed_.data(), expectation, stream);
  }
  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    projector_.back(events, values, packed_sum_.data(), stream);
    unpack_add(image);
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    pack(image);
    const EmTally tally = projector_.em_step(events, packed_.data(), packed_sum_.data(), stream);
    unpack_add(accumulator);
    return tally;
  }

 private:
  void pack(const float* image) {
    for (const CpuLattice& lattice : lattices_) {
      lattice.layout.pack(image, packed_.data() + lattice.offset);
      image += lattice.model.grid.voxels();
    }
  }
  void unpack_add(float* image) {
    for (const CpuLattice& lattice : lattices_) {
      lattice.layout.unpack_add(packed_sum_.data() + lattice.offset, image);
      image += lattice.model.grid.voxels();
    }
  }

  std::vector<CpuLattice> lattices_;
  CpuProjector projector_;
  Buffer<float> packed_, packed_sum_;
};

}  // namespace

std::unique_ptr<ListModeProjector> make_cpu(const Grid& grid, const std::vector<Model>& lattices,
                                            const RadialResponse& response, bool deterministic) {
  CpuSetup setup;
  setup.table = response.values();
  std::int64_t packed_floats = 0;
  for (const Model& model : lattices) {
    setup.lattices.push_back({model, SliceLayout(model.grid), packed_floats});
    packed_floats += setup.lattices.back().layout.size();
  }
  return std::make_unique<CpuTorProjector>(grid, setup, packed_floats, deterministic);
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
