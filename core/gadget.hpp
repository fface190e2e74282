// The one header that a gadget's author includes: parameters, ports, Emit, Context and TOFSTREAM_GADGET.
//
// A gadget is a struct with one of
//
//     Out operator()(In) const                  pure: may run in parallel, order kept; Out may be std::optional
//     void process(In, Emit<Out>&)              stateful; a sink has no Emit
//     void run(Emit<Out>&, std::stop_token)     a source
//
// and, if it wants them,
//
//     void flush(Emit<Out>&)                    at the end of the stream
//     void start(Emit<Out>&)                    before its first message, to open a cycle
//     struct Params;                            what YAML may set, with the next line,
//     static constexpr auto params = describe(...);
//     explicit Gadget(const Params&)
//     void update(const Params&)                where live parameters change what it keeps
//     static MemoryNeed memory(const Params&)   see core/gadget/memory.hpp
//     bool idle(Emit<Out>&)                     for a stateful one with a thread of its own: called while no message
//                                               waits and its readers wait for this gadget alone; after false it is
//                                               not called again before another message came
//     static constexpr bool own_thread = true   where it blocks (GPU, disk, socket) or emits many messages a call
//     static constexpr bool one_to_one = true   for a stateful one that gives one message for each
//     static constexpr bool harmless = true     reaches no file, socket or process but what its parameters name, which
//                                               are checked: a server lets any client use it
//     static constexpr auto stream_end = ...    for an end of a stream between programs, see gadgets/stream_ends.hpp
//
// Each function may also take `const Params&` and `Context&`, whose cancelled() tells a gadget that waits for something
// outside that the run is being ended. In is `const T&`, `T`, `std::shared_ptr<const T>`, or a struct of several inputs
// (core/gadget/ports.hpp).
#pragma once
#include "core/gadget/adapter.hpp"
#include "core/gadget/context.hpp"
#include "core/gadget/ports.hpp"
#include "core/gadget/registry.hpp"
#include "core/plugin/abi.hpp"
#include "core/value/params.hpp"

// Registers the gadget `Type` as `use: name`, with one line of documentation. Once, at namespace
// scope of a source file. The record lets the library that holds the gadget be loaded as a plug-in.
#define TOFSTREAM_GADGET(Type, name, doc)                                                                          \
  namespace {                                                                                                      \
  __attribute__((section(".tofstream"), used)) constexpr ::tofstream::PluginRecord TOFSTREAM_UNIQUE_NAME(          \
      gadget_record_, __COUNTER__) = ::tofstream::plugin_record(name);                                             \
  const ::tofstream::GadgetRegistration<Type> TOFSTREAM_UNIQUE_NAME(gadget_registration_, __COUNTER__){name, doc}; \
  }                                                                                                                \
  static_assert(true, "TOFSTREAM_GADGET is followed by a semicolon")
// SPDX-License-Identifier: Apache-2.0
