// The reference page of gadgets as Markdown, from the same declarations as everything else that describes them.
#pragma once
#include <span>
#include <string>

#include "core/gadget/registry.hpp"

namespace tofstream {

// The runtime's keys, then every gadget. A gadget named in `with_example` has a link to its example.
std::string reference_markdown(std::span<const GadgetInfo* const> gadgets, std::span<const std::string> with_example);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
