// The table of projectors: see projector_kinds.hpp.
#include "gadgets/step/projector_kinds.hpp"

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<ProjectorKind>& table_of<ProjectorKind>();
template struct KindRegistration<ProjectorKind>;

std::string ProjectorKind::problem() const {
  if (!name.empty() && default_params && make) return "";
  return fmt::format("the projector '{}' lacks its name, default_params or make", name);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
