// What a build without CUDA has in the place of a function that a .cu file defines. The .cpp file beside it says
//
//     #ifndef TOFSTREAM_HAVE_CUDA
//     void detail::blur_cuda(float*, const Grid&, Stream) {
//       refuse_cuda();
//     }
//     #endif
//
// so that callers are the same in both builds.
#pragma once

namespace tofstream {

/// Throws std::runtime_error that says why CUDA cannot be used, as require_cuda() does.
[[noreturn]] void refuse_cuda();

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
