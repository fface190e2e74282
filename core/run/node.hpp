// One gadget at run time: its instance, its edges and where it stands. Guarded by the run's lock
// (core/run/run_state.hpp) except where a comment says otherwise.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/base/latency.hpp"
#include "core/gadget/gadget_record.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/run/edge.hpp"
#include "core/run/input_port.hpp"

namespace tofstream {

// One call of a gadget's process, or of flush or run, which take no inputs.
struct Call {
  std::uint64_t number = 0;  // of the node's calls of process, from 0
  MessageInfo info;          // of the inputs together
  std::uint64_t events = 0;  // in them
};

// Calls that one worker makes one after the other: several if the gadget is so quick that taking and giving messages
// one by one would cost more than its work.
struct Job {
  std::uint64_t order = 0;
  bool is_flush = false;
  bool is_idle = false;
  std::vector<Call> calls;
  std::vector<Payload> payloads;                            // one for each input port, call after call
  boost::container::small_vector<std::size_t, 4> reserved;  // places that are still held, for each output port
  std::vector<std::pair<std::size_t, Message>> outputs;     // by port, where they are not published at once
  const void* params = nullptr;                             // of all its calls; the node owns them
  bool params_are_new = false;                              // since the node's job before

  bool has_input() const { return !is_flush && !is_idle; }
  void clear() {
    calls.clear();
    payloads.clear();
    outputs.clear();
  }
};

struct NodeFigures {
  std::uint64_t messages_in = 0;
  std::uint64_t messages_out = 0;
  std::uint64_t events_in = 0;
  std::uint64_t events_out = 0;
  std::uint64_t calls = 0;                               // of process
  std::chrono::steady_clock::duration busy{};            // in the gadget's own code
  std::chrono::steady_clock::duration waiting_output{};  // with work to do but a full edge behind it
  LatencyHistogram latency;                              // of a sink: from ingress to the end of process
};

struct Node {
  enum class Phase { running, flushing, ended };

  // A job of quick calls takes about so long: it takes the lock once in this time, and its first message waits for the
  // others no longer.
  static constexpr double job_ns = 20'000;
  static constexpr std::size_t most_calls = 64;
  enum class Waiting { no, for_input, for_room };

  Node(std::size_t place, const PipelineGadget& g, const std::filesystem::path& output_dir, std::stop_token cancel,
       RunControl& control, std::stop_token stop)
      : index(place),
        gadget(&g),
        inputs(g.info->inputs.size(), InputPort(g.merge)),
        outputs(g.info->outputs.size()),
        next_sequence(g.info->outputs.size()),
        params_used{g.params},
        record(g.name, output_dir, std::move(cancel), &control, std::move(stop)),
        context(record) {}

  // Fixed before the run.
  const std::size_t index;  // in the pipeline
  const PipelineGadget* gadget;
  bool numbers_messages = false;  // a source, or a merge without order, behind which old numbers say nothing
  std::vector<InputPort> inputs;
  std::vector<std::vector<Edge*>> outputs;  // any number a port

  Phase phase = Phase::running;
  bool is_touched = false;                                // stands on a section's list already
  unsigned in_work = 0;                                   // jobs taken and not finished, and tickets
  unsigned in_code = 0;                                   // of these, in the gadget's code now
  std::chrono::steady_clock::time_point in_code_since{};  // the job that began last
  std::chrono::steady_clock::time_point waits_since{};    // where it waits
  std::chrono::steady_clock::duration no_work_before{};   // of no_work(), when the job that began last did
  unsigned tickets = 0;       // of these, workers that are on their way: they take a job when they begin
  std::vector<Job> spare;     // finished ones, whose vectors are used again
  double mean_call_ns = 1e9;  // of late
  std::uint64_t next_job = 0;
  std::uint64_t next_call = 0;
  std::uint64_t next_published = 0;
  std::map<std::uint64_t, Job> finished;  // out of order, waiting for an earlier one
  std::vector<std::uint64_t> next_sequence;
  std::uint64_t next_event = 0;  // where this gadget is the first to count events

  // What a serial gadget took in since it last emitted, and its next output stems from; and how many messages a source
  // gave, as faults count them. Only the gadget's one caller touches them.
  MessageInfo origin;
  bool origin_was_emitted = true;
  std::uint64_t emitted = 0;
  bool may_idle = true;  // of a gadget with an idle function: it has not said that there is nothing to do

  // In a graph that goes by origins: the origin of each job in work, in order, and the least origin that may still
  // leave this gadget, which its output edges know. In a source, always the number of its next message.
  std::deque<std::uint64_t> origins_in_work;
  std::uint64_t promised = 0;

  // Live parameters that were set and that the gadget has not been given yet; and those of its jobs, the present ones
  // last. A job in work has a mere pointer to its own, so all of them stay.
  std::shared_ptr<const void> new_params;
  std::vector<std::shared_ptr<const void>> params_used;

  // What a gadget with its own thread waits for.
  std::condition_variable wake;
  Waiting waiting = Waiting::no;
  std::size_t waiting_port = 0;
  bool takes_any_room = false;  // not only ample room: nothing else in the graph can move

  std::optional<std::chrono::steady_clock::time_point> blocked_since;
  NodeFigures figures;

  // Safe from any thread; a serial gadget's context is used by its one caller at a time.
  GadgetRecord record;
  Context context;

  // Last, so that it is destroyed before what it may refer to.
  std::unique_ptr<GadgetInstance> instance;

  const std::string& name() const { return gadget->name; }
  const GadgetInfo& info() const { return *gadget->info; }
  bool on_graph() const { return !info().own_thread; }
  // A pure gadget on the graph: its outputs are published when it is done, in the order of its
  // inputs.
  bool publishes_in_order() const { return on_graph() && info().kind == GadgetKind::pure; }

  // When all edges are there: the gadget may ask which of its ports are connected.
  void tell_ports() {
    std::vector<GadgetRecord::PortState> ports;
    for (std::size_t i = 0; i < inputs.size(); ++i) ports.push_back({info().inputs[i].name, inputs[i].is_connected()});
    for (std::size_t i = 0; i < outputs.size(); ++i) ports.push_back({info().outputs[i].name, !outputs[i].empty()});
    record.set_ports(std::move(ports));
  }
  // With the lock held, between two jobs in their order: the gadget's next call has the parameters that were set last.
  // True where they are new.
  bool take_new_params() {
    if (!new_params) return false;
    params_used.push_back(std::exchange(new_params, nullptr));
    return true;
  }
  const void* params() const { return params_used.back().get(); }

  // An empty job that comes next in order, with the parameters of now.
  Job new_job();
  // One place for each of its calls, on every output edge; and those of them that it did not need are given back.
  void reserve_places(Job& job);
  void release_places(Job& job);
  // A job, or a start, begins in the gadget's own code.
  void enter_code() {
    ++in_code;
    in_code_since = std::chrono::steady_clock::now();
    no_work_before = no_work(in_code_since);
  }
  // How long a gadget with its own thread has waited, within its calls, for room behind it or for the outside.
  std::chrono::steady_clock::duration no_work(std::chrono::steady_clock::time_point now) const {
    return waited_output(now) + record.waited_outside(now);
  }
  // A wait that has not ended included.
  std::chrono::steady_clock::duration waited_output(std::chrono::steady_clock::time_point now) const {
    const bool waits = waiting == Waiting::for_room && now > waits_since;
    return figures.waiting_output + (waits ? now - waits_since : std::chrono::steady_clock::duration{});
  }
  // Since the job or start that it is in began, the time in which it worked; a source's one call lasts as long as its
  // stream. None of a gadget on the flow graph, whose calls may overlap and are short.
  std::chrono::steady_clock::duration busy_in_job(std::chrono::steady_clock::time_point now) const {
    if (on_graph() || in_code == 0) return {};
    return std::max(now - in_code_since - (no_work(now) - no_work_before), std::chrono::steady_clock::duration{});
  }

  // Every input has its next message. In a join by origins they may still not belong together.
  bool inputs_have_messages() const {
    for (const InputPort& port : inputs)
      if (port.is_connected() && !port.has_message()) return false;
    return !inputs.empty();
  }
  // The next messages of all inputs but feedback stem from the same message of the source.
  bool is_paired() const {
    std::optional<std::uint64_t> common;
    for (const InputPort& port : inputs) {
      if (!port.is_connected() || port.is_feedback()) continue;
      const std::uint64_t mine = port.next()->head().info.origin;
      if (common.value_or(mine) != mine) return false;
      common = mine;
    }
    return true;
  }
  // It waits for this edge: nothing is in work, and each other input has its next message or is one that `may_lack` it.
  bool waits_for(const Edge& edge, const auto& may_lack) const {
    if (phase != Phase::running || in_work > 0 || in_code > 0 || !edge.is_empty()) return false;
    for (const InputPort& port : inputs) {
      const bool is_its = std::ranges::find(port.edges(), &edge) != port.edges().end();
      if (port.is_connected() && !is_its && !port.has_message() && !may_lack(port)) return false;
    }
    return true;
  }
  // It reads what `from` gives, and waits for that alone.
  bool waits_only_for(const Node& from) const {
    return std::ranges::any_of(inputs, [&](const InputPort& port) {
      return std::ranges::any_of(port.edges(), [&](const Edge* edge) {
        return edge->writer == &from && waits_for(*edge, [](const InputPort&) { return false; });
      });
    });
  }
  // Whoever reads its outputs waits for nothing else, but perhaps for what another of these readers makes of the same
  // message, as a projector waits for the scatter of the subset that it is given.
  bool readers_wait() const {
    const auto comes_by_a_reader = [this](const InputPort& port) {
      return std::ranges::all_of(port.edges(),
                                 [this](const Edge* edge) { return edge->writer->waits_only_for(*this); });
    };
    bool any = false;
    for (const auto& port : outputs) {
      for (const Edge* edge : port) {
        if (!edge->reader->waits_for(*edge, comes_by_a_reader)) return false;
        any = true;
      }
    }
    return any;
  }
  bool is_to_idle() const { return info().has_idle && may_idle && phase == Phase::running && readers_wait(); }
  // Every input that is no feedback has ended and was consumed.
  bool inputs_over() const {
    for (const InputPort& port : inputs)
      if (!port.is_feedback() && !port.is_over()) return false;
    return true;
  }
  // Its jobs are so short that waking another worker for one would take longer.
  bool is_quick() const { return mean_call_ns < job_ns; }
  // Calls that make one job.
  std::size_t calls_worth_one_job() const {
    return static_cast<std::size_t>(std::clamp(job_ns / mean_call_ns, 1.0, static_cast<double>(most_calls)));
  }
  // Messages that wait at every input.
  std::size_t waiting_calls() const {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const InputPort& port : inputs)
      if (port.is_connected()) least = std::min(least, port.size());
    return least;
  }
  bool port_has_room(std::size_t port) const {
    for (const Edge* edge : outputs[port])
      if (!edge->has_room()) return false;
    return true;
  }
  bool port_has_ample_room(std::size_t port) const {
    for (const Edge* edge : outputs[port])
      if (!edge->has_ample_room()) return false;
    return true;
  }
  bool outputs_have_room() const {
    for (std::size_t port = 0; port < outputs.size(); ++port)
      if (!port_has_room(port)) return false;
    return true;
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
