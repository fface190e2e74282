// Projectors of views by name, as projector_kinds.hpp has those of list mode. A family registers each by
// TOFSTREAM_VIEW_PROJECTOR, which makes the gadget for pipelines and an entry here.
#pragma once

#include <memory>

#include "gadgets/step/projector_gadget.hpp"
#include "gadgets/step/view_model.hpp"

namespace tofstream {

/// What views ask of a projector (see ProjectorGadget):
///   static Grid grid(const ViewSet&, const GridWish&);  which holds what the views see
///   static ViewCalibration calibration(const Params&);
struct ViewData {
  struct More {};
  template <class Type>
  static More more() {
    return {};
  }

  using Projector = ViewProjector;
  using Geometry = ViewSet;
  using View = Views;
  using Inputs = ViewProjectorInputs;
  using Step = ViewStep;
  static constexpr KindWords called = {"projector of views", "projectors of views", "name"};
  static constexpr auto* memory_note = "one image more for each subset, whose sensitivity is its own";

  static const ViewSubset& data_of(const ViewProjectorInputs& inputs) { return *inputs.views; }
  template <class Type>
  static std::unique_ptr<SystemModel<ViewBatch>> model(const typename Type::Params& p) {
    return view_model({.backend = p.backend,
                       .projector = [p](const Grid& grid, Backend backend, const ViewSet& views,
                                        Context& context) { return Type::make(p, grid, backend, views, context); },
                       .grid = [](const ViewSet& views, const GridWish& wish) { return Type::grid(views, wish); },
                       .calibration = [p] { return Type::calibration(p); }});
  }
};

using ViewProjectorKind = ProjectorEntry<ViewData>;
extern template KindTable<ViewProjectorKind>& table_of<ViewProjectorKind>();
extern template struct KindRegistration<ViewProjectorKind>;

template <class Type>
using ViewProjectorGadget = ProjectorGadget<ViewData, Type>;

}  // namespace tofstream

// Registers the projector of views `Type` and its gadget as `use: name`. Once, at namespace scope of a source file.
#define TOFSTREAM_VIEW_PROJECTOR(Type, name, doc)                                                                  \
  TOFSTREAM_KIND(::tofstream::ViewProjectorKind, ::tofstream::projector_entry<::tofstream::ViewData, Type>(name)); \
  TOFSTREAM_GADGET(::tofstream::ViewProjectorGadget<Type>, name, doc)
// SPDX-License-Identifier: Apache-2.0
