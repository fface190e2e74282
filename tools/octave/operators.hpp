// The operators that a session of Matlab or Octave holds, by number. A number is used once, so that what is left of a
// dropped operator is known as such.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tofstream.h>

namespace tofstream::octave {

std::uint64_t keep_operator(tof_operator* op);
/// Throws Refused where the operator was dropped, or made before the process forked.
tof_operator* operator_of(std::uint64_t identity);
/// Nothing happens where it was dropped before.
void drop_operator(std::uint64_t identity);
void drop_all_operators();
std::size_t count_operators();

}  // namespace tofstream::octave
// SPDX-License-Identifier: Apache-2.0
