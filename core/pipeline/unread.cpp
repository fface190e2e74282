// See unread.hpp.
#include "core/pipeline/unread.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tofstream {

std::vector<Problem> unread_gadgets(const Pipeline& pipeline) {
  std::vector<Problem> warnings;
  for (std::size_t k = 0; k < pipeline.gadgets.size(); ++k) {
    const PipelineGadget& gadget = pipeline.gadgets[k];
    const bool is_read = std::ranges::find(pipeline.edges, k, &PipelineEdge::from) != pipeline.edges.end();
    if (is_read || gadget.info->outputs.empty() || gadget.info->kind == GadgetKind::source) continue;
    warnings.push_back({gadget.where, fmt::format("no gadget reads what '{0}' ({1}) gives, so it is thrown away: write "
                                                  "'from: {0}' in the gadget that is to read it",
                                                  gadget.name, gadget.info->name)});
  }
  return warnings;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
