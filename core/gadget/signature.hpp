// From a gadget's C++ signature to its ports: which member function it has, what that takes and
// gives, and what is wrong with it, in plain words. Authors include core/gadget.hpp instead.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>

#include "core/gadget/context.hpp"
#include "core/gadget/ports.hpp"

namespace tofstream::detail {

struct NoParams {};

template <class G>
struct ParamsOf {
  using Type = NoParams;
};
template <class G>
requires requires {
  typename G::Params;
}
struct ParamsOf<G> {
  using Type = typename G::Params;
};
template <class G>
using params_t = typename ParamsOf<G>::Type;

template <class... A>
struct Types {};

template <class F>
struct Signature;
template <>
struct Signature<std::nullptr_t> {  // the function is not there
  using Result = void;
  using Arguments = Types<>;
  static constexpr bool is_const = false;
};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...)> {
  using Result = R;
  using Arguments = Types<A...>;
  static constexpr bool is_const = false;
};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...) const> {
  using Result = R;
  using Arguments = Types<A...>;
  static constexpr bool is_const = true;
};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...) noexcept> : Signature<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (C::*)(A...) const> {};

template <class G>
concept HasCall = requires {
  &G::operator();
};
template <class G>
concept HasProcess = requires {
  &G::process;
};
template <class G>
concept HasRun = requires {
  &G::run;
};
template <class G>
concept HasFlush = requires {
  &G::flush;
};
template <class G>
concept HasStart = requires {
  &G::start;
};
template <class G>
concept HasIdle = requires {
  &G::idle;
};
template <class G>
concept HasUpdate = requires {
  &G::update;
};

template <class G>
constexpr auto main_function() {
  if constexpr (HasRun<G>)
    return &G::run;
  else if constexpr (HasProcess<G>)
    return &G::process;
  else if constexpr (HasCall<G>)
    return &G::operator();
  else
    return nullptr;
}
template <class G>
constexpr auto flush_function() {
  if constexpr (HasFlush<G>)
    return &G::flush;
  else
    return nullptr;
}
template <class G>
constexpr auto start_function() {
  if constexpr (HasStart<G>)
    return &G::start;
  else
    return nullptr;
}
template <class G>
constexpr auto idle_function() {
  if constexpr (HasIdle<G>)
    return &G::idle;
  else
    return nullptr;
}
template <class G>
using main_t = Signature<decltype(main_function<G>())>;
template <class G>
using flush_t = Signature<decltype(flush_function<G>())>;
template <class G>
using start_t = Signature<decltype(start_function<G>())>;
template <class G>
using idle_t = Signature<decltype(idle_function<G>())>;

template <class T>
struct EmitOf {
  using Type = void;
};
template <class Out>
struct EmitOf<Emit<Out>> {
  using Type = Out;
};

// What an argument of a gadget's function is for, told by its type.
enum class Role { input, emit, params, context, stop };
template <class G, class A>
constexpr Role role_of() {
  using T = std::remove_cvref_t<A>;
  if (!std::is_void_v<typename EmitOf<T>::Type>) return Role::emit;
  if (std::is_same_v<T, Context>) return Role::context;
  if (std::is_same_v<T, std::stop_token>) return Role::stop;
  if (std::is_same_v<T, params_t<G>>) return Role::params;
  return Role::input;
}

template <class G, class... A>
constexpr int count_role([[maybe_unused]] Role role, Types<A...>) {
  return (0 + ... + (role_of<G, A>() == role ? 1 : 0));
}

// The first argument that has the role, as a type_identity; that of void if there is none.
template <class G, Role role, class First, class... Rest>
constexpr auto find_role(Types<First, Rest...>) {
  if constexpr (role_of<G, First>() == role)
    return std::type_identity<First>{};
  else
    return find_role<G, role>(Types<Rest...>{});
}
template <class G, Role role>
constexpr auto find_role(Types<>) {
  return std::type_identity<void>{};
}
template <class G, Role role, class S>
using argument_t = typename decltype(find_role<G, role>(typename S::Arguments{}))::type;

// The payload inside what a function takes or returns: T of T, optional<T> and shared_ptr<const T>.
template <class T>
struct PayloadOf {
  using Type = T;
};
template <class T>
struct PayloadOf<std::optional<T>> {
  using Type = T;
};
template <class T>
struct PayloadOf<std::shared_ptr<const T>> {
  using Type = T;
};
template <class T>
using payload_t = typename PayloadOf<std::remove_cvref_t<T>>::Type;

template <class T>
constexpr bool is_shared = false;
template <class T>
constexpr bool is_shared<std::shared_ptr<const T>> = true;

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

template <class G, class S>
using emitted_t = typename EmitOf<std::remove_cvref_t<argument_t<G, Role::emit, S>>>::Type;

// What the gadget emits, as its main function says, or else flush or start; void for a sink.
template <class G>
struct OutputOf {
  template <class A, class B>
  using Or = std::conditional_t<std::is_void_v<A>, B, A>;
  using AtEnds = Or<emitted_t<G, flush_t<G>>, emitted_t<G, start_t<G>>>;
  using Emitted = Or<emitted_t<G, main_t<G>>, Or<AtEnds, emitted_t<G, idle_t<G>>>>;
  using Type = std::conditional_t<HasCall<G>, payload_t<typename main_t<G>::Result>, Emitted>;
};
template <class G>
using output_t = typename OutputOf<G>::Type;
template <class G>
using input_arg_t = argument_t<G, Role::input, main_t<G>>;
template <class G>
using input_t = payload_t<input_arg_t<G>>;

template <class G, class S>
constexpr bool emits_only_output() {
  return std::is_void_v<emitted_t<G, S>> || std::is_same_v<emitted_t<G, S>, output_t<G>>;
}

// Declared to block, or to emit many messages a call.
template <class G>
constexpr bool has_own_thread() {
  if constexpr (requires { G::own_thread; })
    return G::own_thread;
  else
    return false;
}

// Some parameter is declared live.
template <class G>
constexpr bool has_live_params() {
  if constexpr (requires { G::params; })
    return std::apply([](const auto&... param) { return (false || ... || param.rules.is_live); }, G::params.params);
  else
    return false;
}

// New parameters reach the gadget: each call of its function is given them, or it has update().
template <class G>
constexpr bool hears_live_params() {
  return HasUpdate<G> || (!HasRun<G> && count_role<G>(Role::params, typename main_t<G>::Arguments{}) > 0);
}

enum class Fault {
  none,
  no_function,
  many_functions,
  call_not_const,
  call_returns_nothing,
  call_emits,
  no_input,
  many_inputs,
  source_takes_input,
  source_without_emit,
  source_without_stop,
  input_by_reference,
  input_not_copyable,
  flush_takes_input,
  two_outputs,
  params_undescribed,
  params_no_default,
  not_constructible,
  live_unheard,
  pure_updates,
  idle_without_thread,
  idle_not_bool,
};

template <class G>
constexpr Fault find_fault() {
  using Main = main_t<G>;
  using Params = params_t<G>;
  using Arg = input_arg_t<G>;
  constexpr int functions = HasCall<G> + HasProcess<G> + HasRun<G>;
  if constexpr (functions == 0) return Fault::no_function;
  if constexpr (functions > 1) return Fault::many_functions;
  constexpr int inputs = count_role<G>(Role::input, typename Main::Arguments{});
  if constexpr (HasRun<G>) {
    if (inputs != 0) return Fault::source_takes_input;
    if (count_role<G>(Role::emit, typename Main::Arguments{}) != 1) return Fault::source_without_emit;
    if (count_role<G>(Role::stop, typename Main::Arguments{}) != 1) return Fault::source_without_stop;
  } else {
    if constexpr (inputs == 0) return Fault::no_input;
    if constexpr (inputs > 1) return Fault::many_inputs;
    if constexpr (std::is_lvalue_reference_v<Arg> && !std::is_const_v<std::remove_reference_t<Arg>>)
      return Fault::input_by_reference;
    if constexpr (!std::is_reference_v<Arg> && !std::is_copy_constructible_v<std::remove_cvref_t<Arg>>)
      return Fault::input_not_copyable;
  }
  if constexpr (HasCall<G>) {
    if (!Main::is_const) return Fault::call_not_const;
    if (std::is_void_v<typename Main::Result>) return Fault::call_returns_nothing;
    if (count_role<G>(Role::emit, typename Main::Arguments{}) != 0) return Fault::call_emits;
  }
  if (count_role<G>(Role::input, typename flush_t<G>::Arguments{}) != 0 ||
      count_role<G>(Role::input, typename start_t<G>::Arguments{}) != 0 ||
      count_role<G>(Role::input, typename idle_t<G>::Arguments{}) != 0)
    return Fault::flush_takes_input;
  if (!emits_only_output<G, flush_t<G>>() || !emits_only_output<G, start_t<G>>() || !emits_only_output<G, idle_t<G>>())
    return Fault::two_outputs;
  if constexpr (HasIdle<G>) {
    if (!HasProcess<G> || !has_own_thread<G>()) return Fault::idle_without_thread;
    if (!std::is_same_v<typename idle_t<G>::Result, bool>) return Fault::idle_not_bool;
  }
  if constexpr (!std::is_same_v<Params, NoParams> && !requires { G::params; }) return Fault::params_undescribed;
  if constexpr (!std::is_default_constructible_v<Params>) return Fault::params_no_default;
  if constexpr (!std::is_constructible_v<G, const Params&, Context&> && !std::is_constructible_v<G, const Params&> &&
                !std::is_constructible_v<G, Context&> && !std::is_default_constructible_v<G>)
    return Fault::not_constructible;
  if constexpr (HasCall<G> && HasUpdate<G>) return Fault::pure_updates;
  if constexpr (has_live_params<G>() && !hears_live_params<G>()) return Fault::live_unheard;
  return Fault::none;
}

// Fails to compile, with one sentence, where G is no gadget; true where it is.
template <class G>
constexpr bool check_gadget() {
  constexpr Fault fault = find_fault<G>();
  static_assert(fault != Fault::no_function,
                "A gadget has one public function: 'Out operator()(In) const', 'void process(In, "
                "Emit<Out>&)', "
                "'void process(In)' or 'void run(Emit<Out>&, std::stop_token)', not overloaded and "
                "no template.");
  static_assert(fault != Fault::many_functions,
                "A gadget has only one of operator(), process and run: it is pure, stateful or a source.");
  static_assert(fault != Fault::call_not_const,
                "A pure gadget's operator() must be const, since it may run in parallel: "
                "add const, or use process for a gadget that keeps state.");
  static_assert(fault != Fault::call_returns_nothing,
                "A pure gadget's operator() returns its output: use 'void process(In)' for a sink.");
  static_assert(fault != Fault::call_emits,
                "A pure gadget's operator() returns its output: use process to emit several messages.");
  static_assert(fault != Fault::no_input, "A gadget's process or operator() takes one input: use run for a source.");
  static_assert(fault != Fault::many_inputs,
                "A gadget takes one input: several inputs are a struct of named members that lists "
                "them as 'inputs'.");
  static_assert(fault != Fault::source_takes_input,
                "A source's run takes no input: 'run(Emit<Out>&, std::stop_token)'.");
  static_assert(fault != Fault::source_without_emit, "A source's run takes 'Emit<Out>&', through which it sends.");
  static_assert(fault != Fault::source_without_stop,
                "A source's run takes a std::stop_token, and ends when it is set.");
  static_assert(fault != Fault::input_by_reference,
                "A payload is immutable: take it as 'const T&', as 'T' or as 'std::shared_ptr<const T>'.");
  static_assert(fault != Fault::input_not_copyable,
                "An input taken by value may have to be copied, and this type cannot be: take it "
                "as 'const T&'.");
  static_assert(fault != Fault::flush_takes_input,
                "flush, start and idle take no input: there is none when they are called.");
  static_assert(fault != Fault::two_outputs,
                "process, flush, start and idle of a gadget emit the same type: several outputs are a "
                "struct that lists them "
                "as 'outputs'.");
  static_assert(fault != Fault::params_undescribed,
                "A gadget with Params declares them: 'static constexpr auto params = "
                "describe(param<...>(...), ...);'.");
  static_assert(fault != Fault::params_no_default,
                "A gadget's Params can be default constructed: give every member a default.");
  static_assert(fault != Fault::not_constructible,
                "A gadget is constructed from 'const Params&' (and optionally 'Context&'), or from nothing.");
  static_assert(fault != Fault::live_unheard,
                "A gadget with live parameters takes 'const Params&' in its process or operator(), or has 'void "
                "update(const Params&)'.");
  static_assert(fault != Fault::pure_updates,
                "A pure gadget has no update: its operator() takes 'const Params&' and finds the new values there.");
  static_assert(fault != Fault::idle_without_thread,
                "Only a stateful gadget with 'static constexpr bool own_thread = true' has an idle function.");
  static_assert(fault != Fault::idle_not_bool,
                "idle returns bool: whether it is to be called again before the next message comes.");
  return fault == Fault::none;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
