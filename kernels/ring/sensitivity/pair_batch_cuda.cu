// Batches of drawn pairs on a CUDA device: see pair_batch.hpp.
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>

#include "kernels/cuda/check.hpp"
#include "kernels/ring/sensitivity/pair_batch.hpp"

namespace tofstream::detail {

namespace {

using Row = thrust::tuple<std::uint32_t, std::uint32_t, float>;  // detectors and value

struct DrawRow {
  PairDraws draws;
  __device__ Row operator()(std::int64_t n) const {
    PairCursor cursor(draws.list);
    const DrawnPair drawn = draws.draw(cursor, n);
    return {drawn.pair.detector1, drawn.pair.detector2, drawn.value};
  }
};

struct AddsSomething {
  __device__ bool operator()(const Row& row) const { return thrust::get<2>(row) > 0; }
};

}  // namespace

void PairBatch::draw_cuda(const PairDraws& draws, std::int64_t begin, std::int64_t end) {
  if (selected_.empty()) selected_ = Buffer<std::int64_t>(memory_, 1, stream_);
  const auto rows = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(begin), DrawRow{draws});
  const auto kept = thrust::make_zip_iterator(thrust::make_tuple(detector1_.data(), detector2_.data(), values_.data()));
  std::size_t bytes = 0;
  check_cuda(cub::DeviceSelect::If(nullptr, bytes, rows, kept, selected_.data(), end - begin, AddsSomething(), stream_),
             "size the scratch of drawing pairs");
  if (static_cast<std::size_t>(scratch_.size()) < bytes)
    scratch_ = Buffer<std::byte>(memory_, static_cast<std::int64_t>(bytes), stream_);
  check_cuda(cub::DeviceSelect::If(scratch_.data(), bytes, rows, kept, selected_.data(), end - begin, AddsSomething(),
                                   stream_),
             "draw pairs of detectors");
  count_ = selected_.to_vector(stream_).front();
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
