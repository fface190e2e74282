// Runs one gadget without a pipeline: made from YAML parameters as a pipeline makes it, fed message by message.
//   GadgetTest<EnergyWindow> test("{low_keV: 500}");
//   test.send(batch);
//   test.finish();
//   CHECK(test.out[0].event_count() == 3);
// Authors include core/testing.hpp instead.
#pragma once
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/gadget/adapter.hpp"
#include "core/gadget/collecting_emit.hpp"
#include "core/gadget/registry.hpp"

namespace tofstream {
namespace detail {

// One gadget behind the interface that the engine uses.
class GadgetHarness {
 public:
  // `expected`: the types of the payloads that the test takes from it. `unconnected`: ports without an edge.
  GadgetHarness(GadgetInfo info, std::string_view yaml, const std::vector<const PayloadType*>& expected,
                EmitTarget& target, TestContext& context, const std::vector<std::string>& unconnected);

  void start() { gadget_->start(target_, context_, params()); }
  void process(std::vector<Payload> inputs, const std::vector<const PayloadType*>& types);
  void set(std::string_view parameter, std::string_view yaml);
  bool idle() { return gadget_->idle(target_, context_, params()); }
  void flush() { gadget_->flush(target_, context_, params()); }
  void run(const std::stop_token& stop) { gadget_->run(target_, stop, context_, params()); }

 private:
  const void* params() const { return params_used_.back().get(); }

  GadgetInfo info_;
  std::vector<std::shared_ptr<const void>> params_used_;  // the present ones last; the gadget may refer to any
  Value resolved_;                                        // the parameters as they are now
  EmitTarget& target_;
  Context& context_;
  std::unique_ptr<GadgetInstance> gadget_;
};

template <auto... Members>
std::vector<const PayloadType*> payload_types(const Ports<Members...>&) {
  return {&payload_type<typename PortMember<Members>::Payload>()...};
}
template <class Out>
std::vector<const PayloadType*> output_types() {
  if constexpr (std::is_void_v<Out>)
    return {};
  else if constexpr (ManyOutputs<Out>)
    return payload_types(Out::outputs);
  else
    return {&payload_type<Out>()};
}

// A copy of what the registry knows. Throws std::invalid_argument with did-you-mean.
GadgetInfo registered_gadget(std::string_view name);

}  // namespace detail

// A gadget of the registry, by name; Out is what it emits (void for a sink).
template <class Out>
class RegisteredGadgetTest {
 public:
  // `unconnected`: the ports for which the gadget's Context::is_connected is false from its construction on. Throws
  // std::invalid_argument with every problem of the parameters, in the words of a pipeline's check, or where Out is not
  // what the gadget gives, or where it has no such port; and whatever the gadget's constructor throws.
  explicit RegisteredGadgetTest(std::string_view name, std::string_view yaml = "{}",
                                std::filesystem::path output_dir = ".", RunControl* control = nullptr,
                                const std::vector<std::string>& unconnected = {})
      : RegisteredGadgetTest(detail::registered_gadget(name), yaml, std::move(output_dir), control, unconnected) {}

  CollectingEmit<std::conditional_t<std::is_void_v<Out>, char, Out>> out;  // what it has emitted so far
  TestContext context;

  // Before the first message, of a gadget that has start().
  void start() { harness_.start(); }
  // One message by value, which the gadget may take as its own, like the only reader in a run.
  template <class T>
  void send(T payload) requires(!detail::is_shared<T>) {
    harness_.process({Payload::of(std::move(payload))}, {&payload_type<T>()});
  }
  // One shared message for each input, in the order of their declaration; null for an optional input that is not
  // connected.
  template <class... T>
  void send(std::shared_ptr<const T>... payloads) {
    harness_.process({Payload{std::move(payloads), false}...}, {&payload_type<T>()...});
  }
  // Changes a live parameter, whose value is written as in YAML, from the next message on: set("low_keV", "510").
  // Throws std::invalid_argument in the words of the runtime if it is not live or the value is wrong.
  void set(std::string_view parameter, std::string_view yaml) { harness_.set(parameter, yaml); }
  // Calls the gadget's idle, as when nothing waits and the readers have nothing to do; returns what it returns.
  bool idle() { return harness_.idle(); }
  // The end of the stream.
  void finish() { harness_.flush(); }
  // Runs a source to its end, or until it is asked to stop.
  void run(const std::stop_token& stop = {}) { harness_.run(stop); }

 protected:
  RegisteredGadgetTest(GadgetInfo info, std::string_view yaml, std::filesystem::path output_dir, RunControl* control,
                       const std::vector<std::string>& unconnected)
      : context(info.name, std::move(output_dir), control),
        harness_(std::move(info), yaml, detail::output_types<Out>(), out.target(), context, unconnected) {}

 private:
  detail::GadgetHarness harness_;
};

// A gadget by its type, registered or not.
template <class G>
class GadgetTest : public RegisteredGadgetTest<detail::output_t<G>> {
 public:
  explicit GadgetTest(std::string_view yaml = "{}", std::filesystem::path output_dir = ".",
                      RunControl* control = nullptr, const std::vector<std::string>& unconnected = {})
      : RegisteredGadgetTest<detail::output_t<G>>(describe_gadget<G>("gadget", ""), yaml, std::move(output_dir),
                                                  control, unconnected) {}
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
