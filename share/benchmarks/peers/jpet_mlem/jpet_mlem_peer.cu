// The strip reconstruction of j-pet-mlem on a GPU, its kernel driven as its own program does, by strip_peer.h. See
// README.md.
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include "../strip_peer.h"

// What its headers expect of CUDA 7.5 and CUDA 13 no longer has.
template <class T, int dimensions, int mode>
struct texture {};
template <class T>
__device__ T shuffle_xor_of_all(T value, int mask, int width) {
  return __shfl_xor_sync(0xffffffffu, value, mask, width);
}
#define __shfl_xor shuffle_xor_of_all

// Its kernel reads these by tex2D(name, x, y).
struct NamedTexture {
  cudaTextureObject_t object;
};
__constant__ NamedTexture tex_rho, tex_sensitivity;
__device__ inline float tex2D(const NamedTexture& texture, float x, float y) {
  return tex2D<float>(texture.object, x, y);
}

#include "2d/geometry/pixel.h"
#include "2d/geometry/point.h"
#include "common/types.h"

// Names of its reconstruction.h, which includes its host's image writers too, and what its kernel calls before it is
// declared.
namespace PET2D::Strip::GPU::Reconstruction {
using Point = PET2D::Point<F>;
using Pixel = PET2D::Pixel<S>;
template <typename F>
__device__ inline int n_pixels_in_line(F length, F pixel_size);
template <typename F>
__device__ inline Pixel warp_space_pixel(int offset, Pixel top_left, int width, F inverse_width, int& index);
}  // namespace PET2D::Strip::GPU::Reconstruction

#include "2d/strip/analytic_kernel.h"
#include "2d/strip/cuda/reconstruction/warp_granularity.cuh"

namespace {

using Scanner = PET2D::Strip::Scanner<float, short>;
using Pixel = PET2D::Pixel<short>;
namespace original = PET2D::Strip::GPU::Reconstruction;

constexpr int default_blocks = 64, default_threads = 512;  // of its command line

void check(cudaError_t status, const char* purpose) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string("cannot ") + purpose + ": " + cudaGetErrorString(status));
}

// Floats on the device.
class DeviceFloats {
 public:
  explicit DeviceFloats(std::size_t count) : bytes_(count * sizeof(float)) {
    check(cudaMalloc(&data_, bytes_), "allocate");
  }
  DeviceFloats(const float* host, std::size_t count) : DeviceFloats(count) { set(host); }
  ~DeviceFloats() { cudaFree(data_); }
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  void set(const float* host) { check(cudaMemcpy(data_, host, bytes_, cudaMemcpyHostToDevice), "copy to the device"); }
  void get(float* host) const { check(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost), "copy to the host"); }
  void clear() { check(cudaMemsetAsync(data_, 0, bytes_), "clear"); }
  float* data() const { return data_; }

 private:
  std::size_t bytes_;
  float* data_ = nullptr;
};

// An array with a texture object that reads it by whole pixels, zero outside as texture references do by clamping
// (the kernel clamps to the image itself).
class Texture {
 public:
  Texture(int width, int height) : width_(width), height_(height) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    check(cudaMallocArray(&array_, &format, width, height), "allocate a texture");
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array_;
    cudaTextureDesc texture{};
    texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
    texture.filterMode = cudaFilterModePoint;
    texture.readMode = cudaReadModeElementType;
    check(cudaCreateTextureObject(&named_.object, &resource, &texture, nullptr), "make a texture");
  }
  ~Texture() {
    cudaDestroyTextureObject(named_.object);
    cudaFreeArray(array_);
  }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  void fill(const float* from, cudaMemcpyKind kind) {
    const std::size_t row = width_ * sizeof(float);
    check(cudaMemcpy2DToArrayAsync(array_, 0, 0, from, row, row, height_, kind), "fill a texture");
  }
  const NamedTexture& named() const { return named_; }

 private:
  int width_, height_;
  cudaArray_t array_ = nullptr;
  NamedTexture named_{};
};

class Reconstruction {
 public:
  Reconstruction(const tofstream_strip_peer_scan& scan, const tofstream_strip_peer_events& events)
      : scanner_(scan.radius_mm, scan.length_mm, static_cast<short>(scan.rows), static_cast<short>(scan.columns),
                 scan.pixel_mm, scan.pixel_mm, scan.sigma_z_mm, scan.sigma_dl_mm),
        count_(static_cast<int>(events.count)),
        up_(events.z_up_mm, static_cast<std::size_t>(events.count)),
        down_(events.z_down_mm, static_cast<std::size_t>(events.count)),
        dl_(events.dl_mm, static_cast<std::size_t>(events.count)),
        rho_(pixels()),
        sensitivity_texture_(scan.columns, scan.rows),
        rho_texture_(scan.columns, scan.rows) {
    std::vector<float> sensitivity(pixels());
    for (short y = 0; y < scanner_.n_y_pixels; ++y)
      for (short z = 0; z < scanner_.n_z_pixels; ++z)
        sensitivity[static_cast<std::size_t>(y) * scanner_.n_z_pixels + z] = scanner_.pixel_sensitivity(Pixel(z, y));
    sensitivity_texture_.fill(sensitivity.data(), cudaMemcpyHostToDevice);
    check(cudaDeviceSynchronize(), "fill the sensitivity");
    check(cudaMemcpyToSymbol(tex_sensitivity, &sensitivity_texture_.named(), sizeof(NamedTexture)), "name a texture");
    check(cudaMemcpyToSymbol(tex_rho, &rho_texture_.named(), sizeof(NamedTexture)), "name a texture");
  }

  void set_image(const float* image) {
    std::vector<float> turned(pixels());
    for_each_pixel([&](std::size_t ours, std::size_t theirs) { turned[theirs] = image[ours]; });
    rho_.set(turned.data());
  }
  void get_image(float* image) const {
    std::vector<float> turned(pixels());
    rho_.get(turned.data());
    for_each_pixel([&](std::size_t ours, std::size_t theirs) { image[ours] = turned[theirs]; });
  }
  void iterate(int blocks, int threads) {
    rho_texture_.fill(rho_.data(), cudaMemcpyDeviceToDevice);
    rho_.clear();
    original::reconstruction<PET2D::Strip::AnalyticKernel, float>
        <<<blocks, threads>>>(scanner_, up_.data(), down_.data(), dl_.data(), count_, rho_.data());
    check(cudaGetLastError(), "launch the reconstruction");
  }

 private:
  std::size_t pixels() const { return static_cast<std::size_t>(scanner_.n_y_pixels) * scanner_.n_z_pixels; }
  // Theirs has z fastest, and rows from +y down.
  template <class Use>
  void for_each_pixel(const Use& use) const {
    const std::size_t rows = scanner_.n_y_pixels, columns = scanner_.n_z_pixels;
    for (std::size_t z = 0; z < columns; ++z)
      for (std::size_t y = 0; y < rows; ++y) use(z * rows + y, (rows - 1 - y) * columns + z);
  }

  Scanner scanner_;
  int count_;
  DeviceFloats up_, down_, dl_, rho_;
  Texture sensitivity_texture_, rho_texture_;
};

std::unique_ptr<Reconstruction> reconstruction;

Reconstruction& prepared() {
  if (!reconstruction) throw std::runtime_error("nothing is prepared");
  return *reconstruction;
}

// Runs what may throw; null, or what went wrong.
template <class Work>
const char* attempt(const Work& work) {
  static std::string error;
  try {
    work();
    return nullptr;
  } catch (const std::exception& exception) {
    error = exception.what();
    return error.c_str();
  }
}

const char* prepare(const tofstream_strip_peer_scan* scan, const tofstream_strip_peer_events* events) {
  return attempt([&] {
    reconstruction.reset();
    reconstruction = std::make_unique<Reconstruction>(*scan, *events);
  });
}
const char* set_image(const float* image) {
  return attempt([&] { prepared().set_image(image); });
}
const char* get_image(float* image) {
  return attempt([&] { prepared().get_image(image); });
}
const char* iterate(int32_t blocks, int32_t threads) {
  return attempt([&] { prepared().iterate(blocks ? blocks : default_blocks, threads ? threads : default_threads); });
}

}  // namespace

extern "C" const tofstream_strip_peer* tofstream_strip_peer_get(void) {
  static const tofstream_strip_peer peer{
      TOFSTREAM_STRIP_PEER_INTERFACE, "j-pet-mlem", "88eec29", prepare, set_image, get_image, iterate};
  return &peer;
}
// SPDX-License-Identifier: Apache-2.0
