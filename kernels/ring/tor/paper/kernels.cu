// Cui et al.'s kernels with IEEE arithmetic.
#include "kernels/ring/tor/paper/kernels-inl.cuh"

namespace tofstream::tor::paper {

template void queue_forward<false>(const Task&, const Launch&, const float*, float*);
template void queue_back<false>(const Task&, const Launch&, const float*, float*);

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
