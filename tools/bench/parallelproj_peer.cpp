// The peer's C interface, as its header documents it: see parallelproj_peer.hpp.
#include "tools/bench/parallelproj_peer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "tools/bench/shared_library.hpp"

namespace tofstream::command {

namespace {

using ForwardFunction = void(const float*, const float*, const float*, const float*, const float*, float*, std::size_t,
                             const int*, float, const float*, const float*, float, const short*, short, unsigned char,
                             unsigned char, int, int);
using BackFunction = void(const float*, const float*, float*, const float*, const float*, const float*, std::size_t,
                          const int*, float, const float*, const float*, float, const short*, short, unsigned char,
                          unsigned char, int, int);

constexpr float peer_cut_sigmas = 3;
constexpr int threads_a_block = 64;  // of its CUDA build, by its own default

}  // namespace

struct ParallelprojPeer::Library {
  Library(const std::string& path, Backend backend) : library(path) {
    forward = library.function<ForwardFunction>("joseph3d_tof_lm_fwd");
    back = library.function<BackFunction>("joseph3d_tof_lm_back");
    version = library.function<const char*()>("parallelproj_version");
    const bool cuda = backend == Backend::cuda;
    if (library.function<int()>("parallelproj_cuda_enabled")() != static_cast<int>(cuda))
      throw std::runtime_error(cuda ? "it is a CPU build, give the CUDA build"
                                    : "it is a CUDA build, give the CPU build");
    if (!cuda) set_threads = library.function<void(int)>("omp_set_num_threads");
  }

  SharedLibrary library;
  ForwardFunction* forward = nullptr;
  BackFunction* back = nullptr;
  const char* (*version)() = nullptr;
  void (*set_threads)(int) = nullptr;  // of the OpenMP runtime that it is linked with
};

ParallelprojPeer::ParallelprojPeer(const std::string& library, Backend backend) : backend_(backend) {
  try {
    library_ = std::make_unique<Library>(library, backend);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("cannot use {} as libparallelproj: {}", library, error.what()));
  }
}

ParallelprojPeer::~ParallelprojPeer() = default;

std::string ParallelprojPeer::version() const {
  return library_->version();
}

void ParallelprojPeer::set_threads(int threads) const {
  library_->set_threads(threads);
}

void ParallelprojPeer::set_events(const EventView& events, const Grid& grid) {
  count_ = events.count;
  bin_width_mm_ = events.tof.bin_width_mm > 0 ? events.tof.bin_width_mm : 1.0f;
  Buffer<float> start(Memory::host, 3 * count_), end(Memory::host, 3 * count_);
  Buffer<std::int16_t> bins(Memory::host, count_);
  int largest = 0;
  for (std::int64_t i = 0; i < count_; ++i) {
    const Lor lor = events.lor(i);
    for (int axis = 0; axis < 3; ++axis) {
      start[3 * i + 2 - axis] = lor.end1[axis];
      end[3 * i + 2 - axis] = lor.end2[axis];
    }
    // The peer counts bins from the LOR's middle bin; the nearest bin moves the centre by less than half a bin.
    bins[i] = static_cast<std::int16_t>(std::lround(lor.tof_mm / bin_width_mm_));
    largest = std::max(largest, std::abs(static_cast<int>(bins[i])));
  }
  bin_count_ = static_cast<short>(2 * largest + 1);
  for (std::int16_t& bin : bins.span()) bin = static_cast<std::int16_t>(bin + largest);
  // All arrays lie where the peer projects: it would copy others at every call.
  const Memory memory = memory_of(backend_);
  const auto there = [&]<class T>(std::initializer_list<T> values) {
    return Buffer<T>::from(std::span<const T>(values.begin(), values.size())).to(memory);
  };
  sigma_mm_ = there({events.tof.sigma_mm});
  offset_mm_ = there({0.0f});
  origin_ = there({grid.origin_mm.z, grid.origin_mm.y, grid.origin_mm.x});
  voxel_ = there({grid.voxel_mm.z, grid.voxel_mm.y, grid.voxel_mm.x});
  size_ = there({grid.size[2], grid.size[1], grid.size[0]});
  start_ = start.to(memory);
  end_ = end.to(memory);
  bins_ = bins.to(memory);
  synchronize(nullptr);
}

void ParallelprojPeer::forward(const float* image, float* expectation) const {
  library_->forward(start_.data(), end_.data(), image, origin_.data(), voxel_.data(), expectation,
                    static_cast<std::size_t>(count_), size_.data(), bin_width_mm_, sigma_mm_.data(), offset_mm_.data(),
                    peer_cut_sigmas, bins_.data(), bin_count_, 0, 0, 0, threads_a_block);
}

void ParallelprojPeer::back(const float* values, float* image) const {
  library_->back(start_.data(), end_.data(), image, origin_.data(), voxel_.data(), values,
                 static_cast<std::size_t>(count_), size_.data(), bin_width_mm_, sigma_mm_.data(), offset_mm_.data(),
                 peer_cut_sigmas, bins_.data(), bin_count_, 0, 0, 0, threads_a_block);
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
