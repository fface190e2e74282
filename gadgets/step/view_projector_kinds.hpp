// Projectors of views by name, as projector_kinds.hpp has those of list mode. A family registers each by
// TOFSTREAM_VIEW_PROJECTOR, which makes the gadget for pipelines and an entry here.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/gadget.hpp"
#include "core/plugin/kind_table.hpp"
#include "gadgets/step/view_model.hpp"

namespace tofstream {

/// A projector of views with its parameters' type erased.
struct ViewProjectorKind {
  std::string name;  // as the gadget's
  std::vector<ParamInfo> params;
  std::shared_ptr<void> (*default_params)() = nullptr;
  /// `params` is of the type that default_params() gives. Reports to the context what the projector chooses itself.
  /// Throws std::invalid_argument for parameters, a grid or views that it cannot have, std::runtime_error for a missing
  /// GPU.
  std::unique_ptr<ViewProjector> (*make)(const void* params, const Grid& grid, Backend backend, const ViewSet& views,
                                         Context& context) = nullptr;

  static constexpr KindWords called = {"projector of views", "projectors of views", "name"};
  const std::string& id() const { return name; }
  std::string problem() const;
};

extern template KindTable<ViewProjectorKind>& table_of<ViewProjectorKind>();
extern template struct KindRegistration<ViewProjectorKind>;

/// The gadget of a projector of views. `Type` has
///   Params, described by `params`, with `backend` and `log_likelihood`;
///   static std::unique_ptr<ViewProjector> make(const Params&, const Grid&, Backend, const ViewSet&, Context&);
///   static Grid grid(const ViewSet&, const GridWish&);  that holds what the views see
///   static ViewCalibration calibration(const Params&);
///   static std::size_t bytes_held(const Params&, std::size_t image);  see step_memory(); `image`: bytes of one
/// and may have
///   static void check(const Params&);  throws where no camera and no image could make sense of it
template <class Type>
class ViewProjectorGadget {
 public:
  using Params = typename Type::Params;
  static constexpr auto params = Type::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    return step_memory(p.backend, Type::bytes_held(p, inputs[1]), inputs);
  }

  explicit ViewProjectorGadget(const Params& p)
      : step_({.backend = p.backend, .log_likelihood = p.log_likelihood}, view_model(model_settings(p))) {
    if constexpr (requires { Type::check(p); }) Type::check(p);
  }
  void process(ViewProjectorInputs inputs, Emit<Projected>& emit, Context& context) {
    emit(step_(*inputs.views, *inputs.image, context));
  }
  void flush() { step_.finish(); }

 private:
  static ViewModelSettings model_settings(const Params& p) {
    return {.backend = p.backend,
            .projector = [p](const Grid& grid, Backend backend, const ViewSet& views,
                             Context& context) { return Type::make(p, grid, backend, views, context); },
            .grid = [](const ViewSet& views, const GridWish& wish) { return Type::grid(views, wish); },
            .calibration = [p] { return Type::calibration(p); }};
  }

  ViewStep step_;
};

template <class Type>
ViewProjectorKind view_projector_kind(const char* name) {
  return {.name = name,
          .params = detail::infos_from<typename Type::Params>(Type::params),
          .default_params = []() -> std::shared_ptr<void> { return std::make_shared<typename Type::Params>(); },
          .make =
              [](const void* params, const Grid& grid, Backend backend, const ViewSet& views, Context& context) {
                return Type::make(*static_cast<const typename Type::Params*>(params), grid, backend, views, context);
              }};
}

}  // namespace tofstream

// Registers the projector of views `Type` and its gadget as `use: name`. Once, at namespace scope of a source file.
#define TOFSTREAM_VIEW_PROJECTOR(Type, name, doc)                                               \
  TOFSTREAM_KIND(::tofstream::ViewProjectorKind, ::tofstream::view_projector_kind<Type>(name)); \
  TOFSTREAM_GADGET(::tofstream::ViewProjectorGadget<Type>, name, doc)
// SPDX-License-Identifier: Apache-2.0
