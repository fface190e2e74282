// See wrong_count.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/project/wrong_count.hpp"

namespace tofstream {

namespace {

__global__ void find_wrong_count(const float* counts, std::int64_t count, unsigned long long* first) {
  const std::int64_t i = elementwise::element();
  if (i < count && !is_count(counts[i])) atomicMin(first, static_cast<unsigned long long>(i));
}

}  // namespace

std::int64_t detail::first_wrong_count_cuda(const float* counts, std::int64_t count, Stream stream) {
  if (count == 0) return -1;
  Buffer<unsigned long long> first(Memory::device, 1, stream);
  const unsigned long long none = static_cast<unsigned long long>(count);
  copy(first.data(), Memory::device, &none, Memory::host, sizeof(none), stream);
  find_wrong_count<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(counts, count, first.data());
  check_launch("look for wrong counts");
  const unsigned long long found = first.to_vector(stream).front();
  return found == none ? -1 : static_cast<std::int64_t>(found);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
