// How far an update has moved an image, relative to where it was: by this one sees that an algorithm has come to rest.
#pragma once

#include "kernels/types/image.hpp"

namespace tofstream {

/// |after - before| / |before|, Euclidean norms over all voxels, summed in double precision; complete on return. The
/// same images give the same bits, on any number of threads. 0 where nothing changes; infinite where `before` is 0 and
/// `after` is not. Throws std::invalid_argument for grids or memories that differ.
double relative_change(const Image& before, const Image& after, Stream stream = nullptr);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
