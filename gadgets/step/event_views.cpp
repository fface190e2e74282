// The table of views that events are laid down into: see event_views.hpp.
#include "gadgets/step/event_views.hpp"

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<EventViews>& table_of<EventViews>();
template struct KindRegistration<EventViews>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
