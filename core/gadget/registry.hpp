// The gadgets that this program knows: one GadgetInfo for each, made from the author's
// declarations, types erased.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/gadget/context.hpp"
#include "core/gadget/memory.hpp"
#include "core/gadget/ports.hpp"
#include "core/value/params.hpp"

namespace tofstream {

enum class GadgetKind { source, pure, stateful, sink };
std::string_view kind_name(GadgetKind);

// A constructed gadget behind one interface. Calls that a kind does not have do nothing. `params` of a call is an
// object of the gadget's Params that outlives the gadget; calls of a pure gadget that overlap may be given different
// ones.
class GadgetInstance {
 public:
  virtual ~GadgetInstance() = default;
  virtual void start(EmitTarget&, Context&, const void* /*params*/) {}
  // One payload for each input port, in the order of GadgetInfo::inputs.
  virtual void process(std::span<Payload> /*inputs*/, EmitTarget&, Context&, const void* /*params*/) {}
  virtual void flush(EmitTarget&, Context&, const void* /*params*/) {}
  // Called while no message waits and its readers have nothing to do; after false not before another message came.
  virtual bool idle(EmitTarget&, Context&, const void* /*params*/) { return false; }
  virtual void run(EmitTarget&, const std::stop_token&, Context&, const void* /*params*/) {}
  // Called between two calls; the second of them is the first that is given these parameters.
  virtual void update(const void* /*params*/) {}
};

struct PortInfo {
  std::string name;
  const PayloadType* payload;
  bool is_feedback = false;
  bool is_optional = false;  // may be left unconnected; the gadget then finds no payload there
};

struct GadgetInfo {
  std::string name;
  std::string doc;
  std::string origin;  // the plug-in's file; empty for what comes with the program
  GadgetKind kind = GadgetKind::pure;
  bool own_thread = false;    // may block, so it never runs on a worker of the flow graph
  bool has_start = false;     // emits before its first message: it can open a cycle
  bool has_idle = false;      // does something while its readers have nothing to do
  bool gives_at_end = false;  // its flush gives messages
  bool one_to_one = false;    // gives exactly one message for each that it takes, in their order
  bool harmless = false;      // reaches nothing outside but what its parameters name
  std::string stream_end;     // which end of a stream between programs it is, in the gadgets' words; empty: none
  std::vector<ParamInfo> params;
  std::vector<PortInfo> inputs;
  std::vector<PortInfo> outputs;
  std::function<std::shared_ptr<void>()> default_params;
  std::function<std::unique_ptr<GadgetInstance>(const std::shared_ptr<const void>& params, Context&)> construct;
  // For a gadget whose ports depend on its parameters: gives the description that a pipeline uses once these are known.
  // The parameters are the same struct. Throws std::invalid_argument if they allow no such gadget.
  std::function<GadgetInfo(const void* params)> specialise;
  // The memory that it needs beyond the messages on its edges, given the bytes of one message of each input (0:
  // unknown); null if it does not say.
  std::function<MemoryNeed(const void* params, std::span<const std::size_t> input_bytes)> memory;
};

// What a library registers besides gadgets, such as a kind of scanner, for a table that core knows nothing of. Those
// of a plug-in are added together with its gadgets, or nothing is.
struct Extension {
  std::function<std::string()> problem;  // why it may not be added, in one line; empty where it may
  std::function<void()> add;
};

// What registered while a plug-in was loaded.
struct Registered {
  std::vector<GadgetInfo> gadgets;
  std::vector<Extension> extensions;
};

// The keys of a gadget in a pipeline that are the runtime's; every other one is a parameter.
const std::vector<std::string>& gadget_keys();

class Registry {
 public:
  // A second gadget of the same name, or one whose defaults break its own limits, becomes a
  // problem, not a gadget.
  void add(GadgetInfo info);
  // Adds it to its table, unless that has a problem with it.
  void add(Extension extension);
  const GadgetInfo* find(std::string_view name) const;
  // Sorted by name.
  std::vector<const GadgetInfo*> all() const;
  std::vector<std::string> names() const;
  const std::vector<std::string>& problems() const { return problems_; }

  // For plug-ins: returns what registers while `load` runs, instead of adding it. Throws what `load` throws.
  Registered captured(const std::function<void()>& load);
  // Why this gadget may not be added, a line each.
  std::vector<std::string> problems_of(const GadgetInfo& info) const;
  // Remembers that a plug-in that could not be loaded has a gadget of this name.
  void note_absent(std::string name, std::string why);
  // ": " and why there is no such gadget, if a plug-in that could not be loaded has it; else empty.
  std::string why_absent(std::string_view name) const;

 private:
  std::vector<std::unique_ptr<const GadgetInfo>> gadgets_;
  std::vector<std::string> problems_;
  Registered* capture_ = nullptr;
  std::map<std::string, std::string, std::less<>> absent_;
};

// The registry that TOFSTREAM_GADGET fills.
Registry& registry();

}  // namespace tofstream

// A name for an object that registers something: TOFSTREAM_UNIQUE_NAME(scanner_registration_, __COUNTER__).
#define TOFSTREAM_JOIN_TOKENS(a, b) a##b
#define TOFSTREAM_UNIQUE_NAME(a, b) TOFSTREAM_JOIN_TOKENS(a, b)
// SPDX-License-Identifier: Apache-2.0
