// List-mode projectors by name. A family registers each by TOFSTREAM_PROJECTOR, which makes the gadget for pipelines
// and an entry here, for callers that have parameters as values and want the projector alone.
#pragma once

#include <memory>
#include <utility>

#include "gadgets/step/list_mode_model.hpp"
#include "gadgets/step/projector_gadget.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// What list mode asks of a projector (see ProjectorGadget):
///   Params::tof and Params::deterministic, where it has them;
///   static ListModeSensitivity sensitivity(const Params&, const Scanner&, const ProjectorRanks&, Context&);
struct ListModeData {
  struct More {
    /// The sensitivity, from the Type's Params.
    ListModeSensitivity (*sensitivity)(const void* params, const Scanner& scanner, const ProjectorRanks& projectors,
                                       Context& context) = nullptr;
    /// Whether these Params use the events' ToF.
    bool (*uses_tof)(const void* params) = nullptr;
  };
  template <class Type>
  static More more() {
    return {[](const void* params, const Scanner& scanner, const ProjectorRanks& projectors, Context& context) {
              return Type::sensitivity(*static_cast<const typename Type::Params*>(params), scanner, projectors,
                                       context);
            },
            [](const void* params) { return uses_tof<Type>(*static_cast<const typename Type::Params*>(params)); }};
  }

  using Projector = ListModeProjector;
  using Geometry = Scanner;
  using View = EventView;
  using Inputs = ProjectorInputs;
  using Step = ListModeStep;
  static constexpr KindWords called = {"projector", "projectors", "name"};
  static constexpr auto* memory_note = "";

  template <class Type>
  static bool uses_tof(const typename Type::Params& p) {
    if constexpr (requires { p.tof; }) return p.tof;
    return true;
  }
  static const EventSubset& data_of(const ProjectorInputs& inputs) { return *inputs.events; }
  template <class Type>
  static std::unique_ptr<SystemModel<EventBatch>> model(const typename Type::Params& p) {
    ListModeSettings settings{.backend = p.backend};
    settings.tof = uses_tof<Type>(p);
    settings.projector = [p](const Grid& grid, Backend backend, const Scanner& scanner, Context& context) {
      return Type::make(p, grid, backend, scanner, context);
    };
    settings.sensitivity = [p](const Scanner& scanner, const ProjectorRanks& projectors, Context& context) {
      return Type::sensitivity(p, scanner, projectors, context);
    };
    return list_mode_model(std::move(settings));
  }
};

using ProjectorKind = ProjectorEntry<ListModeData>;
extern template KindTable<ProjectorKind>& table_of<ProjectorKind>();
extern template struct KindRegistration<ProjectorKind>;

template <class Type>
using ListModeGadget = ProjectorGadget<ListModeData, Type>;

}  // namespace tofstream

// Registers the projector `Type` and its gadget as `use: name`. Once, at namespace scope of a source file.
#define TOFSTREAM_PROJECTOR(Type, name, doc)                                                                       \
  TOFSTREAM_KIND(::tofstream::ProjectorKind, ::tofstream::projector_entry<::tofstream::ListModeData, Type>(name)); \
  TOFSTREAM_GADGET(::tofstream::ListModeGadget<Type>, name, doc)
// SPDX-License-Identifier: Apache-2.0
