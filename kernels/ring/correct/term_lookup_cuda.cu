// Terms of events on a CUDA device, one thread an event: see term_lookup.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/ring/correct/term_lookup.hpp"

namespace tofstream::detail {

namespace {

__global__ void multiplicative_of_each(TermLookup lookup, float* multiplicative) {
  const std::int64_t i = elementwise::element();
  if (i < lookup.events.count) multiplicative[i] = lookup.multiplicative(i, multiplicative[i]);
}

__global__ void additive_of_each(TermLookup lookup, float* additive) {
  const std::int64_t i = elementwise::element();
  if (i < lookup.events.count) additive[i] = lookup.additive(i);
}

__global__ void one_of_each(float* values, std::int64_t count) {
  const std::int64_t i = elementwise::element();
  if (i < count) values[i] = 1;
}

}  // namespace

void look_up_multiplicative_cuda(const TermLookup& lookup, float* multiplicative, Stream stream) {
  const std::int64_t count = lookup.events.count;
  if (count == 0) return;
  multiplicative_of_each<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(lookup, multiplicative);
  check_launch("look up the multiplicative terms of events");
}

void look_up_additive_cuda(const TermLookup& lookup, float* additive, Stream stream) {
  const std::int64_t count = lookup.events.count;
  if (count == 0) return;
  additive_of_each<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(lookup, additive);
  check_launch("look up the additive terms of events");
}

void fill_ones_cuda(float* values, std::int64_t count, Stream stream) {
  if (count == 0) return;
  one_of_each<<<elementwise::blocks(count), elementwise::threads, 0, stream>>>(values, count);
  check_launch("set values to 1");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
