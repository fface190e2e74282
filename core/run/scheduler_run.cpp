// The scheduler at work: threads and workers that take a job, make its calls of the gadget's code, and hand in what
// came out. The lock is held only between jobs, and where a gadget emits at once.
#include <algorithm>
#include <utility>

#include "core/run/scheduler_section.hpp"

namespace tofstream {
// Where a gadget's Emit leads. What a job of several calls gives, and what pure gadgets on the graph give, is kept
// until it is its turn; a gadget with its own thread waits for room; the rest have a place reserved and may overshoot
// by what one call emits beyond it.
class Scheduler::Outlet final : public EmitTarget {
 public:
  Outlet(Scheduler& scheduler, Node& node, Job* job) : scheduler_(scheduler), node_(node), job_(job) {}

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
    }
    const bool is_source = node_.info().kind == GadgetKind::source;
    if (is_source) message.info.ingress = message.info.last_ingress = node_.context.message().ingress;
    if (is_source && node_.gadget->fault.any())
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
    const Fate fate = scheduler_.meet_fault(node_, node_.emitted++);
    if (fate == Fate::drop) return node_.context.books().lost(message.events, "fault: drop_at");
    if (fate == Fate::duplicate) {
      message.payload.movable = false;
      hand_on(port, message);
    }
    hand_on(port, std::move(message));
  }

  void publish_at_once(std::size_t port, Message message) {
    const void* new_params = nullptr;
    const Clock::time_point since = scheduler_.observer_ ? Clock::now() : Clock::time_point{};
    bool waited = false;
    {
      Section section(scheduler_);
      if (scheduler_.launched_ && !node_.on_graph()) waited = wait_for_room(section, port);
      if (scheduler_.cancelled_) throw Cancelled{};
      scheduler_.publish(section, node_, port, std::move(message), job_);
      // The one message boundary that a source has.
      if (node_.info().kind == GadgetKind::source && node_.take_new_params()) new_params = node_.params();
    }
    if (new_params) node_.instance->update(new_params);
    if (waited && scheduler_.observer_)
      scheduler_.observer_->waited(node_.index, Observer::WaitKind::for_room, since, Clock::now());
  }

  bool wait_for_room(Section& section, std::size_t port) {
    if (scheduler_.cancelled_ || node_.port_has_room(port)) return false;
    const Clock::time_point since = Clock::now();
    while (!scheduler_.cancelled_ && !node_.port_has_room(port)) section.wait(node_, Node::Waiting::for_room, port);
    node_.figures.waiting_output += Clock::now() - since;
    return true;
  }

  Scheduler& scheduler_;
  Node& node_;
  Job* job_;
};

// A start that may take long, as where a GPU is set up, does not keep data from flowing elsewhere. Promises know
// nothing of what such a start would still give.
bool Scheduler::starts_on_own_thread(const Node& node) const {
  return node.info().has_start && !node.on_graph() && !goes_by_origin_;
}

void Scheduler::start_gadgets() {
  for (const auto& node : nodes_) {
    if (cancelled_) return;
    if (node->info().has_start && !starts_on_own_thread(*node)) start(*node);
  }
}

void Scheduler::start(Node& node) {
  const Clock::time_point began = Clock::now();
  std::exception_ptr cause;
  {
    Section section(*this);
    begin(node);
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
  Section section(*this);
  --node.in_code;
  section.touch(node);
  node.figures.busy += Clock::now() - began;
  if (cause) fail(section, node, nullptr, cause);
}

void Scheduler::work(std::size_t node) {
  take_over(this);
  // What a job gives rise to is most often the reader's, whose input is still in this core's cache: it comes next.
  Tickets mine{nodes_[node].get()};
  while (!mine.empty()) {
    Node& next = *mine.back();
    mine.pop_back();
    if (std::optional<Job> job = job_of_ticket(next, mine)) run_job(next, *job, &mine);
  }
  hand_over(this);
}

// The job is taken now and not when the ticket was put: what came meanwhile goes with it. There may be none any more.
// Before one that may take long, what waits behind it is given to other workers.
std::optional<Job> Scheduler::job_of_ticket(Node& node, Tickets& behind) {
  Section section(*this);
  if (!node.is_quick()) {
    for (Node* other : behind) section.put_ticket(*other);
    behind.clear();
  }
  --node.tickets;
  std::optional<Job> job;
  if (!cancelled_ && node.phase == Node::Phase::running) {
    if (inputs_over(node)) {
      if (node.in_work == 1) job = take_flush(node);
    } else if (ready(section, node) && node.outputs_have_room()) {
      job = take(section, node);
    }
  }
  if (job) {
    begin(node);
  } else {
    --node.in_work;
    --active_;
    section.touch(node);
  }
  return job;
}

void Scheduler::own_thread(Node& node) {
  if (starts_on_own_thread(node)) start(node);
  while (std::optional<Job> job = next_own_job(node)) run_job(node, *job, nullptr);
  Section section(*this);
  --active_;
  --own_threads_;
}

std::optional<Job> Scheduler::next_own_job(Node& node) {
  std::optional<Job> job;
  const Clock::time_point since = observer_ ? Clock::now() : Clock::time_point{};
  bool waited = false;
  {
    Section section(*this);
    while (!cancelled_ && node.phase == Node::Phase::running && !job) {
      if (joins_unevenly(section, node)) break;
      if (node.info().kind == GadgetKind::source || inputs_over(node)) {
        job = take_flush(node);
      } else if (ready(section, node)) {
        job = take(section, node);
      } else if (node.is_to_idle()) {
        job = take_idle(node);
      } else {
        section.wait(node, Node::Waiting::for_input);
        waited = true;
      }
    }
    if (job) begin(node);
  }
  if (waited && observer_) observer_->waited(node.index, Observer::WaitKind::for_input, since, Clock::now());
  return job;
}

void Scheduler::run_job(Node& node, Job& job, Tickets* mine) {
  const Clock::time_point began = Clock::now();
  // A gadget with its own thread alone changes this while a job runs.
  const Clock::duration waited_before = node.on_graph() ? Clock::duration{} : node.figures.waiting_output;
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
  Section section(*this, mine);
  Clock::duration busy = ended - began;
  if (!node.on_graph()) busy -= node.figures.waiting_output - waited_before;
  node.figures.busy += busy;
  if (!job.is_flush && !job.is_idle) {
    node.may_idle = true;
    const double call_ns =
        std::chrono::duration<double, std::nano>(busy).count() / static_cast<double>(job.calls.size());
    node.mean_call_ns = node.figures.calls == 0 ? call_ns : 0.75 * node.mean_call_ns + 0.25 * call_ns;
    node.figures.calls += job.calls.size();
    if (node.info().kind == GadgetKind::sink)
      for (const Call& done : job.calls) node.figures.latency.add(ended - done.info.ingress);
  }
  if (cause) fail(section, node, job.is_flush || job.is_idle ? nullptr : &job.calls[call], cause);
  finish(section, node, std::move(job));
}

// All calls of the job, as long as the run goes on; `call` is the one under way.
void Scheduler::make_calls(Node& node, Job& job, std::size_t& call) {
  Outlet outlet(*this, node, &job);
  if (job.params_are_new) node.instance->update(job.params);
  // Calls of a pure gadget may overlap, so each job has a context of its own.
  std::optional<Context> own_context;
  if (node.publishes_in_order()) own_context.emplace(node.record);
  Context& context = own_context ? *own_context : node.context;
  for (; call < job.calls.size() && !cancelled_; ++call) {
    outlet.call = call;
    const MessageInfo& info = job.calls[call].info;
    const bool has_input = !job.is_flush && !job.is_idle;
    if (!node.publishes_in_order() && has_input) {  // the next output of a serial gadget stems from this one too
      if (std::exchange(node.origin_was_emitted, false))
        node.origin = info;
      else
        widen(node.origin, info);
      node.origin.sequence = info.sequence;
    }
    if (has_input) context.set_message(info);
    call_gadget(node, job, call, outlet, context);
  }
}

void Scheduler::call_gadget(Node& node, Job& job, std::size_t call, EmitTarget& outlet, Context& context) {
  using Kind = Observer::CallKind;
  const bool is_source = node.info().kind == GadgetKind::source;
  const Kind kind = is_source ? Kind::run : job.is_flush ? Kind::flush : job.is_idle ? Kind::idle : Kind::process;
  const MessageInfo& info = job.calls[call].info;
  const Clock::time_point began = observer_ ? Clock::now() : Clock::time_point{};
  if (observer_) observer_->call_begins(node.index, kind, info);
  if (kind == Kind::run)
    node.instance->run(outlet, stop_source_.get_token(), context, job.params);
  else if (kind == Kind::flush)
    node.instance->flush(outlet, context, job.params);
  else if (kind == Kind::idle)
    node.may_idle = node.instance->idle(outlet, context, job.params);
  else
    process(node, job, call, outlet, context);
  if (observer_) observer_->call_ends(node.index, kind, info, began, Clock::now());
}

// One call of process, with the fault that was asked for. The inputs are let go at once, not with the job.
void Scheduler::process(Node& node, Job& job, std::size_t call, EmitTarget& outlet, Context& context) {
  const std::size_t ports = node.inputs.size();
  const std::span<Payload> inputs(job.payloads.data() + call * ports, ports);
  Fate fate = Fate::pass;
  if (node.gadget->fault.any()) fate = meet_fault(node, job.calls[call].number);
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

Fate Scheduler::meet_fault(Node& node, std::uint64_t number) const {
  return tofstream::meet_fault(node.gadget->fault, number, [this] { return !cancelled_; });
}

// With the lock held: as many calls as make one job; one of a gadget with its own thread.
Job Scheduler::take(Section& section, Node& node) {
  Job job = new_job(node);
  if (!node.on_graph()) {
    take_call(section, node, job);
    return job;
  }
  std::size_t limit = node.calls_worth_one_job();
  for (const auto& port : node.outputs)
    for (const Edge* edge : port) limit = std::min(limit, edge->room());
  do {
    take_call(section, node, job);
  } while (job.calls.size() < limit && ready(section, node));
  job.reserved.assign(node.outputs.size(), job.calls.size());
  for (const auto& port : node.outputs)
    for (Edge* edge : port) edge->reserve(job.calls.size());
  return job;
}

}  // namespace tofstream
