// The table of projectors: see projector_kinds.hpp.
#include "gadgets/step/projector_kinds.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/gadget/registry.hpp"

namespace tofstream {
namespace {

std::vector<ProjectorKind>& table() {
  static std::vector<ProjectorKind> kinds;
  return kinds;
}

}  // namespace

const std::vector<ProjectorKind>& projector_kinds() {
  return table();
}

const ProjectorKind* find_projector_kind(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &ProjectorKind::name);
  return found == table().end() ? nullptr : &*found;
}

ProjectorRegistration::ProjectorRegistration(const ProjectorKind& kind, std::uint64_t layout) {
  if (layout != projector_kind_layout) {
    registry().add(refused_for_its_layout("its projector"));
    return;
  }
  const auto add = [kind] {
    const auto place = std::ranges::lower_bound(table(), kind.name, {}, &ProjectorKind::name);
    table().insert(place, kind);
  };
  const auto problem = [name = kind.name] {
    return find_projector_kind(name) ? fmt::format("two projectors are named '{}': rename one", name) : std::string();
  };
  registry().add(Extension{problem, add});
}

}  // namespace tofstream
