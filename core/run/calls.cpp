#include "core/run/calls.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tofstream {
namespace {

using Clock = std::chrono::steady_clock;

// Unwinds a gadget out of Emit when the run was cancelled. It is not a std::exception, so that `catch (const
// std::exception&)` in a gadget does not take it for an error of its own.
struct Cancelled {};

// The events and the times of `data` replace the message's own; its place stays.
void take_data(MessageInfo& info, const MessageInfo& data) {
  info.ingress = data.ingress;
  info.last_ingress = data.last_ingress;
  info.first_event = data.first_event;
  info.end_event = data.end_event;
}

// A serial gadget's next output stems from this message too.
void note_origin(Node& node, const MessageInfo& info) {
  if (std::exchange(node.origin_was_emitted, false))
    node.origin = info;
  else
    widen(node.origin, info);
  node.origin.sequence = info.sequence;
}

// With the lock held.
void count_calls(Node& node, const Job& job, Clock::duration busy, Clock::time_point ended) {
  node.may_idle = true;
  const double call_ns = std::chrono::duration<double, std::nano>(busy).count() / static_cast<double>(job.calls.size());
  node.mean_call_ns = node.figures.calls == 0 ? call_ns : 0.75 * node.mean_call_ns + 0.25 * call_ns;
  node.figures.calls += job.calls.size();
  if (node.info().kind == GadgetKind::sink)
    for (const Call& done : job.calls) node.figures.latency.add(ended - done.info.ingress);
}

}  // namespace

// Where a gadget's Emit leads. Messages of a job of several calls, and those of a pure gadget on the flow graph, are
// kept until it is their turn. A gadget with its own thread waits for room. The others have a place reserved for each
// call, and may overshoot by what one call emits beyond that.
class Calls::Outlet final : public EmitTarget {
 public:
  Outlet(Calls& calls, Node& node, Job* job)
      : calls_(calls), state_(calls.state_), observer_(calls.observer_), node_(node), job_(job) {}

  void emit(std::size_t port, Payload payload) override {
    const PayloadType& type = *node_.info().outputs[port].payload;
    Message message;
    message.events = type.events(payload.data.get());
    message.bytes = type.bytes(payload.data.get());
    message.payload = std::move(payload);
    if (node_.publishes_in_order() && job_) {
      message.info = job_->calls[call].info;
    } else {
      message.info = node_.origin;
      node_.origin_was_emitted = true;
      if (const auto data = node_.context.take_made_from()) take_data(message.info, *data);
    }
    const bool is_source = node_.info().kind == GadgetKind::source;
    if (is_source) message.info.ingress = message.info.last_ingress = node_.context.message().ingress;
    if (is_source && node_.gadget->fault.is_of(0))
      emit_with_fault(port, std::move(message));
    else
      hand_on(port, std::move(message));
  }

  std::size_t call = 0;  // of the job, that is under way

 private:
  bool keeps() const { return job_ && node_.on_graph() && (node_.publishes_in_order() || job_->calls.size() > 1); }

  void hand_on(std::size_t port, Message message) {
    if (keeps())
      job_->outputs.emplace_back(port, std::move(message));
    else
      publish_at_once(port, std::move(message));
  }

  void emit_with_fault(std::size_t port, Message message) {
    const Fate fate = calls_.meet_fault(node_, node_.emitted++);
    if (fate == Fate::drop) return node_.context.books().lost(message.events, "fault: drop_at");
    if (fate == Fate::duplicate) {
      message.payload.movable = false;
      hand_on(port, message);
    }
    hand_on(port, std::move(message));
  }

  void publish_at_once(std::size_t port, Message message) {
    const void* new_params = nullptr;
    const Clock::time_point since = observer_ ? Clock::now() : Clock::time_point{};
    bool waited = false;
    {
      Section section(calls_.dispatch_);
      if (state_.launched && !node_.on_graph()) waited = wait_for_room(section, port);
      if (state_.cancelled) throw Cancelled{};
      if (node_.info().kind == GadgetKind::source) state_.note_data();
      calls_.delivery_.publish(section, node_, port, std::move(message), job_);
      // The one message boundary that a source has.
      if (node_.info().kind == GadgetKind::source && node_.take_new_params()) new_params = node_.params();
    }
    if (new_params) node_.instance->update(new_params);
    if (waited && observer_) observer_->waited(node_.index, Observer::WaitKind::for_room, since, Clock::now());
  }

  bool wait_for_room(Section& section, std::size_t port) {
    if (state_.cancelled || node_.port_has_room(port)) return false;
    const Clock::time_point since = Clock::now();
    while (!state_.cancelled && !node_.port_has_room(port)) section.wait(node_, Node::Waiting::for_room, port);
    node_.figures.waiting_output += Clock::now() - since;
    return true;
  }

  Calls& calls_;
  RunState& state_;
  Observer* const observer_;
  Node& node_;
  Job* job_;
};

void Calls::start(Node& node) {
  const Clock::time_point began = Clock::now();
  std::exception_ptr cause;
  {
    Section section(dispatch_);
    node.enter_code();
  }
  try {
    Outlet outlet(*this, node, nullptr);
    if (observer_) observer_->call_begins(node.index, Observer::CallKind::start, {});
    node.instance->start(outlet, node.context, node.params());
    if (observer_) observer_->call_ends(node.index, Observer::CallKind::start, {}, began, Clock::now());
  } catch (const Cancelled&) {
  } catch (...) {
    cause = std::current_exception();
  }
  Section section(dispatch_);
  node.figures.busy += node.on_graph() ? Clock::now() - began : node.busy_in_job(Clock::now());
  --node.in_code;
  section.touch(node);
  if (cause) dispatch_.fail(section, node, nullptr, cause);
}

void Calls::run(Node& node, Job& job, Section::Tickets* mine) {
  const Clock::time_point began = Clock::now();
  std::exception_ptr cause;
  std::size_t call = 0;
  try {
    make_calls(node, job, call);
  } catch (const Cancelled&) {
  } catch (...) {
    cause = std::current_exception();
  }
  job.payloads.clear();
  const Clock::time_point ended = Clock::now();
  Section section(dispatch_, mine);
  const Clock::duration busy = node.on_graph() ? ended - began : node.busy_in_job(ended);
  node.figures.busy += busy;
  if (job.has_input()) count_calls(node, job, busy, ended);
  if (cause) dispatch_.fail(section, node, job.has_input() ? &job.calls[call] : nullptr, cause);
  delivery_.finish(section, node, std::move(job));
}

// All calls of the job, as long as the run is not cancelled; `call` is the one under way.
void Calls::make_calls(Node& node, Job& job, std::size_t& call) {
  Outlet outlet(*this, node, &job);
  if (job.params_are_new) node.instance->update(job.params);
  // Calls of a pure gadget may overlap, so each job has a context of its own.
  std::optional<Context> own_context;
  if (node.publishes_in_order()) own_context.emplace(node.record);
  Context& context = own_context ? *own_context : node.context;
  for (; call < job.calls.size() && !state_.cancelled; ++call) {
    outlet.call = call;
    if (job.has_input()) {
      if (!node.publishes_in_order()) note_origin(node, job.calls[call].info);
      context.set_message(job.calls[call].info);
    }
    call_gadget(node, job, call, outlet, context);
  }
}

void Calls::call_gadget(Node& node, Job& job, std::size_t call, EmitTarget& outlet, Context& context) {
  using Kind = Observer::CallKind;
  const bool is_source = node.info().kind == GadgetKind::source;
  const Kind kind = is_source ? Kind::run : job.is_flush ? Kind::flush : job.is_idle ? Kind::idle : Kind::process;
  const MessageInfo& info = job.calls[call].info;
  const Clock::time_point began = observer_ ? Clock::now() : Clock::time_point{};
  if (observer_) observer_->call_begins(node.index, kind, info);
  if (kind == Kind::run)
    node.instance->run(outlet, state_.stop_source.get_token(), context, job.params);
  else if (kind == Kind::flush)
    node.instance->flush(outlet, context, job.params);
  else if (kind == Kind::idle)
    node.may_idle = node.instance->idle(outlet, context, job.params);
  else
    process(node, job, call, outlet, context);
  if (observer_) observer_->call_ends(node.index, kind, info, began, Clock::now());
}

// One call of process, with the fault that was asked for. The inputs are let go at once, not with the job.
void Calls::process(Node& node, Job& job, std::size_t call, EmitTarget& outlet, Context& context) {
  const std::size_t ports = node.inputs.size();
  const std::span<Payload> inputs(job.payloads.data() + call * ports, ports);
  Fate fate = Fate::pass;
  if (node.gadget->fault.is_of(0)) fate = meet_fault(node, job.calls[call].number);
  if (fate == Fate::drop) {
    context.books().lost(job.calls[call].events, "fault: drop_at");
  } else {
    if (fate == Fate::duplicate) {
      for (Payload& input : inputs) input.movable = false;
      std::vector<Payload> copies(inputs.begin(), inputs.end());
      node.instance->process(copies, outlet, context, job.params);
    }
    node.instance->process(inputs, outlet, context, job.params);
  }
  for (Payload& input : inputs) input.data.reset();
}

Fate Calls::meet_fault(Node& node, std::uint64_t number) const {
  return tofstream::meet_fault(node.gadget->fault, number, [this] { return !state_.cancelled; });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
