// yrt-pet's single-ray Siddon projectors on a GPU, driven through its public and protected interface (2.0.7) as peer.h
// asks: its operator's forward and back projection, and the kernel in which its OSEM does both. Events go to the device
// once, in yrt-pet's own layout; one batch, no attenuation, sensitivity or additive terms.
#include <cmath>
#include <cstddef>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <yrt-pet/datastruct/image/Image.hpp>
#include <yrt-pet/datastruct/image/ImageDevice.cuh>
#include <yrt-pet/datastruct/projection/ListMode.hpp>
#include <yrt-pet/datastruct/projection/ProjectionListDevice.cuh>
#include <yrt-pet/operators/OperatorProjectorSiddon_GPU.cuh>
#include <yrt-pet/recon/OSEM_GPU.cuh>

#include "../peer.h"

namespace yrt::version {
std::string getVersionString();  // in its library; the header is not installed
}

namespace {

constexpr float light_mm_per_ps = 0.299792458f;

// yrt-pet reports on std::cout, which belongs to the benchmark.
class Quiet {
 public:
  Quiet() : before_(std::cout.rdbuf(nullptr)) {}
  ~Quiet() { std::cout.rdbuf(before_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  std::streambuf* before_;
};

// Our events as list mode of yrt-pet's: lines of their own instead of pairs of detectors. Read while a batch is laid
// out.
class Lines : public yrt::ListMode {
 public:
  Lines(const yrt::Scanner& scanner, const tofstream_peer_events& events) : ListMode(scanner), events_(events) {}
  std::size_t count() const override { return static_cast<std::size_t>(events_.count); }
  bool isUniform() const override { return true; }  // every event counts once, as in yrt-pet's own list-mode files
  bool hasTOF() const override { return true; }
  // ToF is a difference of times there, positive towards the second end too.
  float getTOFValue(yrt::bin_t i) const override { return 2 * events_.tof_mm[i] / light_mm_per_ps; }
  bool hasArbitraryLORs() const override { return true; }
  yrt::Line3D getArbitraryLOR(yrt::bin_t i) const override {
    const auto& at = events_.ends;
    return {{at[0][i], at[1][i], at[2][i]}, {at[3][i], at[4][i], at[5][i]}};
  }
  yrt::det_id_t getDetector1(yrt::bin_t) const override { return 0; }
  yrt::det_id_t getDetector2(yrt::bin_t) const override { return 1; }

 private:
  tofstream_peer_events events_;
};

struct Tof {
  float fwhm_ps;
  int cut_sigmas;
};

// The part of yrt-pet's OSEM that takes a batch from the forward projection to the update's back projection.
class EmStep : public yrt::OSEM_GPU {
 public:
  EmStep(const yrt::Scanner& scanner, const yrt::ImageParams& image, const Lines& lines, Tof tof)
      : OSEM_GPU(scanner), in_(image), out_(image), sensitivity_(image) {
    num_OSEM_subsets = 1;
    setDataInput(&lines);
    setProjector(yrt::ProjectorType::SIDDON);
    setNumRays(1);
    addTOF(tof.fwhm_ps, tof.cut_sigmas);
    sensitivity_.allocate();
    sensitivity_.fill(1.0f);
    setSensitivityImage(&sensitivity_);
    m_binIterators.push_back(lines.getBinIter(1, 0));
    setupProjectorForRecon();
    prepareBuffersForRecon();
    if (getNumBatchesInSubset(0) != 1) throw std::runtime_error("the events do not fit the device in one batch");
    precomputeBatchPropsForRecon(0, 0);
    loadPrecomputedBatchPropsToDevice(0, 0, {getMainStream(), true});
    mp_binLoader.reset();  // the copy on the host
  }
  void run(const float* image, float* sum) {
    in_.setDevicePointer(const_cast<float*>(image));
    out_.setDevicePointer(sum);
    computeEMUpdateImageForLoadedBatch(0, 0, {nullptr, false});
  }

 protected:
  yrt::ImageBase* getMLEMImageBuffer() override { return &in_; }
  yrt::ImageBase* getEMUpdateImageBuffer() override { return &out_; }

 private:
  yrt::ImageDeviceAlias in_, out_;
  yrt::ImageOwned sensitivity_;
};

yrt::ImageParams image_params(const tofstream_peer_grid& grid) {
  float length[3], offset[3];
  for (int axis = 0; axis < 3; ++axis) {
    length[axis] = static_cast<float>(grid.size[axis]) * grid.voxel_mm[axis];
    offset[axis] = grid.origin_mm[axis] + 0.5f * static_cast<float>(grid.size[axis] - 1) * grid.voxel_mm[axis];
  }
  return {grid.size[0], grid.size[1], grid.size[2], length[0], length[1], length[2], offset[0], offset[1], offset[2]};
}

std::size_t free_device_memory() {
  std::size_t free = 0, total = 0;
  if (const cudaError_t error = cudaMemGetInfo(&free, &total); error != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(error));
  return free;
}

class Projectors {
 public:
  Projectors(const tofstream_peer_grid& grid, const tofstream_peer_events& events)
      : scanner_("lines", 100, 4, 4, 20, 400, 16, 2, 1, 1, 1, 1),  // asked for, but lines do not depend on it
        lines_(scanner_, events),
        tof_{2 * std::sqrt(2 * std::log(2.0f)) * events.sigma_mm * 2 / light_mm_per_ps,
             static_cast<int>(std::lround(events.cut_sigmas))},
        image_(image_params(grid)),
        operator_(projector_params(), nullptr, {}, nullptr, nullptr, free_device_memory()),
        list_(scanner_, &lines_, {}, {yrt::ProjectionPropertyType::LOR, yrt::ProjectionPropertyType::TOF},
              free_device_memory() / 2),
        em_step_(scanner_, image_.getParams(), lines_, tof_) {
    if (list_.getNumBatches(0) != 1) throw std::runtime_error("the events do not fit the device in one batch");
    list_.prepareBatchLORs(0, 0, {nullptr, true});
  }
  void forward(const float* image, float* expectation) {
    image_.setDevicePointer(const_cast<float*>(image));
    list_.setProjValuesDevicePointer(expectation);
    operator_.applyA(&image_, &list_, false);
  }
  void back(const float* values, float* image) {
    image_.setDevicePointer(image);
    list_.setProjValuesDevicePointer(const_cast<float*>(values));
    operator_.applyAH(&list_, &image_, false);
  }
  void em_step(const float* image, float* sum) { em_step_.run(image, sum); }

 private:
  yrt::ProjectorParams projector_params() const {
    yrt::ProjectorParams params(scanner_);
    params.setProjector(yrt::ProjectorType::SIDDON);
    params.addTOF(tof_.fwhm_ps, tof_.cut_sigmas);
    return params;
  }

  yrt::Scanner scanner_;
  Lines lines_;
  Tof tof_;
  yrt::ImageDeviceAlias image_;
  yrt::OperatorProjectorSiddon_GPU operator_;
  yrt::ProjectionListDeviceAlias list_;
  EmStep em_step_;
};

std::optional<Projectors> projectors;

// Runs what yrt-pet may throw in; null, or what went wrong.
template <class Work>
const char* attempt(const Work& work) {
  static std::string error;
  const Quiet quiet;
  try {
    work();
    if (const cudaError_t code = cudaGetLastError(); code != cudaSuccess)
      throw std::runtime_error(cudaGetErrorString(code));
    return nullptr;
  } catch (const std::exception& exception) {
    error = exception.what();
    return error.c_str();
  }
}

const char* prepare(const tofstream_peer_grid* grid, const tofstream_peer_events* events) {
  return attempt([&] {
    projectors.reset();
    projectors.emplace(*grid, *events);
  });
}

const char* forward(const float* image, float* expectation) {
  return attempt([&] { projectors.value().forward(image, expectation); });
}

const char* back(const float* values, float* image) {
  return attempt([&] { projectors.value().back(values, image); });
}

const char* em_step(const float* image, float* sum) {
  return attempt([&] { projectors.value().em_step(image, sum); });
}

}  // namespace

extern "C" const tofstream_peer* tofstream_peer_get(void) {
  static const std::string version = yrt::version::getVersionString();
  static const tofstream_peer peer{
      TOFSTREAM_PEER_INTERFACE, 1, "yrt-pet", version.c_str(), prepare, forward, back, em_step};
  return &peer;
}
// SPDX-License-Identifier: Apache-2.0
