// The peer's C interface, as its header documents it: see bench_peer.hpp.
#include "tools/command/bench_peer.hpp"

#include <cmath>
#include <stdexcept>

#include <dlfcn.h>
#include <fmt/format.h>

namespace tofstream::command {

namespace {

using ForwardFunction = void(const float*, const float*, const float*, const float*, const float*, float*, std::size_t,
                             const int*, float, const float*, const float*, float, const short*, short, unsigned char,
                             unsigned char, int, int);
using BackFunction = void(const float*, const float*, float*, const float*, const float*, const float*, std::size_t,
                          const int*, float, const float*, const float*, float, const short*, short, unsigned char,
                          unsigned char, int, int);

constexpr float cut_sigmas = 3;

}  // namespace

struct ParallelprojPeer::Library {
  // Never unloaded (RTLD_NODELETE): the threads of its OpenMP runtime outlive every call.
  explicit Library(const std::string& path) : handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (!handle) throw std::runtime_error(::dlerror());
    forward = function<ForwardFunction>("joseph3d_tof_lm_fwd");
    back = function<BackFunction>("joseph3d_tof_lm_back");
    version = function<const char*()>("parallelproj_version");
    set_threads = function<void(int)>("omp_set_num_threads");
  }
  ~Library() { ::dlclose(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class Function>
  Function* function(const char* name) const {
    void* symbol = ::dlsym(handle, name);
    if (!symbol) throw std::runtime_error(fmt::format("it has no function {}", name));
    return reinterpret_cast<Function*>(symbol);
  }

  void* handle;
  ForwardFunction* forward = nullptr;
  BackFunction* back = nullptr;
  const char* (*version)() = nullptr;
  void (*set_threads)(int) = nullptr;  // of the OpenMP runtime that it is linked with
};

ParallelprojPeer::ParallelprojPeer(const std::string& library) {
  try {
    library_ = std::make_unique<Library>(library);
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
  sigma_mm_ = events.tof.sigma_mm;
  bin_width_mm_ = events.tof.bin_width_mm > 0 ? events.tof.bin_width_mm : 1.0f;
  start_.clear();
  end_.clear();
  bins_.clear();
  int largest = 0;
  for (std::int64_t i = 0; i < count_; ++i) {
    const Lor lor = events.lor(i);
    for (int axis = 2; axis >= 0; --axis) {
      start_.push_back(lor.end1[axis]);
      end_.push_back(lor.end2[axis]);
    }
    // The peer counts bins from the LOR's middle bin; the nearest bin moves the centre by less than half a bin.
    bins_.push_back(static_cast<std::int16_t>(std::lround(lor.tof_mm / bin_width_mm_)));
    largest = std::max(largest, std::abs(static_cast<int>(bins_.back())));
  }
  bin_count_ = static_cast<short>(2 * largest + 1);
  for (auto& bin : bins_) bin = static_cast<std::int16_t>(bin + largest);
  for (int axis = 0; axis < 3; ++axis) {
    origin_[2 - axis] = grid.origin_mm[axis];
    voxel_[2 - axis] = grid.voxel_mm[axis];
    size_[2 - axis] = grid.size[axis];
  }
}

void ParallelprojPeer::forward(const float* image, float* expectation) const {
  library_->forward(start_.data(), end_.data(), image, origin_, voxel_, expectation, static_cast<std::size_t>(count_),
                    size_, bin_width_mm_, &sigma_mm_, &offset_mm_, cut_sigmas, bins_.data(), bin_count_, 0, 0, 0, 64);
}

void ParallelprojPeer::back(const float* values, float* image) const {
  library_->back(start_.data(), end_.data(), image, origin_, voxel_, values, static_cast<std::size_t>(count_), size_,
                 bin_width_mm_, &sigma_mm_, &offset_mm_, cut_sigmas, bins_.data(), bin_count_, 0, 0, 0, 64);
}

}  // namespace tofstream::command
