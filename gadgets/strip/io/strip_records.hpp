// Events of two strips as records on the wire: z_u, z_d and dl in mm, three arrays of float32 (share/doc/wire.md).
#pragma once

#include "gadgets/io/wire/frame.hpp"

namespace tofstream::wire {

inline constexpr Schema strip_coincidences{4};

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
