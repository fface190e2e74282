// Makes voxels of blobs, for gadgets that read estimates as voxels: writers, filters, scripts.
#include "kernels/blob/blob_to_voxels.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {
namespace {

struct BlobToVoxelsGadget {
  struct Params {
    std::optional<std::array<float, 3>> voxel_mm;
    std::vector<int> size;
    Every every = Every::update;
  };
  static constexpr auto params = describe(
      param<&Params::voxel_mm>("voxel_mm", one_for_all, range(1e-3, 1e3), unit("mm"),
                               "Edges of a voxel; none: half the edge of the blobs' lattices"),
      param<&Params::size>("size", range(1, 4096),
                           "Voxels along x, y and z about the image's centre; none: as many as hold all blobs"),
      param<&Params::every>("every", "Sample every estimate, only those that end an iteration, or only the final one"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;

  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    std::size_t bytes = sizeof(float);
    for (const int n : p.size) bytes *= static_cast<std::size_t>(n);
    return {.message_bytes = p.size.empty() ? inputs[0] : bytes,
            .lies_with_inputs = true,
            .lower = "size",
            .note = "without `size` as many voxels as hold all blobs"};
  }

  explicit BlobToVoxelsGadget(const Params& p) : p_(p) {
    if (!p.size.empty() && p.size.size() != 3)
      throw std::invalid_argument(fmt::format("size needs three numbers, not {}", p.size.size()));
  }

  void process(std::shared_ptr<const Estimate> estimate, Emit<Estimate>& emit) {
    last_ = std::move(estimate);
    // The start image is sampled too, so that readers can report errors at once.
    if (last_->step.iteration == 0 || is_due(*last_, p_.every)) sample(emit);
  }

  void flush(Emit<Estimate>& emit) {
    if (last_) sample(emit);
  }

 private:
  void sample(Emit<Estimate>& emit) {
    const Image& blobs = *last_->image;
    if (!sample_)
      sample_.emplace(blobs.grid, voxels_of(blobs.grid), on_host(blobs.voxels.memory()) ? Backend::cpu : Backend::cuda);
    emit(last_->with(std::make_shared<const Image>((*sample_)(blobs))));
    last_.reset();
  }

  Grid voxels_of(const Grid& blobs) const {
    const Vec3 voxel =
        p_.voxel_mm ? Vec3{(*p_.voxel_mm)[0], (*p_.voxel_mm)[1], (*p_.voxel_mm)[2]} : 0.5f * blobs.voxel_mm;
    Grid grid = covering_voxels(blobs, voxel);
    if (p_.size.empty()) return grid;
    for (std::size_t k = 0; k < 3; ++k) {
      const int axis = static_cast<int>(k);
      const float moved = 0.5f * static_cast<float>(grid.size[axis] - p_.size[k]) * voxel[axis];
      grid.origin_mm.set(axis, grid.origin_mm[axis] + moved);
      grid.size[axis] = p_.size[k];
    }
    return grid;
  }

  Params p_;
  std::shared_ptr<const Estimate> last_;  // not yet sampled
  std::optional<BlobToVoxels> sample_;
};

TOFSTREAM_GADGET(BlobToVoxelsGadget, "blob_to_voxels", "Samples an image of blobs at the centres of voxels");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
