// One gadget at run time: its instance, its edges and where it stands. Guarded by the scheduler's
// lock except where a comment says otherwise.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/context.hpp"
#include "core/edge.hpp"
#include "core/latency.hpp"
#include "core/pipeline.hpp"

namespace tofstream {

// A call of process or flush with what it was given and, of a pure gadget, what came out.
struct Job {
  std::uint64_t order = 0;
  bool is_flush = false;
  boost::container::small_vector<Message, 2> inputs;
  MessageInfo info;                                  // of the inputs together
  boost::container::small_vector<bool, 4> reserved;  // output ports whose place is still held
  boost::container::small_vector<std::pair<std::size_t, Message>, 1> outputs;
};

struct NodeFigures {
  std::uint64_t messages_in = 0;
  std::uint64_t messages_out = 0;
  std::uint64_t events_in = 0;
  std::uint64_t events_out = 0;
  std::chrono::steady_clock::duration busy{};            // in the gadget's own code
  std::chrono::steady_clock::duration waiting_output{};  // with work to do but a full edge behind it
  LatencyHistogram latency;                              // of a sink: from ingress to the end of process
};

struct Node {
  enum class Phase { running, flushing, ended };
  enum class Waiting { no, for_input, for_room };

  Node(std::size_t place, const PipelineGadget& g, const std::filesystem::path& output_dir)
      : index(place),
        gadget(&g),
        outputs(g.info->outputs.size()),
        next_sequence(g.info->outputs.size()),
        record(g.name, output_dir),
        context(record) {
    inputs.resize(g.info->inputs.size());
  }

  // Fixed before the run.
  const std::size_t index;  // in the pipeline
  const PipelineGadget* gadget;
  std::unique_ptr<GadgetInstance> instance;
  std::vector<Edge*> inputs;                // one a port
  std::vector<std::vector<Edge*>> outputs;  // any number a port

  Phase phase = Phase::running;
  unsigned in_work = 0;        // jobs taken and not finished
  unsigned in_code = 0;        // of these, in the gadget's code now
  std::deque<Job> dispatched;  // taken, waiting for a worker of the flow graph
  std::uint64_t next_job = 0;
  std::uint64_t next_published = 0;
  std::map<std::uint64_t, Job> finished;  // out of order, waiting for an earlier one
  std::vector<std::uint64_t> next_sequence;
  std::uint64_t next_event = 0;  // where this gadget is the first to count events

  // Of a serial gadget: what it took in since it last emitted, which its next output stems from.
  MessageInfo origin;
  bool origin_was_emitted = true;

  // Of a gadget with its own thread.
  std::condition_variable wake;
  Waiting waiting = Waiting::no;
  std::size_t waiting_port = 0;

  std::optional<std::chrono::steady_clock::time_point> blocked_since;
  NodeFigures figures;

  // Safe from any thread; a serial gadget's context is used by its one caller at a time.
  GadgetRecord record;
  Context context;

  const std::string& name() const { return gadget->name; }
  const GadgetInfo& info() const { return *gadget->info; }
  bool on_graph() const { return !info().own_thread; }
  // A pure gadget on the graph: its outputs are published when it is done, in the order of its
  // inputs.
  bool publishes_in_order() const { return on_graph() && info().kind == GadgetKind::pure; }

  bool inputs_ready() const {
    if (inputs.empty()) return false;
    for (const Edge* edge : inputs)
      if (!edge->has_message()) return false;
    return true;
  }
  // Every input that is no feedback has ended and was consumed.
  bool inputs_over() const {
    for (const Edge* edge : inputs)
      if (!edge->description().is_feedback && !edge->is_over()) return false;
    return true;
  }
  bool port_has_room(std::size_t port) const {
    for (const Edge* edge : outputs[port])
      if (!edge->has_room()) return false;
    return true;
  }
  bool outputs_have_room() const {
    for (std::size_t port = 0; port < outputs.size(); ++port)
      if (!port_has_room(port)) return false;
    return true;
  }
};

}  // namespace tofstream
