// Sums and means on the CPU, and the choice of backend: see replicate_mean.hpp.
#include "kernels/ring/sensitivity/replicate_mean.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include "kernels/memory/refuse.hpp"

namespace tofstream::detail {

namespace {

using Range = tbb::blocked_range<std::int64_t>;
constexpr std::int64_t mean_grain = 1 << 15;

template <class Work>
void for_each_voxel(std::int64_t voxels, const Work& work) {
  tbb::parallel_for(Range(0, voxels, mean_grain), [&](const Range& range) {
    for (std::int64_t v = range.begin(); v < range.end(); ++v) work(v);
  });
}

/// In an order that does not depend on the number of threads.
template <class Term>
double sum_of(std::int64_t voxels, const Term& term) {
  return tbb::parallel_deterministic_reduce(
      Range(0, voxels, mean_grain), 0.0,
      [&](const Range& range, double sum) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) sum += term(v);
        return sum;
      },
      std::plus<>());
}

/// e^2 of a voxel whose mean of `count` values has this sum of squared deviations.
double relative_variance(float mean, float deviations, int count) {
  const auto m = static_cast<double>(mean);
  return m > 0 ? static_cast<double>(deviations) / (static_cast<double>(count) * (count - 1)) / (m * m) : 0;
}

}  // namespace

ReplicateMean::ReplicateMean(const Grid& grid, int group, double share, Memory memory, Stream stream)
    : group_(group),
      share_(share),
      memory_(memory),
      stream_(stream),
      batch_(Image::zeros(grid, memory, stream)),
      mean_(Image::zeros(grid, memory, stream)),
      replicate_(Buffer<double>::zeros(memory, batch_.voxels.size(), stream)) {
  if (group == 0) return;
  deviations_ = Image::zeros(grid, memory, stream);
  if (group < no_hold_out) held_out_ = Image::zeros(grid, memory, stream);
}

void ReplicateMean::end_batch() {
  const ReplicateArrays a{batch_.voxels.data(), replicate_.data(), nullptr, nullptr, 0};
  if (!on_host(memory_)) return end_batch_cuda(a, batch_.voxels.size(), stream_);
  for_each_voxel(batch_.voxels.size(), [&](std::int64_t v) { a.end_batch(v); });
}

void ReplicateMean::end_replicate(const SymmetryGroup& symmetries) {
  const bool hold_out = group_ > 0 && (count_ + held_out_count_ + 1) % group_ == 0;
  const int count = hold_out ? ++held_out_count_ : ++count_;
  const ReplicateArrays a{nullptr, replicate_.data(), (hold_out ? held_out_ : mean_).voxels.data(),
                          hold_out ? nullptr : deviations_.voxels.data(), count};
  if (on_host(memory_)) {
    for_each_voxel(batch_.voxels.size(), [&](std::int64_t v) { a.end_replicate(symmetries, v); });
  } else {
    end_replicate_cuda(a, symmetries, batch_.voxels.size(), stream_);
  }
  replicate_.clear(stream_);
}

double ReplicateMean::relative_error() const {
  if (group_ == 0 || count_ < 2) return 0;
  const SpreadSums all = spread_sums();
  return all.mean2 > 0
             ? std::sqrt(undrawn() * all.deviations / (static_cast<double>(count_) * (count_ - 1)) / all.mean2)
             : 0;
}

SpreadSums ReplicateMean::spread_sums() const {
  const float *const mean = mean_.voxels.data(), *const deviations = deviations_.voxels.data();
  if (!on_host(memory_)) return spread_sums_cuda(mean, deviations, mean_.voxels.size(), stream_);
  return tbb::parallel_deterministic_reduce(
      Range(0, mean_.voxels.size(), mean_grain), SpreadSums{},
      [&](const Range& range, SpreadSums sums) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) sums.add_voxel(mean[v], deviations[v]);
        return sums;
      },
      [](SpreadSums a, const SpreadSums& b) {
        a.add(b);
        return a;
      });
}

SampleNoise ReplicateMean::noise() const {
  if (group_ == 0 || group_ == no_hold_out || count_ < 2) return {};
  SampleNoise result{on_the_host(held_out_), on_the_host(deviations_), undrawn()};
  const Image mean = image();
  const auto total = [](const Image& image) {
    return sum_of(image.voxels.size(), [&](std::int64_t v) { return static_cast<double>(image.voxels[v]); });
  };
  const double sum = total(result.held_out), scale = sum > 0 ? total(mean) / sum : 1;
  for_each_voxel(mean.voxels.size(), [&](std::int64_t v) {
    float &held_out = result.held_out.voxels[v], &variance = result.variance.voxels[v];
    held_out = static_cast<float>(scale * static_cast<double>(held_out));
    variance = static_cast<float>(undrawn() * relative_variance(mean.voxels[v], variance, count_));
  });
  return result;
}

double ReplicateMean::undrawn() const {
  return std::max(1 - count_ * share_, 0.0);
}

Image ReplicateMean::on_the_host(const Image& image) const {
  Image result = image.to(Memory::host, stream_);
  if (!on_host(memory_)) synchronize(stream_);
  return result;
}

#ifndef TOFSTREAM_HAVE_CUDA
void end_batch_cuda(const ReplicateArrays&, std::int64_t, Stream) {
  refuse_cuda();
}
void end_replicate_cuda(const ReplicateArrays&, const SymmetryGroup&, std::int64_t, Stream) {
  refuse_cuda();
}
SpreadSums spread_sums_cuda(const float*, const float*, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
