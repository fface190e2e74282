// The refusal of CUDA: see refuse.hpp.
#include "kernels/memory/refuse.hpp"

#include <stdexcept>

#include "kernels/memory/memory.hpp"

namespace tofstream {

void refuse_cuda() {
  require_cuda();
  throw std::logic_error("this part of tofstream was built without CUDA");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
