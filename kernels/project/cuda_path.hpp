// How projectors of single events walk them on a GPU.
#pragma once

namespace tofstream {

/// In the EM step (`paper`: in all passes).
enum class CudaPath {
  automatic,  // by tiles where the events are many enough to repay the loading of tiles
  direct,     // each event on its own, by loads from and atomic additions to the image in global memory
  tiled,      // event by event of a tile of the image that lies in shared memory (project/tiled)
  paper,      // not Joseph's: slice by slice, as Cui et al. 2011 do (ring/tor/paper)
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
