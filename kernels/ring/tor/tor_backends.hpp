// The TOR projector's versions, for an image of voxels or of blobs, as make_tor_projector and make_blob_projector
// choose among them.
#pragma once

#include <memory>
#include <vector>

#include "kernels/ring/tor/tor_model.hpp"

namespace tofstream::tor {

/// A projector on a valid grid of either basis, with the response that suits it. Throws as make_tor_projector.
std::unique_ptr<ListModeProjector> make_projector(const Grid& grid, const TorSettings& settings, Backend backend);
std::unique_ptr<ReferenceProjector> make_reference(const Grid& grid, const TorSettings& settings);

/// `lattices`: what make_lattice_models makes of the grid.
std::unique_ptr<ListModeProjector> make_cpu(const Grid& grid, const std::vector<Model>& lattices,
                                            const RadialResponse& response, bool deterministic);
std::unique_ptr<ListModeProjector> make_cuda(const Grid& grid, const std::vector<Model>& lattices,
                                             const RadialResponse& response, CudaPath path, bool deterministic);
/// Cui et al.'s own scheme (paper/).
std::unique_ptr<ListModeProjector> make_paper(const Grid& grid, const TorSettings& settings);

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
