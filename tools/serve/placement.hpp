// Where a run goes, of several places: a pure function.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "tools/serve/health.hpp"

namespace tofstream::serve {

/// The memory that a run needs at least, in bytes. 0 before it is known.
struct Need {
  std::size_t memory = 0, gpu = 0;
};

/// Whether a run would begin there at once.
bool has_room(const Place& place, const Need& need);

/// The number of the place for a run, of those that take runs and are `open` to it. Where several would begin it at
/// once, the one with the smallest share of its runs taken; of equal ones, that with most GPU memory free, then most
/// host memory, then the first. Where none would, the one with the fewest clients waiting for each of its runs, with
/// the same ties. None if no place takes it.
std::optional<std::size_t> choose_place(std::span<const Place> places, const Need& need,
                                        const std::function<bool(std::size_t)>& open);

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
