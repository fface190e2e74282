// Marks functions that the host and CUDA devices share, so that one text is compiled for both and
// tested without a GPU.
#pragma once

#ifdef __CUDACC__
#define TOFSTREAM_HOST_DEVICE __host__ __device__
#else
#define TOFSTREAM_HOST_DEVICE
#endif
// SPDX-License-Identifier: Apache-2.0
