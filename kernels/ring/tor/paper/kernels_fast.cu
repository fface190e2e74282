// Cui et al.'s kernels with fast math (II.B.9): this file alone is compiled with --use_fast_math.
#include "kernels/ring/tor/paper/kernels-inl.cuh"

namespace tofstream::tor::paper {

template void queue_forward<true>(const Task&, const Launch&, const float*, float*);
template void queue_back<true>(const Task&, const Launch&, const float*, float*);

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
