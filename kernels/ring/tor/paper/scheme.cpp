// Checks of Cui et al.'s scheme: see scheme.hpp.
#include "kernels/ring/tor/paper/scheme.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

void validate(const PaperScheme& scheme) {
  if (scheme.threads < 32 || scheme.threads > 1024 || scheme.threads % 32 != 0)
    throw std::invalid_argument(
        fmt::format("the paper's scheme takes blocks of 32, 64, ... 1024 threads, not {}", scheme.threads));
  if (scheme.blocks < 0 || scheme.shared_bytes < 0)
    throw std::invalid_argument(fmt::format(
        "the paper's scheme cannot run {} blocks with {} bytes of shared memory: give 0 for what the GPU has",
        scheme.blocks, scheme.shared_bytes));
  if (scheme.sort && !scheme.partition)
    throw std::invalid_argument(
        "the paper's scheme sorts within a direction: switch the partition on, or the sort off");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
