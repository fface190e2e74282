// Batches of decays on a GPU: see history_batch.hpp. A thread follows one decay after the other; most of them end with a
// first photon that flies past the detectors.
#include <cstddef>

#include "kernels/cuda/check.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/ring/scatter/history_batch.hpp"

namespace tofstream::ring_scatter {

namespace {

constexpr int history_threads = 128;

using DeviceCount = unsigned long long;  // of two's complement: sums of signed numbers come out right

__global__ void __launch_bounds__(history_threads)
    follow_histories(HistoryLaw law, CountedLattice lattice, std::int64_t first, std::int64_t count,
                     DeviceCount* counts, DeviceCount* recorded) {
  const std::int64_t stride = std::int64_t{gridDim.x} * history_threads;
  for (std::int64_t n = std::int64_t{blockIdx.x} * history_threads + threadIdx.x; n < count; n += stride) {
    const CountedCoincidence found = law.follow(static_cast<std::uint64_t>(first + n));
    if (!(found.weight > 0)) continue;
    atomicAdd(recorded, DeviceCount{1});
    lattice.lay_down(found.place, found.weight, [&](std::int64_t sample, double weight) {
      atomicAdd(counts + sample, static_cast<DeviceCount>(in_units(weight)));
    });
  }
}

class CudaHistoryBatches final : public HistoryBatches {
 public:
  CudaHistoryBatches(const HistoryLaw& law, const CountedLattice& lattice)
      : law_(law),
        lattice_(lattice),
        mu_(on_device(law.matter.mu.values, voxels_of(law.matter.mu))),
        sums_(on_device(law.decays.sums, law.decays.voxels)),
        counts_(Memory::device, lattice.values() + 1),
        there_(Memory::pinned, lattice.values() + 1) {
    synchronize(nullptr);
    law_.matter.mu.values = mu_.data();
    law_.decays.sums = sums_.data();
  }

  const CountedBatch& follow(std::int64_t first, std::int64_t count) override {
    counts_.clear(nullptr);
    const std::int64_t values = lattice_.values(), blocks = (count + history_threads - 1) / history_threads;
    constexpr std::int64_t most_blocks = 132 * 16 * 4;  // each thread follows some tens
    follow_histories<<<static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), history_threads>>>(
        law_, lattice_, first, count, counts_.data(), counts_.data() + values);
    check_launch("follow photons");
    detail::copy(there_.data(), Memory::pinned, counts_.data(), Memory::device, counts_.bytes(), nullptr);
    synchronize(nullptr);
    const auto* const begin = reinterpret_cast<const std::int64_t*>(there_.data());
    batch_.counts.assign(begin, begin + values);
    batch_.recorded = begin[values];
    return batch_;
  }

 private:
  static std::int64_t voxels_of(const RayView& view) {
    return std::int64_t{view.size[0]} * view.size[1] * view.size[2];
  }

  template <class T>
  static Buffer<T> on_device(const T* from, std::int64_t count) {
    Buffer<T> there(Memory::device, count);
    detail::copy(there.data(), Memory::device, from, Memory::host, there.bytes(), nullptr);
    return there;
  }

  HistoryLaw law_;
  CountedLattice lattice_;
  Buffer<float> mu_;
  Buffer<double> sums_;
  Buffer<DeviceCount> counts_, there_;
  CountedBatch batch_;
};

}  // namespace

std::unique_ptr<HistoryBatches> make_history_batches_cuda(const HistoryLaw& law, const CountedLattice& lattice) {
  require_cuda();
  return std::make_unique<CudaHistoryBatches>(law, lattice);
}

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
