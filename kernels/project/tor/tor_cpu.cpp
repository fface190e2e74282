// The TOR projector on the CPU: packs images into padded slices (slice_layout.hpp) around the
// common CPU projector.
#include "kernels/project/cpu_projector.hpp"
#include "kernels/project/tor/tor.hpp"
#include "kernels/project/tor/tor_backends.hpp"
#include "kernels/project/tor/tor_kernel.hpp"

namespace tofstream::tor {

namespace {

class CpuTorProjector final : public Projector {
 public:
  explicit CpuTorProjector(const CpuSetup& setup)
      : layout_(setup.layout),
        projector_(setup.model.grid, make_kernel(setup), layout_.size()),
        packed_(Buffer<float>::zeros(Memory::host, layout_.size())),
        packed_sum_(Buffer<float>::zeros(Memory::host, layout_.size())) {}

  const Grid& grid() const override { return projector_.grid(); }
  Backend backend() const override { return Backend::cpu; }

  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    layout_.pack(image, packed_.data());
    projector_.forward(events, packed_.data(), expectation, stream);
  }
  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    projector_.back(events, values, packed_sum_.data(), stream);
    layout_.unpack_add(packed_sum_.data(), image);
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    layout_.pack(image, packed_.data());
    const EmTally tally = projector_.em_step(events, packed_.data(), packed_sum_.data(), stream);
    layout_.unpack_add(packed_sum_.data(), accumulator);
    return tally;
  }

 private:
  SliceLayout layout_;
  CpuProjector projector_;
  Buffer<float> packed_, packed_sum_;
};

}  // namespace

std::unique_ptr<Projector> make_cpu(const Model& model, const RadialResponse& response) {
  return std::make_unique<CpuTorProjector>(CpuSetup{model, response.values(), SliceLayout(model.grid)});
}

}  // namespace tofstream::tor
