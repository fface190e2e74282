// The schema text of the versions of PETSIRD that we write, made from a table of our own: the
// standard's tools compare it byte for byte with theirs.
#pragma once

#include <string>

#include "gadgets/io/petsird/schema.hpp"

namespace tofstream::petsird {

/// The exact schema text of HEAD or v0.10.0. Throws Error for a version that we do not write.
std::string standard_schema_text(Version version);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
