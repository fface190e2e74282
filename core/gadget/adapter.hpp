// Wraps an author's gadget in the interface that the engine calls, and describes it for the
// registry. Authors include core/gadget.hpp instead.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/gadget/registry.hpp"
#include "core/gadget/signature.hpp"

namespace tofstream::detail {

// An input as the gadget's function takes it: by value (moved if it is the only reader),
// const reference, shared pointer, or the struct of several.
template <class A>
decltype(auto) take_input(std::span<Payload> inputs) {
  using T = std::remove_cvref_t<A>;
  if constexpr (ManyInputs<T>) {
    return [&]<auto... Members>(const Ports<Members...>&) {
      T all{};
      std::size_t index = 0;
      ((all.*Members =
            std::static_pointer_cast<const typename PortMember<Members>::Payload>(std::move(inputs[index++].data))),
       ...);
      return all;
    }
    (T::inputs);
  } else if constexpr (is_shared<T>) {
    return std::static_pointer_cast<const payload_t<T>>(inputs[0].data);
  } else if constexpr (std::is_lvalue_reference_v<A>) {
    return *static_cast<const T*>(inputs[0].data.get());
  } else {
    // Core made a movable object itself, and not const.
    if (inputs[0].movable) return T(std::move(*static_cast<T*>(const_cast<void*>(inputs[0].data.get()))));
    return T(*static_cast<const T*>(inputs[0].data.get()));
  }
}

template <class G>
class Adapter final : public GadgetInstance {
  using Params = params_t<G>;
  using Out = std::conditional_t<std::is_void_v<output_t<G>>, char, output_t<G>>;

 public:
  Adapter(const char* use, std::shared_ptr<const void> params, Context& context)
      : use_(use), made_from_(std::move(params)), gadget_(construct(of(made_from_.get()), context)) {}

  void start(EmitTarget& target, Context& context, const void* params) override {
    if constexpr (HasStart<G>) call(&G::start, {}, target, {}, context, of(params));
  }

  void process(std::span<Payload> inputs, EmitTarget& target, Context& context, const void* params) override {
    if (holds_announcement(inputs)) return pass_on(inputs, target);
    if constexpr (HasProcess<G>) call(&G::process, inputs, target, {}, context, of(params));
    if constexpr (HasCall<G>) call_pure(inputs, target, context, of(params));
  }

  void flush(EmitTarget& target, Context& context, const void* params) override {
    if constexpr (HasFlush<G>) call(&G::flush, {}, target, {}, context, of(params));
  }

  bool idle(EmitTarget& target, Context& context, const void* params) override {
    if constexpr (HasIdle<G>)
      return call(&G::idle, {}, target, {}, context, of(params));
    else
      return false;
  }

  void run(EmitTarget& target, const std::stop_token& stop, Context& context, const void* params) override {
    if constexpr (HasRun<G>) call(&G::run, {}, target, stop, context, of(params));
  }

  void update(const void* params) override {
    if constexpr (HasUpdate<G>) gadget_.update(of(params));
  }

 private:
  // What a function of the gadget may ask for.
  struct Given {
    std::span<Payload> inputs;
    Emit<Out>& emit;
    const std::stop_token& stop;
    Context& context;
    const Params& params;
  };

  static const Params& of(const void* params) { return *static_cast<const Params*>(params); }

  static G construct(const Params& params, Context& context) {
    if constexpr (std::is_constructible_v<G, const Params&, Context&>)
      return G(params, context);
    else if constexpr (std::is_constructible_v<G, const Params&>)
      return G(params);
    else if constexpr (std::is_constructible_v<G, Context&>)
      return G(context);
    else
      return G();
  }

  template <class F>
  decltype(auto) call(F function, std::span<Payload> inputs, EmitTarget& target, const std::stop_token& stop,
                      Context& context, const Params& params) {
    Emit<Out> emit(target);
    return call_with(function, typename Signature<F>::Arguments{}, Given{inputs, emit, stop, context, params});
  }

  template <class F, class... A>
  decltype(auto) call_with(F function, Types<A...>, [[maybe_unused]] const Given& given) {
    return (gadget_.*function)(argument<A>(given)...);
  }

  template <class A>
  static decltype(auto) argument(const Given& given) {
    constexpr Role role = role_of<G, A>();
    if constexpr (role == Role::emit)
      return (given.emit);
    else if constexpr (role == Role::context)
      return (given.context);
    else if constexpr (role == Role::params)
      return (given.params);
    else if constexpr (role == Role::stop)
      return std::stop_token(given.stop);
    else
      return take_input<A>(given.inputs);
  }

  // "inner (tof_window)"
  std::string in_words(const Context& context) const {
    return context.name() == use_ ? context.name() : context.name() + " (" + use_ + ")";
  }

  // Tells a payload that a filter left some of its events out, if its type wants to know.
  template <class T>
  void tell_rejecting(T& out, std::uint64_t events_in, const Context& context) const {
    if constexpr (NotesRejecting<Out>) {
      if constexpr (is_shared<T>) {
        if (!out || out->event_count() >= events_in) return;
        Out copy = *out;
        copy.note_rejecting(in_words(context));
        out = std::make_shared<const Out>(std::move(copy));
      } else if (out.event_count() < events_in) {
        out.note_rejecting(in_words(context));
      }
    }
  }

  // Throws where one of several inputs is an announcement and the gadget does not expect it.
  static bool holds_announcement(std::span<Payload> inputs) {
    using In = input_t<G>;
    if constexpr (MayAnnounce<In>) {
      return static_cast<const In*>(inputs[0].data.get())->is_announcement();
    } else if constexpr (ManyInputs<In>) {
      if constexpr (!requires { In::takes_announcements; }) refuse_announcements(inputs, In::inputs);
    }
    return false;
  }

  template <auto... Members>
  static void refuse_announcements(std::span<Payload> inputs, const Ports<Members...>& ports) {
    std::size_t index = 0;
    const auto refuse = [&]<class T>(const char* port, std::type_identity<T>) {
      const void* data = inputs[index++].data.get();
      if constexpr (MayAnnounce<T>)
        if (data && static_cast<const T*>(data)->is_announcement())
          throw std::runtime_error(std::string("input ") + port + " only announces its " + payload_type<T>().name +
                                   " yet: the gadget's inputs do not say takes_announcements");
    };
    (refuse(std::get<Port<Members>>(ports.all).name, std::type_identity<typename PortMember<Members>::Payload>{}), ...);
  }

  static void pass_on(std::span<Payload> inputs, EmitTarget& target) {
    if constexpr (std::is_same_v<input_t<G>, Out>)
      Emit<Out>{target}(std::static_pointer_cast<const Out>(inputs[0].data));
  }

  // Books as rejected what a filter leaves out and does not book itself.
  void call_pure(std::span<Payload> inputs, EmitTarget& target, Context& context, const Params& params) {
    constexpr bool filters = std::is_same_v<input_t<G>, Out> && CountsEvents<Out>;
    std::uint64_t events_in = 0;
    if constexpr (filters) events_in = static_cast<const Out*>(inputs[0].data.get())->event_count();
    const std::uint64_t removed_before = context.books().removed();
    std::uint64_t events_out = 0;
    auto result = call(&G::operator(), inputs, target, {}, context, params);
    const auto send = [&](auto&& out) {
      if constexpr (filters) {
        if constexpr (is_shared<std::remove_cvref_t<decltype(out)>>)
          events_out = out ? out->event_count() : 0;
        else
          events_out = out.event_count();
        tell_rejecting(out, events_in, context);
      }
      Emit<Out>{target}(std::forward<decltype(out)>(out));
    };
    if constexpr (std::is_same_v<decltype(result), std::optional<Out>>) {
      if (result) send(std::move(*result));
    } else {
      send(std::move(result));
    }
    const std::uint64_t accounted = events_out + (context.books().removed() - removed_before);
    if (filters && events_in > accounted) context.books().rejected(events_in - accounted, context.name());
  }

  const char* const use_;                        // the gadget's name in the registry
  const std::shared_ptr<const void> made_from_;  // the gadget may have kept a reference
  G gadget_;
};

template <auto... Members>
std::vector<PortInfo> listed_ports(const Ports<Members...>& listed) {
  return {PortInfo{std::get<Port<Members>>(listed.all).name, &payload_type<typename PortMember<Members>::Payload>(),
                   std::get<Port<Members>>(listed.all).is_feedback,
                   std::get<Port<Members>>(listed.all).is_optional}...};
}

template <class G>
std::vector<PortInfo> input_ports() {
  using In = input_t<G>;
  if constexpr (std::is_void_v<In>)
    return {};
  else if constexpr (ManyInputs<In>)
    return listed_ports(In::inputs);
  else
    return {PortInfo{"in", &payload_type<In>(), false}};
}

template <class G>
std::vector<PortInfo> output_ports() {
  using Out = output_t<G>;
  if constexpr (std::is_void_v<Out>)
    return {};
  else if constexpr (ManyOutputs<Out>)
    return listed_ports(Out::outputs);
  else
    return {PortInfo{"out", &payload_type<Out>(), false}};
}

template <class G>
constexpr bool wants_own_thread() {
  if constexpr (HasRun<G>)
    return true;
  else
    return has_own_thread<G>();
}

// Whether each message taken becomes exactly one. A pure gadget's signature tells; a stateful gadget may say so by
// `static constexpr bool one_to_one = true`.
template <class G>
constexpr bool is_one_to_one() {
  if constexpr (MayAnnounce<input_t<G>> && !std::is_same_v<input_t<G>, output_t<G>>)
    return false;  // an announcement ends there
  else if constexpr (HasCall<G>)
    return !is_optional<std::remove_cvref_t<typename main_t<G>::Result>> && !ManyOutputs<output_t<G>>;
  else if constexpr (requires { G::one_to_one; })
    return G::one_to_one;
  else
    return false;
}

// The gadget's `memory`, which takes its parameters, the sizes of its inputs, both or none; null where there is none.
template <class G>
std::function<MemoryNeed(const void*, std::span<const std::size_t>)> memory_function() {
  using Params = params_t<G>;
  using Sizes = std::span<const std::size_t>;
  if constexpr (requires(const Params& p, Sizes inputs) { G::memory(p, inputs); })
    return [](const void* p, Sizes inputs) -> MemoryNeed { return G::memory(*static_cast<const Params*>(p), inputs); };
  else if constexpr (requires(const Params& p) { G::memory(p); })
    return [](const void* p, Sizes) -> MemoryNeed { return G::memory(*static_cast<const Params*>(p)); };
  else if constexpr (requires(Sizes inputs) { G::memory(inputs); })
    return [](const void*, Sizes inputs) -> MemoryNeed { return G::memory(inputs); };
  else if constexpr (requires { G::memory(); })
    return [](const void*, Sizes) -> MemoryNeed { return G::memory(); };
  else
    return nullptr;
}

}  // namespace tofstream::detail

namespace tofstream {

// The registry's description of gadget G. Does not compile, with one plain sentence, where G's
// signature is wrong.
template <class G>
GadgetInfo describe_gadget(const char* name, const char* doc) {
  GadgetInfo info;
  if constexpr (detail::check_gadget<G>()) {
    using Params = detail::params_t<G>;
    info.name = name;
    info.doc = doc;
    info.kind = detail::HasRun<G>                              ? GadgetKind::source
                : detail::HasCall<G>                           ? GadgetKind::pure
                : std::is_void_v<typename detail::output_t<G>> ? GadgetKind::sink
                                                               : GadgetKind::stateful;
    info.own_thread = detail::wants_own_thread<G>();
    info.has_start = detail::HasStart<G>;
    info.has_idle = detail::HasIdle<G>;
    info.gives_at_end = !std::is_void_v<detail::emitted_t<G, detail::flush_t<G>>>;
    info.one_to_one = detail::is_one_to_one<G>();
    if constexpr (requires { G::harmless; }) info.harmless = G::harmless;
    if constexpr (requires { G::stream_end; }) info.stream_end = G::stream_end;
    if constexpr (!std::is_same_v<Params, detail::NoParams>) info.params = detail::infos_from<Params>(G::params);
    info.inputs = detail::input_ports<G>();
    info.outputs = detail::output_ports<G>();
    info.default_params = [] { return std::static_pointer_cast<void>(std::make_shared<Params>()); };
    info.memory = detail::memory_function<G>();
    info.construct = [name](const std::shared_ptr<const void>& params, Context& context) {
      return std::unique_ptr<GadgetInstance>(std::make_unique<detail::Adapter<G>>(name, params, context));
    };
  }
  return info;
}

// Adds gadget G to the registry when the program or plug-in is loaded.
template <class G>
struct GadgetRegistration {
  GadgetRegistration(const char* name, const char* doc) { registry().add(describe_gadget<G>(name, doc)); }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
