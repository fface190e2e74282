// Named ports: the members of a struct that a gadget takes or gives, and Emit, through which
// messages leave a gadget.
#pragma once
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/gadget/payload.hpp"

namespace tofstream {

struct Feedback {};  // this input may close a cycle
struct Optional {};  // this input may be left unconnected: the member is then null
inline constexpr Feedback feedback{};
inline constexpr Optional optional{};

template <auto Member>
struct Port {
  const char* name;
  bool is_feedback = false;
  bool is_optional = false;
};
template <auto... Members>
struct Ports {
  std::tuple<Port<Members>...> all;
};

template <auto Member>
constexpr Port<Member> port(const char* name) {
  return {name, false};
}
template <auto Member>
constexpr Port<Member> port(const char* name, Feedback) {
  return {name, true, false};
}
template <auto Member>
constexpr Port<Member> port(const char* name, Optional) {
  return {name, false, true};
}

// Several inputs are a struct of shared_ptr<const T> members that lists them:
//   struct In {
//     std::shared_ptr<const Subset> events;
//     std::shared_ptr<const Image> image;
//     static constexpr auto inputs = ports(port<&In::events>("events"), port<&In::image>("image",
//     feedback));
//   };
// Several outputs likewise, in a struct that lists `outputs`; a null member emits nothing on its
// port.
template <auto... Members>
constexpr Ports<Members...> ports(Port<Members>... all) {
  return {{all...}};
}

template <class T>
concept ManyInputs = requires {
  T::inputs;
};
template <class T>
concept ManyOutputs = requires {
  T::outputs;
};

namespace detail {
template <auto Member>
struct PortMember;
template <class C, class T, std::shared_ptr<const T> C::*Member>
struct PortMember<Member> {
  using Payload = T;
};
}  // namespace detail

// Where emitted payloads go: an edge of the engine, or a test's collection.
class EmitTarget {
 public:
  virtual void emit(std::size_t port, Payload payload) = 0;

 protected:
  ~EmitTarget() = default;
};

// What a gadget calls to send a message: `emit(std::move(batch))`, or `emit(pointer)` to share one
// that it keeps. In a gadget with `own_thread` the call blocks while an edge is full. It throws to
// unwind the gadget when the run has failed or was aborted; let that exception pass.
template <class Out>
class Emit {
 public:
  explicit Emit(EmitTarget& target) : target_(&target) {}

  void operator()(Out value) { send(std::move(value)); }

  void operator()(std::shared_ptr<const Out> shared) requires(!ManyOutputs<Out>) {
    if (!shared) throw std::invalid_argument("a gadget emitted a null pointer: emit only what exists");
    target_->emit(0, Payload{std::move(shared), false});
  }

 private:
  void send(Out&& value) {
    if constexpr (ManyOutputs<Out>) {
      send_members(std::move(value), Out::outputs);
    } else {
      target_->emit(0, Payload::of(std::move(value)));
    }
  }

  template <auto... Members>
  void send_members(Out&& value, const Ports<Members...>&) {
    std::size_t index = 0;
    const auto send_one = [&](auto& member) {
      if (member) target_->emit(index, Payload{std::move(member), false});
      ++index;
    };
    (send_one(value.*Members), ...);
  }

  EmitTarget* target_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
