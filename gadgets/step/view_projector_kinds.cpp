// The table of projectors of views: see view_projector_kinds.hpp.
#include "gadgets/step/view_projector_kinds.hpp"

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<ViewProjectorKind>& table_of<ViewProjectorKind>();
template struct KindRegistration<ViewProjectorKind>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
