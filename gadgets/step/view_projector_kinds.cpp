// The table of projectors of views: see view_projector_kinds.hpp.
#include "gadgets/step/view_projector_kinds.hpp"

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<ViewProjectorKind>& table_of<ViewProjectorKind>();
template struct KindRegistration<ViewProjectorKind>;

std::string ViewProjectorKind::problem() const {
  if (!name.empty() && default_params && make) return "";
  return fmt::format("the projector of views '{}' lacks its name, default_params or make", name);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
