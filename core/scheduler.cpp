#include "core/scheduler.hpp"

#include <future>
#include <utility>

#include <boost/container/small_vector.hpp>

#include "core/scheduler_section.hpp"

namespace tofstream {

// Where a gadget's Emit leads. Pure gadgets on the graph keep their output until it is its turn; a
// gadget with its own thread waits for room; the rest have a place reserved and may overshoot by
// what one call emits beyond it.
class Scheduler::Outlet final : public EmitTarget {
 public:
  Outlet(Scheduler& scheduler, Node& node, Job* job) : scheduler_(scheduler), node_(node), job_(job) {}

  void emit(std::size_t port, Payload payload) override {
    const PayloadType& type = *node_.info().outputs[port].payload;
    Message message;
    message.events = type.events(payload.data.get());
    message.bytes = type.bytes(payload.data.get());
    message.payload = std::move(payload);
    if (job_ && node_.publishes_in_order()) {
      job_->outputs.emplace_back(port, std::move(message));
      return;
    }
    Section section(scheduler_);
    if (scheduler_.launched_ && !node_.on_graph()) wait_for_room(section, port);
    if (scheduler_.cancelled_) throw Cancelled{};
    scheduler_.publish(section, node_, port, std::move(message), job_);
  }

 private:
  void wait_for_room(Section& section, std::size_t port) {
    if (scheduler_.cancelled_ || node_.port_has_room(port)) return;
    const Clock::time_point since = Clock::now();
    while (!scheduler_.cancelled_ && !node_.port_has_room(port)) section.wait(node_, Node::Waiting::for_room, port);
    node_.figures.waiting_output += Clock::now() - since;
  }

  Scheduler& scheduler_;
  Node& node_;
  Job* job_;
};

Scheduler::Scheduler(Pipeline pipeline, const std::filesystem::path& output_dir) : pipeline_(std::move(pipeline)) {
  for (const PipelineGadget& gadget : pipeline_.gadgets)
    nodes_.push_back(std::make_unique<Node>(nodes_.size(), gadget, output_dir));
  for (const PipelineEdge& description : pipeline_.edges) {
    Node& writer = *nodes_[description.from];
    Node& reader = *nodes_[description.to];
    edges_.push_back(std::make_unique<Edge>(description, writer, reader));
    writer.outputs[description.from_port].push_back(edges_.back().get());
    reader.inputs[description.to_port] = edges_.back().get();
  }
  alive_ = nodes_.size();
}

Scheduler::~Scheduler() {
  // What a gadget refers to was made before it: sources first, so sinks go first.
  while (!nodes_.empty()) nodes_.pop_back();
}

std::vector<RunError> Scheduler::construct() {
  for (const auto& node : nodes_) {
    try {
      node->instance = node->info().construct(node->gadget->params, node->context);
    } catch (...) {
      Section section(*this);
      cancelled_ = false;  // so that each failure is kept
      fail(section, *node, nullptr, std::current_exception());
    }
  }
  return errors_;
}

void Scheduler::launch() {
  launch_flow_graph();
  start_gadgets();
  const auto self = shared_from_this();
  Section section(*this);
  launched_ = true;
  if (!cancelled_) {
    for (const auto& node : nodes_) {
      section.touch(*node);
      if (node->on_graph()) continue;
      ++own_threads_;
      ++active_;
      threads_.emplace_back([self, &n = *node] { self->own_thread(n); });
    }
  }
}

// The graph lives on a thread of its own, which works with the others in wait_for_all: so it runs
// on one core too, and the caller is free to watch deadlines.
void Scheduler::launch_flow_graph() {
  std::promise<void> ready;
  threads_.emplace_back([self = shared_from_this(), &ready] {
    std::vector<unsigned> parallel;
    for (const auto& node : self->nodes_) parallel.push_back(node->on_graph() ? node->gadget->parallel : 0);
    self->graph_ = std::make_unique<FlowGraph>(parallel, *self);
    ready.set_value();
    self->graph_->wait();
    take_over(self.get());
  });
  ready.get_future().wait();
}

void Scheduler::start_gadgets() {
  for (const auto& node : nodes_) {
    if (!node->info().has_start) continue;
    try {
      Outlet outlet(*this, *node, nullptr);
      node->instance->start(outlet, node->context);
    } catch (const Cancelled&) {
      return;
    } catch (...) {
      Section section(*this);
      fail(section, *node, nullptr, std::current_exception());
      return;
    }
  }
}

void Scheduler::work(std::size_t node) {
  take_over(this);
  run_dispatched(*nodes_[node]);
  hand_over(this);
}

// Runs the job at the head of the node's line.
void Scheduler::run_dispatched(Node& node) {
  Job job;
  {
    Section section(*this);
    job = std::move(node.dispatched.front());
    node.dispatched.pop_front();
    if (cancelled_) {
      --node.in_work;
      --active_;
      return;
    }
    begin(node, job);
  }
  run_job(node, job);
}

void Scheduler::own_thread(Node& node) {
  while (std::optional<Job> job = next_own_job(node)) run_job(node, *job);
  Section section(*this);
  --active_;
  --own_threads_;
}

std::optional<Job> Scheduler::next_own_job(Node& node) {
  Section section(*this);
  std::optional<Job> job;
  while (!cancelled_ && node.phase == Node::Phase::running && !job) {
    if (joins_unevenly(section, node)) break;
    if (node.info().kind == GadgetKind::source || inputs_over(node))
      job = take_flush(node);
    else if (node.inputs_ready())
      job = take(section, node);
    else
      section.wait(node, Node::Waiting::for_input);
  }
  if (job) begin(node, *job);
  return job;
}

void Scheduler::run_job(Node& node, Job& job) {
  const Clock::time_point began = Clock::now();
  // Of a gadget with its own thread, which alone changes it while a job runs.
  const Clock::duration waited_before = node.on_graph() ? Clock::duration{} : node.figures.waiting_output;
  std::exception_ptr cause;
  try {
    call_gadget(node, job);
  } catch (const Cancelled&) {
  } catch (...) {
    cause = std::current_exception();
  }
  const Clock::time_point ended = Clock::now();
  Section section(*this);
  node.figures.busy += ended - began;
  if (!node.on_graph()) node.figures.busy -= node.figures.waiting_output - waited_before;
  if (node.info().kind == GadgetKind::sink && !job.is_flush) node.figures.latency.add(ended - job.info.ingress);
  if (cause) fail(section, node, &job, cause);
  finish(section, node, std::move(job));
}

void Scheduler::call_gadget(Node& node, Job& job) {
  Outlet outlet(*this, node, &job);
  GadgetInstance& gadget = *node.instance;
  if (node.info().kind == GadgetKind::source) return gadget.run(outlet, stop_source_.get_token(), node.context);
  if (job.is_flush) return gadget.flush(outlet, node.context);
  boost::container::small_vector<Payload, 4> inputs;
  for (Message& message : job.inputs) inputs.push_back(std::move(message.payload));
  if (!node.publishes_in_order()) {
    node.context.set_message(job.info);
    return gadget.process({inputs.data(), inputs.size()}, outlet, node.context);
  }
  Context context(node.record);
  context.set_message(job.info);
  gadget.process({inputs.data(), inputs.size()}, outlet, context);
}

bool Scheduler::wait(std::optional<Clock::time_point> deadline, bool until_stop, bool until_cancel) {
  std::unique_lock lock(mutex_);
  const auto done = [&] { return finished_ || (until_stop && stopping_) || (until_cancel && cancelled_); };
  if (deadline)
    changed_.wait_until(lock, *deadline, done);
  else
    changed_.wait(lock, done);
  return finished_;
}

void Scheduler::join() {
  threads_.clear();
}

void Scheduler::abandon() {
  for (std::jthread& thread : threads_) thread.detach();
  threads_.clear();
}

void Scheduler::request_stop() {
  Section section(*this);
  stopping_ = true;
  section.stop_sources_on_leaving();
  changed_.notify_all();
  for (const auto& node : nodes_) section.touch(*node);
}

void Scheduler::cancel(std::optional<RunError> error) {
  Section section(*this);
  cancel(section, std::move(error));
}

bool Scheduler::cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

bool Scheduler::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

std::vector<std::string> Scheduler::in_code() const {
  const std::lock_guard lock(mutex_);
  return nodes_in_code();
}

RunReport Scheduler::figures() const {
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  RunReport report;
  report.pipeline = pipeline_.name;
  report.resolved = pipeline_.resolved;
  LatencyHistogram latency;
  const std::lock_guard lock(mutex_);
  for (const auto& node : nodes_) {
    const NodeFigures& figures = node->figures;
    report.gadgets.push_back({node->name(), node->info().name, figures.messages_in, figures.messages_out,
                              figures.events_in, figures.events_out, seconds(figures.busy),
                              seconds(figures.waiting_output), node->record.books(), node->record.figures(),
                              node->record.progress()});
    latency.add(figures.latency);
  }
  for (const auto& edge : edges_)
    report.edges.push_back({edge->description().name, edge->description().settings, edge->figures()});
  report.latency = {latency.count(), latency.quantile_seconds(0.5), latency.quantile_seconds(0.99),
                    latency.max_seconds()};
  report.errors = errors_;
  report.running_at_cancel = running_at_cancel_;
  report.stopped = stopping_;
  report.aborted = aborted_;
  return report;
}

}  // namespace tofstream
