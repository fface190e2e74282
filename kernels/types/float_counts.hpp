// Counts of views that are kept as whole numbers of 16 bits, as the floats that projectors take.
#pragma once

#include <cstdint>

#include "kernels/types/views.hpp"

namespace tofstream {

/// to[i] = counts[i], `count` of each in `memory`; queued on the stream.
void to_float_counts(const std::uint16_t* counts, std::int64_t count, float* to, Memory memory,
                     Stream stream = nullptr);
void to_float_counts_cuda(const std::uint16_t* counts, std::int64_t count, float* to, Stream stream);

/// The batch, with `counts` made of its whole_counts if it has these; complete on return.
ViewBatch with_float_counts(ViewBatch batch);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
