// Sums and means on the CPU, and the choice of backend: see replicate_mean.hpp.
#include "kernels/sensitivity/replicate_mean.hpp"

#include <cmath>
#include <functional>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

namespace tofstream::detail {

namespace {

using Range = tbb::blocked_range<std::int64_t>;
constexpr std::int64_t grain = 1 << 15;

template <class Work>
void for_each_voxel(std::int64_t voxels, const Work& work) {
  tbb::parallel_for(Range(0, voxels, grain), [&](const Range& range) {
    for (std::int64_t v = range.begin(); v < range.end(); ++v) work(v);
  });
}

/// In an order that does not depend on the number of threads.
template <class Term>
double sum_of(std::int64_t voxels, const Term& term) {
  return tbb::parallel_deterministic_reduce(
      Range(0, voxels, grain), 0.0,
      [&](const Range& range, double sum) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) sum += term(v);
        return sum;
      },
      std::plus<>());
}

}  // namespace

ReplicateMean::ReplicateMean(const Grid& grid, int replicates, Memory memory, Stream stream)
    : memory_(memory),
      stream_(stream),
      batch_(Image::zeros(grid, memory, stream)),
      mean_(Image::zeros(grid, memory, stream)),
      replicate_(Buffer<double>::zeros(memory, batch_.voxels.size(), stream)) {
  if (replicates > 1) deviations_ = Buffer<float>::zeros(memory, batch_.voxels.size(), stream);
}

ReplicateArrays ReplicateMean::arrays() {
  return {batch_.voxels.data(), replicate_.data(), mean_.voxels.data(), deviations_.data()};
}

void ReplicateMean::end_batch() {
  const ReplicateArrays a = arrays();
  if (!on_host(memory_)) return end_batch_cuda(a, batch_.voxels.size(), stream_);
  for_each_voxel(batch_.voxels.size(), [&](std::int64_t v) { a.end_batch(v); });
}

void ReplicateMean::end_replicate() {
  const ReplicateArrays a = arrays();
  const int count = ++count_;
  if (!on_host(memory_)) return end_replicate_cuda(a, count, batch_.voxels.size(), stream_);
  for_each_voxel(batch_.voxels.size(), [&](std::int64_t v) { a.end_replicate(v, count); });
}

double ReplicateMean::relative_error(const Image& mean) const {
  if (deviations_.empty() || count_ < 2) return 0;
  const Buffer<float> deviations = deviations_.to(Memory::host, stream_);
  synchronize(stream_);
  const std::int64_t voxels = deviations.size();
  const double error2 = sum_of(voxels, [&](std::int64_t v) { return static_cast<double>(deviations[v]); });
  const double mean2 = sum_of(voxels, [&](std::int64_t v) {
    return static_cast<double>(mean.voxels[v]) * static_cast<double>(mean.voxels[v]);
  });
  return mean2 > 0 ? std::sqrt(error2 / (static_cast<double>(count_) * (count_ - 1)) / mean2) : 0;
}

Image ReplicateMean::mean() const {
  Image result = mean_.to(Memory::host, stream_);
  if (!on_host(memory_)) synchronize(stream_);
  return result;
}

#ifndef TOFSTREAM_HAVE_CUDA
void end_batch_cuda(const ReplicateArrays&, std::int64_t, Stream) {
  require_cuda();
}
void end_replicate_cuda(const ReplicateArrays&, int, std::int64_t, Stream) {
  require_cuda();
}
#endif

}  // namespace tofstream::detail
