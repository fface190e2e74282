// A post-filter: what is written or shown is the image convolved with a Gaussian, and says so. The reconstruction goes on
// with the image as it was.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/write/estimate_writer.hpp"
#include "kernels/filter/gaussian_psf.hpp"

namespace tofstream {
namespace {

struct Smooth {
  struct Params {
    std::array<float, 3> post_filter_mm = {0, 0, 0};
    Every every = Every::update;
  };
  static constexpr auto params = describe(
      param<&Params::post_filter_mm>("post_filter_mm", one_for_all, range(0, 100), unit("mm"),
                                     "FWHM of the Gaussian along x, y and z; 0: the image as it is"),
      param<&Params::every>("every", "Smooth every estimate, only those that end an iteration, or only the final one"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  // One more image is the GPU's scratch; the CPU smooths in place.
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.message_bytes = inputs[0],
            .lies_with_inputs = true,
            .lower = "image.size",
            .note = "on a GPU one image more"};
  }

  explicit Smooth(const Params& p) : p_(p) {}

  void process(std::shared_ptr<const Estimate> estimate, Emit<Estimate>& emit, Context& context) {
    last_ = std::move(estimate);
    // The start image too, so that who reads on can get ready.
    if (!is_on(p_) || last_->step.iteration == 0 || is_due(*last_, p_.every)) pass_on(emit, context);
  }

  void flush(Emit<Estimate>& emit, Context& context) {
    if (last_) pass_on(emit, context);
  }

 private:
  static bool is_on(const Params& p) { return p.post_filter_mm != std::array<float, 3>{}; }

  void pass_on(Emit<Estimate>& emit, Context& context) {
    if (is_on(p_)) {
      Estimate estimate = smoothed(*last_);
      context.report(filtered_figure, words_of(estimate.filters));  // while it runs: a writer says it at its end
      emit(std::move(estimate));
    } else {
      emit(last_);
    }
    last_.reset();
  }

  Estimate smoothed(const Estimate& estimate) {
    const Image& image = *estimate.image;
    validate(image.grid);  // blobs are made voxels first
    if (!gaussian_)
      gaussian_.emplace(image.grid, Vec3{p_.post_filter_mm[0], p_.post_filter_mm[1], p_.post_filter_mm[2]},
                        on_host(image.voxels.memory()) ? Backend::cpu : Backend::cuda);
    auto made = std::make_shared<Image>(image.to(image.voxels.memory()));
    gaussian_->apply(*made);
    Estimate result = estimate.with(std::move(made));
    result.filters.push_back({p_.post_filter_mm});
    return result;
  }

  Params p_;
  std::shared_ptr<const Estimate> last_;  // where it has not been passed on yet
  std::optional<GaussianPsf> gaussian_;
};

TOFSTREAM_GADGET(Smooth, "smooth",
                 "Smooths the images that are written or shown by a Gaussian (post-filter); put it before the writers");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
