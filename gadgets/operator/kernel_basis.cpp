// Kernelised EM: what is updated are coefficients alpha, and the image is K alpha, with K from an anatomical image.
#include "kernels/kernel_basis/kernel_basis.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/memory_images.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/operator/image_operator_gadget.hpp"
#include "kernels/grid/sample_image.hpp"

namespace tofstream {
namespace {

class KernelBasisType {
 public:
  struct Params {
    std::filesystem::path anatomy;
    int neighbours = 48;
    int window = 7;
    int patch = 1;
    double sigma = 1;
    KernelBasisSettings settings() const { return {neighbours, window, patch, sigma}; }
  };
  static constexpr auto params = describe(
      param<&Params::anatomy>("anatomy", required, reads_file,
                              "NIfTI of the anatomy, on any grid that covers the image"),
      param<&Params::neighbours>("neighbours", range(1, 3375),
                                 "So many voxels of the window, those most alike in the anatomy, make a voxel of the "
                                 "image, itself included"),
      param<&Params::window>("window", range(1, 15), "Edge of the cube in which they are sought, in voxels; odd"),
      param<&Params::patch>(
          "patch", range(1, 7),
          "Voxels are compared by cubes of this edge around them; odd. More than 1 for a noisy anatomy"),
      param<&Params::sigma>("sigma", range(1e-6, 1e6),
                            "Of the Gaussian weights, in standard deviations of the anatomical image: smaller keeps "
                            "voxels apart that differ less"));
  static constexpr const char* name = "kernel_basis";
  static constexpr bool is_basis = true;
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    // A column and a weight of each entry, of K and of its transpose.
    const std::size_t entries = memory_product(static_cast<std::size_t>(p.neighbours), inputs[0] / sizeof(float));
    MemoryNeed need = operator_memory(inputs, "with the matrix and its transpose");
    need.host_bytes = memory_sum(need.host_bytes, memory_product(entries, 16));
    return need;
  }

  explicit KernelBasisType(const Params& p) : p_(p), anatomy_(read(p.anatomy)) {}

  std::shared_ptr<const ImageOperator> make(const Grid& grid, Backend backend, Context& context) const try {
    auto basis = std::make_shared<const SparseOperator>(
        grid, kernel_basis_rows(sampled_on(grid, anatomy_), p_.settings()), backend);
    context.report("matrix_mib", static_cast<double>(basis->bytes()) / 1048576.0);
    return basis;
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", p_.anatomy.string(), error.what()));
  }

  std::string words() const {
    return fmt::format("made of kernel coefficients by {} (kernel_basis)", p_.anatomy.filename().string());
  }

 private:
  static Image read(const std::filesystem::path& path) {
    if (const Image* given = find_memory_image(path)) return *given;
    require_readable(path);
    return read_nifti(path);
  }

  Params p_;
  Image anatomy_;
};

using KernelBasisGadget = ImageOperatorGadget<KernelBasisType>;
TOFSTREAM_GADGET(
    KernelBasisGadget, "kernel_basis",
    "Makes the image of coefficients that are updated, by likeness in an anatomical image (kernelised EM)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
