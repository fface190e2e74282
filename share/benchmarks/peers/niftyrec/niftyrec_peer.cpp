// NiftyRec's rotation projector on a GPU, driven through its interface for C arrays as spect_peer.h asks. See README.md.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "../spect_peer.h"

// As its _et_array_interface.h declares them; that includes all headers of NiftyRec, which need its build's definitions.
// Sizes are x, y, z; a size of zeros: no such array. 0: success.
extern "C" {
int SPECT_project_parallelholes(float* activity, int* activity_size, float* sinogram, int* sinogram_size,
                                float* cameras, int* cameras_size, float* psf, int* psf_size, float* attenuation,
                                int* attenuation_size, float* background, float* background_attenuation, int* gpu,
                                int* truncate_negative_values);
int SPECT_backproject_parallelholes(float* sinogram, int* sinogram_size, float* image, int* image_size, float* cameras,
                                    int* cameras_size, float* psf, int* psf_size, float* attenuation,
                                    int* attenuation_size, float* background, float* background_attenuation, int* gpu,
                                    int* truncate_negative_values);
}

namespace {

#ifdef NIFTYREC_PEER_ON_CPU
constexpr int on_gpu = 0;
#else
constexpr int on_gpu = 1;
#endif

// In NiftyRec's order: images [y][z][x], as it turns them about its second axis and looks along the third; views
// [view][w][-u], since at angle 0 its columns run along x and the interface's against it. Its last plane is nearest to
// the camera. Angles are then the same.
class Scan {
 public:
  explicit Scan(const tofstream_spect_peer_scan& scan)
      : size_(scan.size),
        views_(scan.views),
        psf_size_(scan.psf_size),
        image_(volume(scan.size)),
        sinogram_(volume(scan.size) / static_cast<std::size_t>(scan.size) * static_cast<std::size_t>(scan.views)) {
    if (scan.size % 64 != 0)
      throw std::runtime_error("its convolution takes sizes that are multiples of 64, not " +
                               std::to_string(scan.size));
    for (int v = 0; v < views_; ++v)
      cameras_.push_back(static_cast<float>(static_cast<double>(scan.angles_deg[v]) * std::numbers::pi / 180));
    for (int plane = size_ - 1; plane >= 0; --plane)
      for (int w = 0; w < psf_size_; ++w)
        for (int u = psf_size_ - 1; u >= 0; --u) psf_.push_back(scan.psf[(plane * psf_size_ + w) * psf_size_ + u]);
  }

  void set_image(const float* image) {
    for_each_voxel([&](std::size_t ours, std::size_t theirs) { image_[theirs] = image[ours]; });
  }
  void get_image(float* image) const {
    for_each_voxel([&](std::size_t ours, std::size_t theirs) { image[ours] = image_[theirs]; });
  }
  void set_views(const float* views) {
    for_each_pixel([&](std::size_t ours, std::size_t theirs) { sinogram_[theirs] = views[ours]; });
  }
  void get_views(float* views) const {
    for_each_pixel([&](std::size_t ours, std::size_t theirs) { views[ours] = sinogram_[theirs]; });
  }
  void forward() {
    Call call(*this);
    check(SPECT_project_parallelholes(image_.data(), call.image, sinogram_.data(), call.sinogram, cameras_.data(),
                                      call.cameras, psf_.data(), call.psf, nullptr, call.none, &call.background,
                                      &call.background, &call.gpu, &call.truncate));
  }
  void back() {
    Call call(*this);
    check(SPECT_backproject_parallelholes(sinogram_.data(), call.sinogram, image_.data(), call.image, cameras_.data(),
                                          call.cameras, psf_.data(), call.psf, nullptr, call.none, &call.background,
                                          &call.background, &call.gpu, &call.truncate));
  }

 private:
  // What its functions take by pointers that are not const. Nothing is negative here that it could truncate.
  struct Call {
    explicit Call(const Scan& scan)
        : image{scan.size_, scan.size_, scan.size_},
          sinogram{scan.size_, scan.size_, scan.views_},
          cameras{scan.views_, 1},
          psf{scan.psf_size_, scan.psf_size_, scan.size_} {}
    int image[3], sinogram[3], cameras[2], psf[3], none[3] = {0, 0, 0};
    float background = 0;
    int gpu = on_gpu, truncate = 0;
  };

  static std::size_t volume(int size) {
    const auto edge = static_cast<std::size_t>(size);
    return edge * edge * edge;
  }
  static void check(int status) {
    if (status != 0) throw std::runtime_error("a projection failed with status " + std::to_string(status));
  }
  template <class Use>
  void for_each_voxel(const Use& use) const {
    const auto edge = static_cast<std::size_t>(size_);
    for (std::size_t z = 0; z < edge; ++z)
      for (std::size_t y = 0; y < edge; ++y)
        for (std::size_t x = 0; x < edge; ++x) use((z * edge + y) * edge + x, (y * edge + z) * edge + x);
  }
  template <class Use>
  void for_each_pixel(const Use& use) const {
    const auto edge = static_cast<std::size_t>(size_);
    for (std::size_t row = 0; row < static_cast<std::size_t>(views_) * edge; ++row)
      for (std::size_t u = 0; u < edge; ++u) use(row * edge + u, row * edge + edge - 1 - u);
  }

  int size_, views_, psf_size_;
  std::vector<float> cameras_, psf_, image_, sinogram_;
};

std::vector<Scan> scans;  // none or one

Scan& prepared() {
  if (scans.empty()) throw std::runtime_error("nothing is prepared");
  return scans.front();
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

const char* prepare(const tofstream_spect_peer_scan* scan) {
  return attempt([&] {
    scans.clear();
    scans.emplace_back(*scan);
  });
}
const char* set_image(const float* image) {
  return attempt([&] { prepared().set_image(image); });
}
const char* get_image(float* image) {
  return attempt([&] { prepared().get_image(image); });
}
const char* set_views(const float* views) {
  return attempt([&] { prepared().set_views(views); });
}
const char* get_views(float* views) {
  return attempt([&] { prepared().get_views(views); });
}
const char* forward() {
  return attempt([] { prepared().forward(); });
}
const char* back() {
  return attempt([] { prepared().back(); });
}

}  // namespace

extern "C" const tofstream_spect_peer* tofstream_spect_peer_get(void) {
  static const tofstream_spect_peer peer{TOFSTREAM_SPECT_PEER_INTERFACE,
                                         on_gpu,
                                         "NiftyRec",
                                         "3.1.0",
                                         prepare,
                                         set_image,
                                         get_image,
                                         set_views,
                                         get_views,
                                         forward,
                                         back};
  return &peer;
}
// SPDX-License-Identifier: Apache-2.0
