// The table of formats: see event_formats.hpp.
#include "gadgets/io/event_formats.hpp"

#include <fmt/format.h>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<EventFormat>& table_of<EventFormat>();
template struct KindRegistration<EventFormat>;

std::string EventFormat::problem() const {
  if (!name.empty() && ((holds && !read.empty()) || (!ending.empty() && !writer.empty()))) return "";
  return fmt::format("the format '{}' lacks its name, or both how it is read and how it is written", name);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
