// For unit tests of a gadget by direct calls, with no runtime: an Emit that collects, and a Context
// that remembers. Tests include core/testing.hpp instead.
//   CollectingEmit<Subset> emit;
//   TestContext context;
//   gadget.process(batch, emit, context);
//   CHECK(emit[0].event_count() == 3);
//   CHECK(context.recorded().rejected_total() == 1);
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/gadget/gadget_record.hpp"
#include "core/gadget/ports.hpp"

namespace tofstream {
namespace detail {

class Collector : public EmitTarget {
 public:
  void emit(std::size_t port, Payload payload) override { collected_.emplace_back(port, std::move(payload)); }

 protected:
  std::vector<std::pair<std::size_t, Payload>> collected_;
};

struct RecordHolder {
  std::stop_source source, stop_source;
  GadgetRecord record;
};

template <auto Wanted, auto... Members>
constexpr std::size_t index_of_port(const Ports<Members...>&) {
  std::size_t index = 0;
  bool found = false;
  (
      [&] {
        if constexpr (std::is_same_v<Port<Wanted>, Port<Members>>) found = true;
        if (!found) ++index;
      }(),
      ...);
  return index;
}

}  // namespace detail

// Collects what a gadget emits. `emit[i]` is the i-th message of a gadget with one output.
template <class Out>
class CollectingEmit : private detail::Collector, public Emit<Out> {
 public:
  CollectingEmit() : Emit<Out>(static_cast<EmitTarget&>(*this)) {}
  CollectingEmit(const CollectingEmit&) = delete;
  CollectingEmit& operator=(const CollectingEmit&) = delete;

  std::size_t size() const { return collected_.size(); }
  bool empty() const { return collected_.empty(); }
  void clear() { collected_.clear(); }
  // For a test that calls a gadget through the engine's interface.
  EmitTarget& target() { return *this; }
  const Out& operator[](std::size_t i) const { return *pointer(i); }
  std::shared_ptr<const Out> pointer(std::size_t i) const {
    return std::static_pointer_cast<const Out>(collected_.at(i).second.data);
  }
  // The messages so far, as a gadget of one output shared them.
  std::vector<std::shared_ptr<const Out>> all() const {
    std::vector<std::shared_ptr<const Out>> messages;
    for (std::size_t i = 0; i < size(); ++i) messages.push_back(pointer(i));
    return messages;
  }

  // The messages of one port, where the gadget has several outputs: `emit.of<&Out::low>()`.
  template <auto Member>
  auto of() const {
    using T = typename detail::PortMember<Member>::Payload;
    constexpr std::size_t wanted = detail::index_of_port<Member>(Out::outputs);
    std::vector<std::shared_ptr<const T>> messages;
    for (const auto& [port, payload] : collected_)
      if (port == wanted) messages.push_back(std::static_pointer_cast<const T>(payload.data));
    return messages;
  }
};

// A Context with a record of its own.
class TestContext : private detail::RecordHolder, public Context {
 public:
  // `control` stands for the run, for gadgets that watch or steer it.
  explicit TestContext(std::string name = "gadget", std::filesystem::path output_dir = ".",
                       RunControl* control = nullptr)
      : TestContext(std::stop_source(), std::stop_source(), std::move(name), std::move(output_dir), control) {}
  TestContext(const TestContext&) = delete;
  TestContext& operator=(const TestContext&) = delete;

  BookEntries recorded() const { return record.books(); }
  std::map<std::string, Figure> figures() const { return record.figures(); }
  // The gadget finds no edge at this port, as where a pipeline leaves an optional input open or an output unread.
  // Throws std::invalid_argument where the gadget was made from YAML and has no such port.
  void disconnect(std::string_view port) { record.disconnect(port); }
  // All the ports that there are; they are connected.
  void set_ports(const std::vector<std::string>& names) {
    std::vector<GadgetRecord::PortState> ports;
    for (const std::string& port : names) ports.push_back({port});
    record.set_ports(std::move(ports));
  }
  // From now on cancelled() is true, as when another gadget has failed.
  void cancel() { source.request_stop(); }
  // From now on stopping() is true, as after an interrupt.
  void stop() { stop_source.request_stop(); }

 private:
  TestContext(const std::stop_source& cancel, const std::stop_source& stop, std::string name,
              std::filesystem::path output_dir, RunControl* control)
      : RecordHolder{cancel, stop,
                     GadgetRecord(std::move(name), std::move(output_dir), cancel.get_token(), control,
                                  stop.get_token())},
        Context(record) {}
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
