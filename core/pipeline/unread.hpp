// Gadgets that work for nobody.
#pragma once

#include <vector>

#include "core/pipeline/pipeline.hpp"

namespace tofstream {

/// A warning for each gadget that has outputs of which no gadget reads any: what it gives is thrown away. Not for a source,
/// which may keep a journal.
std::vector<Problem> unread_gadgets(const Pipeline& pipeline);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
