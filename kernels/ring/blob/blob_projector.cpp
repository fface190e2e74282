// Projectors of blobs are TOR projectors on two lattices: see blob_projector.hpp.
#include "kernels/ring/blob/blob_projector.hpp"

#include <stdexcept>

#include "kernels/ring/tor/tor_backends.hpp"

namespace tofstream {

namespace {

TorSettings tor_settings(const Grid& grid, const BlobSettings& settings) {
  if (!grid.has_blobs())
    throw std::invalid_argument("the blob projector got an image of voxels: set image.basis: blobs, or use another");
  validate_basis(grid);
  return {.response = RadialResponse::kaiser_bessel(grid.blob.alpha, grid.blob.radius_mm),
          .tof_cut_sigma = settings.tof_cut_sigma,
          .cuda_path = settings.cuda_path,
          .deterministic = settings.deterministic};
}

}  // namespace

std::unique_ptr<ListModeProjector> make_blob_projector(const Grid& grid, const BlobSettings& settings,
                                                       Backend backend) {
  return tor::make_projector(grid, tor_settings(grid, settings), backend);
}

std::unique_ptr<ReferenceProjector> make_blob_reference(const Grid& grid, const BlobSettings& settings) {
  return tor::make_reference(grid, tor_settings(grid, settings));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
