// A radial response as a texture with 2048 samples and linear interpolation (Cui et al. 2011, II.B.4).
#pragma once

#include <vector>

#include <cuda_runtime.h>

#include "kernels/cuda/check.hpp"

namespace tofstream::tor::paper {

class RadialTexture {
 public:
  explicit RadialTexture(const std::vector<float>& samples) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    check_cuda(cudaMallocArray(&array_, &format, samples.size()), "allocate a texture");
    try {
      fill(samples);
    } catch (...) {
      (void)cudaFreeArray(array_);
      throw;
    }
  }
  ~RadialTexture() {
    (void)cudaDestroyTextureObject(texture_);
    (void)cudaFreeArray(array_);
  }
  RadialTexture(const RadialTexture&) = delete;
  RadialTexture& operator=(const RadialTexture&) = delete;

  cudaTextureObject_t get() const { return texture_; }

 private:
  void fill(const std::vector<float>& samples) {
    const std::size_t bytes = samples.size() * sizeof(float);
    check_cuda(cudaMemcpy2DToArray(array_, 0, 0, samples.data(), bytes, bytes, 1, cudaMemcpyHostToDevice),
               "fill a texture");
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array_;
    cudaTextureDesc reading{};
    reading.addressMode[0] = cudaAddressModeClamp;
    reading.filterMode = cudaFilterModeLinear;
    reading.readMode = cudaReadModeElementType;
    check_cuda(cudaCreateTextureObject(&texture_, &resource, &reading, nullptr), "make a texture");
  }

  cudaArray_t array_ = nullptr;
  cudaTextureObject_t texture_ = 0;
};

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
