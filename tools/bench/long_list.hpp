// A list of random coincidences of a scanner, of any length, for `tofstream-bench longlist`: drawn in parallel, in
// batches of the size that a GPU projects at a time, in a given memory; also as a PETSIRD file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "kernels/ring/simulate/ring_scanner.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::command {

using Batches = std::vector<std::shared_ptr<const EventBatch>>;

/// `count` events whose lines cross the image; the same events in any memory. Throws OutOfMemory.
Batches draw_long_list(const std::shared_ptr<const Scanner>& scanner, const Grid& grid, std::int64_t count,
                       Memory memory);

/// The same events in another memory.
Batches copied(const Batches& batches, Memory memory);

std::int64_t count_of(const Batches& batches);

/// Writes events on the host as PETSIRD, at a rate of five million a second. Throws std::runtime_error.
void write_petsird(const RingScanner& ring, const Batches& batches, const std::filesystem::path& file);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
