// Resolution modelling in image space by a Gaussian of one width.
#include <array>
#include <memory>
#include <span>
#include <string>

#include <fmt/format.h>

#include "gadgets/operator/image_operator_gadget.hpp"
#include "kernels/operator/gaussian_operator.hpp"
#include "kernels/types/post_filter.hpp"

namespace tofstream {
namespace {

class GaussianPsfType {
 public:
  struct Params {
    std::array<float, 3> psf_fwhm_mm = {4, 4, 4};
  };
  static constexpr auto params =
      describe(param<&Params::psf_fwhm_mm>("psf_fwhm_mm", range(0, 100), unit("mm"), "FWHM along x, y and z; 0: none"));
  static constexpr const char* name = "gaussian_psf";
  static constexpr bool is_basis = false;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return operator_memory(inputs, "on a GPU one image more");
  }

  explicit GaussianPsfType(const Params& p) : p_(p) {}
  std::shared_ptr<const ImageOperator> make(const Grid& grid, Backend backend, Context&) const {
    const auto& fwhm = p_.psf_fwhm_mm;
    return std::make_shared<const GaussianOperator>(grid, Vec3{fwhm[0], fwhm[1], fwhm[2]}, backend);
  }
  std::string words() const { return words_of({{p_.psf_fwhm_mm}}) + " (gaussian_psf)"; }

 private:
  Params p_;
};

using GaussianPsfGadget = ImageOperatorGadget<GaussianPsfType>;
TOFSTREAM_GADGET(GaussianPsfGadget, "gaussian_psf",
                 "Models the scanner's resolution by a Gaussian, between the estimate and a projector");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
