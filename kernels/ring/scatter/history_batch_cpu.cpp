// Batches of decays on the CPU, and the choice of backend: see history_batch.hpp.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/ring/scatter/history_batch.hpp"

namespace tofstream::ring_scatter {

namespace {

class CpuHistoryBatches final : public HistoryBatches {
 public:
  CpuHistoryBatches(const HistoryLaw& law, const CountedLattice& lattice)
      : law_(law), lattice_(lattice), of_threads_([this] { return Counts(values()); }), sum_(values()) {}

  const CountedBatch& follow(std::int64_t first, std::int64_t count) override {
    for (Counts& each : of_threads_) each = Counts(values());
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(first, first + count, 4096), [&](const auto& range) {
      Counts& mine = of_threads_.local();
      for (std::int64_t n = range.begin(); n < range.end(); ++n) {
        const CountedCoincidence found = law_.follow(static_cast<std::uint64_t>(n));
        if (!(found.weight > 0)) continue;
        ++mine.recorded;
        lattice_.lay_down(found.place, found.weight, [&](std::int64_t sample, double weight) {
          mine.at_samples[static_cast<std::size_t>(sample)] += in_units(weight);
        });
      }
    });
    sum_ = Counts(values());
    for (const Counts& each : of_threads_) {
      sum_.recorded += each.recorded;
      std::ranges::transform(sum_.at_samples, each.at_samples, sum_.at_samples.begin(), std::plus<>());
    }
    batch_ = {sum_.at_samples, sum_.recorded};
    return batch_;
  }

 private:
  struct Counts {
    explicit Counts(std::size_t values) : at_samples(values, 0) {}
    std::vector<std::int64_t> at_samples;
    std::int64_t recorded = 0;
  };
  std::size_t values() const { return static_cast<std::size_t>(lattice_.values()); }

  HistoryLaw law_;
  CountedLattice lattice_;
  tbb::enumerable_thread_specific<Counts> of_threads_;
  Counts sum_;
  CountedBatch batch_;
};

}  // namespace

std::unique_ptr<HistoryBatches> make_history_batches(const HistoryLaw& law, const CountedLattice& lattice,
                                                     Backend backend) {
  if (backend == Backend::cuda) return make_history_batches_cuda(law, lattice);
  return std::make_unique<CpuHistoryBatches>(law, lattice);
}

#ifndef TOFSTREAM_HAVE_CUDA
std::unique_ptr<HistoryBatches> make_history_batches_cuda(const HistoryLaw&, const CountedLattice&) {
  refuse_cuda();
}
#endif

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
