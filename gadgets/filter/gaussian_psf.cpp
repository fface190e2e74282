// Resolution modelling in image space: the estimate is blurred before projection, and the back projection by the
// adjoint.
#include "kernels/filter/gaussian_psf.hpp"

#include <array>
#include <memory>
#include <optional>
#include <span>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/per_image.hpp"

namespace tofstream {
namespace {

struct PsfParams {
  std::array<float, 3> psf_fwhm_mm = {4, 4, 4};
  static constexpr auto params = describe(
      param<&PsfParams::psf_fwhm_mm>("psf_fwhm_mm", range(0, 100), unit("mm"), "FWHM along x, y and z; 0: none"));
};

// A blurred copy of an image, in the image's own memory.
class Blur {
 public:
  explicit Blur(const PsfParams& p) : fwhm_{p.psf_fwhm_mm[0], p.psf_fwhm_mm[1], p.psf_fwhm_mm[2]} {}

  std::shared_ptr<const Image> operator()(const Image& image) {
    if (!psf_) psf_.emplace(image.grid, fwhm_, on_host(image.voxels.memory()) ? Backend::cpu : Backend::cuda);
    auto blurred = std::make_shared<Image>(image.to(image.voxels.memory()));
    psf_->apply(*blurred);
    return blurred;
  }

 private:
  Vec3 fwhm_;
  std::optional<GaussianPsf> psf_;
};

struct GaussianPsfGadget {
  using Params = PsfParams;
  static constexpr auto params = PsfParams::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  // The GPU needs one more image for scratch; the CPU blurs in place.
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {.message_bytes = inputs[0],
            .lower = "image.size",
            .note = "lies where its input does; on a GPU one image more"};
  }

  explicit GaussianPsfGadget(const Params& p) : blur_(p) {}
  void process(const Estimate& estimate, Emit<Estimate>& emit) { emit(estimate.with(blur_(*estimate.image))); }

 private:
  Blur blur_;
};

struct GaussianPsfAdjoint {
  using Params = PsfParams;
  static constexpr auto params = PsfParams::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  // The blurred sensitivity, and on a GPU two images of scratch.
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {.host_bytes = inputs[0],
            .message_bytes = inputs[0],
            .lower = "image.size",
            .note = "lies where its input does; on a GPU two images more"};
  }

  explicit GaussianPsfAdjoint(const Params& p) : blur_(p), blur_sensitivity_(p) {}

  void process(const Projected& projected, Emit<Projected>& emit) {
    Projected result = projected;
    result.back_projection = blur_(*projected.back_projection);
    result.sensitivity = blurred(projected.sensitivity);
    if (projected.support) result.support = blurred(projected.support);
    emit(std::move(result));
  }

 private:
  std::shared_ptr<const Image> blurred(const std::shared_ptr<const Image>& sharp) {
    return blurred_.of(sharp, [&] { return blur_sensitivity_(*sharp); });
  }

  Blur blur_, blur_sensitivity_;
  PerImage<std::shared_ptr<const Image>> blurred_;
};

TOFSTREAM_GADGET(GaussianPsfGadget, "gaussian_psf",
                 "Blurs the estimate by the scanner's resolution, before a projector");
TOFSTREAM_GADGET(GaussianPsfAdjoint, "gaussian_psf_adjoint",
                 "Blurs back projection and sensitivity by the same resolution, after the projector");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
