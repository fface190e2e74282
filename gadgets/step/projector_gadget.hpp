// What projectors of all kinds of data have in common: an entry in a table of names, for callers that have parameters as
// values and want the projector alone, and a gadget for pipelines. projector_kinds.hpp and view_projector_kinds.hpp say
// what belongs to list mode and to views.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "core/plugin/kind_table.hpp"
#include "gadgets/step/step.hpp"
#include "kernels/project/double_precision.hpp"

namespace tofstream {

/// A projector with its parameters' type erased. `Data`: what a family of projectors says of itself,
///   Projector  what they are;
///   Geometry   what one is made for, beside a grid;
///   More       what else callers may ask of one, made by more<Type>();
///   View       the data that they take;
///   called     what messages call them;
///   memory_note  what cannot be known of its memory before the run.
template <class Data>
struct ProjectorEntry {
  using Projector = typename Data::Projector;
  using Geometry = typename Data::Geometry;
  /// One object, as a projector and in double precision.
  struct Reference {
    std::shared_ptr<Projector> projector;
    std::shared_ptr<const DoublePrecision<typename Data::View>> in_double;
  };

  std::string name;  // as the gadget's
  std::vector<ParamInfo> params;
  std::shared_ptr<void> (*default_params)() = nullptr;
  /// `params` is of the type that default_params() gives. Reports to the context what the projector chooses itself.
  /// Throws std::invalid_argument for parameters, a grid or a geometry that it cannot have, std::runtime_error for a
  /// missing GPU.
  std::unique_ptr<Projector> (*make)(const void* params, const Grid& grid, Backend backend, const Geometry& geometry,
                                     Context& context) = nullptr;
  /// The same operator by its definition, in double precision on one thread of the CPU. Null where there is none.
  Reference (*make_reference)(const void* params, const Grid& grid, const Geometry& geometry,
                              Context& context) = nullptr;
  /// Throws, as making the gadget does, where no geometry and no image could make sense of the parameters; these are the
  /// gadget's. Null where nothing of that sort is wrong.
  void (*check_gadget)(const void* gadget_params) = nullptr;
  typename Data::More more = {};

  static constexpr KindWords called = Data::called;
  const std::string& id() const { return name; }
  std::string problem() const {
    if (!name.empty() && default_params && make) return "";
    return std::string("the ") + called.one + " '" + name + "' lacks its name, default_params or make";
  }
};

template <class Data, class Type>
class ProjectorGadget;

/// The entry of the projector `Type` (see ProjectorGadget).
template <class Data, class Type>
ProjectorEntry<Data> projector_entry(const char* name) {
  using Params = typename Type::Params;
  using Geometry = typename Data::Geometry;
  ProjectorEntry<Data> entry{
      .name = name,
      .params = detail::infos_from<Params>(Type::params),
      .default_params = []() -> std::shared_ptr<void> { return std::make_shared<Params>(); },
      .make =
          [](const void* params, const Grid& grid, Backend backend, const Geometry& geometry, Context& context) {
            return Type::make(*static_cast<const Params*>(params), grid, backend, geometry, context);
          },
      .more = Data::template more<Type>()};
  if constexpr (requires { &Type::make_reference; })
    entry.make_reference = [](const void* params, const Grid& grid, const Geometry& geometry, Context& context) {
      const std::shared_ptr made = Type::make_reference(*static_cast<const Params*>(params), grid, geometry, context);
      return typename ProjectorEntry<Data>::Reference{made, made};
    };
  if constexpr (requires { &Type::check; })
    entry.check_gadget = [](const void* params) {
      Type::check(*static_cast<const typename ProjectorGadget<Data, Type>::Params*>(params));
    };
  return entry;
}

/// The gadget of a projector, which several GPUs may share (division.hpp). `Type` has
///   Params, described by `params`, with `backend` and `log_likelihood`;
///   static std::unique_ptr<Projector> make(const Params&, const Grid&, Backend, const Geometry&, Context&);
///   static std::size_t bytes_held(const Params&, std::size_t image);  see step_memory(); `image`: bytes of one
/// what Data::model() asks for besides, and may have
///   static void check(const Params&);  throws where no geometry and no image could make sense of it
///   static std::unique_ptr<Reference> make_reference(const Params&, const Grid&, const Geometry&, Context&);
///     `Reference`: a Projector that is DoublePrecision too; see ProjectorEntry
///   static std::int64_t planned_from(const Params&);  see StepSettings
///   static std::size_t projector_bytes(const Params&, std::size_t image);  of bytes_held on a CPU, what each further
///     projector holds that shares the work
/// `Data` also has Inputs, which hold an `image`, and Step; data_of(inputs); and model<Type>(params).
template <class Data, class Type>
class ProjectorGadget {
 public:
  struct Params : Type::Params {
    int ranks = 1;
    int rank_parts = 0;
    Deal deal = Deal::equal;
  };
  static constexpr auto params =
      Type::params + describe(param<&Params::ranks>("ranks", not_in_key, range(0, 64), ranks_words),
                              param<&Params::rank_parts>("rank_parts", not_in_key, range(0, 64), rank_parts_words),
                              param<&Params::deal>("deal", not_in_key, deal_words));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    const std::size_t image = inputs[1];
    std::size_t another = Type::bytes_held(p, image);
    if constexpr (requires { Type::projector_bytes(p, image); }) another = Type::projector_bytes(p, image);
    const RankMemory of_ranks =
        memory_of_ranks({p.ranks, p.rank_parts}, is_deterministic(p), wants_cuda(p.backend), image, another);
    MemoryNeed need = step_memory(p.backend, Type::bytes_held(p, image), inputs);
    need.host_bytes = memory_sum(need.host_bytes, of_ranks.host_bytes);
    need.device_bytes = memory_sum(need.device_bytes, of_ranks.device_bytes);
    need.note = Data::memory_note;
    return need;
  }

  explicit ProjectorGadget(const Params& p) : step_(settings(p), Data::template model<Type>(p)) {
    if constexpr (requires { Type::check(p); }) Type::check(p);
  }
  void process(typename Data::Inputs inputs, Emit<Projected>& emit, Context& context) {
    emit(step_(Data::data_of(inputs), *inputs.image, inputs.additive.get(), context));
  }
  void flush() { step_.finish(); }

 private:
  static StepSettings settings(const Params& p) {
    StepSettings settings{.backend = p.backend,
                          .log_likelihood = p.log_likelihood,
                          .division = division_of({p.ranks, p.rank_parts, p.deal}, p.backend, is_deterministic(p))};
    if constexpr (requires { Type::planned_from(p); }) settings.planned_from = Type::planned_from(p);
    return settings;
  }
  static bool is_deterministic(const Params& p) {
    if constexpr (requires { p.deterministic; }) return p.deterministic;
    return false;
  }

  typename Data::Step step_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
