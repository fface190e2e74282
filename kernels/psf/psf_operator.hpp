// The resolution of a scanner as an operator on images: each voxel becomes a Gaussian whose widths are those of its
// radius and z. First along the axis, then in the transverse plane, where its axes point outwards from the scanner's
// axis and across.
#pragma once

#include <memory>

#include "kernels/operator/image_operator.hpp"
#include "kernels/psf/resolution_table.hpp"
#include "kernels/psf/tap_stage.hpp"

namespace tofstream {

/// Columns sum to 1: what a voxel has is kept, but for what leaves the image. The scanner's axis is x = y = 0.
/// Gaussians are cut at 3.5 sigma or beyond, and have the variance that the table says, to 2 % or 0.002 of a voxel's
/// edge squared. Between two z of the table a column is the mean of both Gaussians, weighted by distance, so its
/// variance is linear in z. The widths across the plane are those of the slice that a voxel's activity has been blurred
/// into.
class PsfOperator final : public ImageOperator {
 public:
  /// Throws std::invalid_argument for an invalid grid, for weights of more than 8 GiB, and on a GPU for widths that
  /// reach over some thirty voxels; std::runtime_error for a missing GPU.
  PsfOperator(const Grid& grid, const ResolutionTable& table, Backend backend);

  /// What the tables of weights take.
  std::size_t bytes() const { return axial_.bytes() + transverse_.bytes(); }

 private:
  // Weights of one stage, in the backend's memory.
  struct Stage {
    Buffer<Tap> offsets;
    Buffer<float> weights;
    Buffer<int> lower;
    Buffer<float> part;
    Tap reach{};
    int profiles = 1;
    TapStage view(const Grid& grid) const;
    std::size_t bytes() const { return offsets.bytes() + weights.bytes() + lower.bytes() + part.bytes(); }
    void bring_to(Memory memory);
  };

  static Stage axial_stage(const Grid& grid, const ResolutionTable& table);
  static Stage transverse_stage(const Grid& grid, const ResolutionTable& table);
  static void mix_slices(const Grid& grid, const ResolutionTable& table, Stage& stage);

  Image forward_of(const Image& x) const override;
  Image adjoint_of(const Image& y) const override;
  Image through(const Stage& stage, const Image& from, bool is_adjoint) const;

  Stage axial_, transverse_;
};

namespace detail {
/// Throws std::invalid_argument for a stage whose taps reach farther than this GPU's shared memory allows.
void require_shared_memory(const TapStage& stage);
/// One stage or its adjoint. Device pointers, queued on the stream.
void tap_stage_cuda(const TapStage& stage, bool is_adjoint, const float* from, float* to, Stream stream);
}  // namespace detail

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
