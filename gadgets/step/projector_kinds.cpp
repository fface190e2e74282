// The table of projectors: see projector_kinds.hpp.
#include "gadgets/step/projector_kinds.hpp"

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<ProjectorKind>& table_of<ProjectorKind>();
template struct KindRegistration<ProjectorKind>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
