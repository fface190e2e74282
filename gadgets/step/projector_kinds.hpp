// List-mode projectors by name. A family registers each by TOFSTREAM_PROJECTOR, which makes the gadget for pipelines
// and an entry here, for callers that have parameters as values and want the projector alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/gadget.hpp"
#include "core/plugin/kind_table.hpp"
#include "gadgets/step/list_mode_model.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// A projector with its parameters' type erased.
struct ProjectorKind {
  std::string name;  // as the gadget's
  std::vector<ParamInfo> params;
  std::shared_ptr<void> (*default_params)() = nullptr;
  /// `params` is of the type that default_params() gives. Reports to the context what the projector chooses itself.
  /// Throws std::invalid_argument for parameters, a grid or a scanner that it cannot have, std::runtime_error for a
  /// missing GPU.
  std::unique_ptr<ListModeProjector> (*make)(const void* params, const Grid& grid, Backend backend,
                                             const Scanner& scanner, Context& context) = nullptr;

  static constexpr KindWords called = {"projector", "projectors", "name"};
  const std::string& id() const { return name; }
  std::string problem() const;
};

extern template KindTable<ProjectorKind>& table_of<ProjectorKind>();
extern template struct KindRegistration<ProjectorKind>;

/// The gadget of a projector. `Type` has
///   Params, described by `params`, with `backend`, `log_likelihood` and, where it has them, `tof`, `deterministic`;
///   static std::unique_ptr<ListModeProjector> make(const Params&, const Grid&, Backend, const Scanner&, Context&);
///   static ListModeSensitivity sensitivity(const Params&, const Scanner&, ListModeProjector&, Context&);
///   static std::size_t bytes_held(const Params&, std::size_t image);  see step_memory(); `image`: bytes of one
/// and may have
///   static void check(const Params&);               throws where no scanner and no image could make sense of it
///   static std::int64_t planned_from(const Params&);  see StepSettings
template <class Type>
class ListModeGadget {
 public:
  using Params = typename Type::Params;
  static constexpr auto params = Type::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    return step_memory(p.backend, Type::bytes_held(p, inputs[1]), inputs);
  }

  explicit ListModeGadget(const Params& p) : step_(step_settings(p), list_mode_model(model_settings(p))) {
    if constexpr (requires { Type::check(p); }) Type::check(p);
  }
  void process(ProjectorInputs inputs, Emit<Projected>& emit, Context& context) {
    emit(step_(*inputs.events, *inputs.image, context));
  }
  void flush() { step_.finish(); }

 private:
  static StepSettings step_settings(const Params& p) {
    StepSettings settings{.backend = p.backend, .log_likelihood = p.log_likelihood};
    if constexpr (requires { Type::planned_from(p); }) settings.planned_from = Type::planned_from(p);
    return settings;
  }
  static ListModeSettings model_settings(const Params& p) {
    ListModeSettings settings{.backend = p.backend};
    if constexpr (requires { p.tof; }) settings.tof = p.tof;
    settings.projector = [p](const Grid& grid, Backend backend, const Scanner& scanner, Context& context) {
      return Type::make(p, grid, backend, scanner, context);
    };
    settings.sensitivity = [p](const Scanner& scanner, ListModeProjector& projector, Context& context) {
      return Type::sensitivity(p, scanner, projector, context);
    };
    return settings;
  }

  ListModeStep step_;
};

template <class Type>
ProjectorKind projector_kind(const char* name) {
  return {.name = name,
          .params = detail::infos_from<typename Type::Params>(Type::params),
          .default_params = []() -> std::shared_ptr<void> { return std::make_shared<typename Type::Params>(); },
          .make =
              [](const void* params, const Grid& grid, Backend backend, const Scanner& scanner, Context& context) {
                return Type::make(*static_cast<const typename Type::Params*>(params), grid, backend, scanner, context);
              }};
}

}  // namespace tofstream

// Registers the projector `Type` and its gadget as `use: name`. Once, at namespace scope of a source file.
#define TOFSTREAM_PROJECTOR(Type, name, doc)                                           \
  TOFSTREAM_KIND(::tofstream::ProjectorKind, ::tofstream::projector_kind<Type>(name)); \
  TOFSTREAM_GADGET(::tofstream::ListModeGadget<Type>, name, doc)
// SPDX-License-Identifier: Apache-2.0
