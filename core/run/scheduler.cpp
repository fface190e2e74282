#include "core/run/scheduler.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "core/run/scheduler_section.hpp"

namespace tofstream {

Scheduler::Scheduler(Pipeline pipeline, const EngineOptions& options)
    : pipeline_(std::move(pipeline)),
      observer_(options.observer),
      turns_(options.turns ? std::make_unique<Turns::Place>(options.turns) : nullptr) {
  const std::filesystem::path output_dir = options.output_dir.empty() ? "." : options.output_dir;
  for (const PipelineGadget& gadget : pipeline_.gadgets) {
    nodes_.push_back(std::make_unique<Node>(nodes_.size(), gadget, output_dir, cancel_source_.get_token(), *this,
                                            stop_source_.get_token()));
    parameters_.push_back(gadget.resolved);
    GadgetRecord& record = nodes_.back()->record;
    record.turns = turns_.get();
    if (!options.name.empty()) record.label = options.name + ": " + gadget.name;
    if (observer_)
      record.on_span = [this, index = nodes_.size() - 1](auto... what) { observer_->span(index, what...); };
  }
  make_edges();
  counts_.add(0, {});
  alive_ = nodes_.size();
}

void Scheduler::make_edges() {
  for (const PipelineEdge& description : pipeline_.edges) {
    Node& writer = *nodes_[description.from];
    Node& reader = *nodes_[description.to];
    const PayloadType& type = *writer.info().outputs[description.from_port].payload;
    edges_.push_back(std::make_unique<Edge>(description, type, writer, reader));
    writer.outputs[description.from_port].push_back(edges_.back().get());
    reader.inputs[description.to_port].add(*edges_.back());
  }
  for (const auto& node : nodes_) {
    const auto merges = [](const InputPort& port) { return port.edges().size() > 1; };
    node->numbers_messages = node->info().kind == GadgetKind::source || (node->gadget->merge == MergeOrder::unordered &&
                                                                         std::ranges::any_of(node->inputs, merges));
    any_idles_ = any_idles_ || node->info().has_idle;
    goes_by_origin_ =
        goes_by_origin_ || node->gadget->join == JoinMode::sequence || node->gadget->merge == MergeOrder::ordered;
    node->tell_ports();
  }
}

Scheduler::~Scheduler() {
  // What a gadget refers to was made before it: sources first, so sinks go first. A thread of a gadget's own may ask
  // for figures until its gadget is gone, so all nodes stay until then.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) (*node)->instance.reset();
  while (!nodes_.empty()) nodes_.pop_back();
}

std::vector<RunError> Scheduler::construct() {
  {
    const std::lock_guard lock(mutex_);
    started_ = std::chrono::system_clock::now();
    began_ = Clock::now();
  }
  std::vector<RunError> errors;
  for (const auto& node : nodes_) {
    if (cancelled_) return {};
    try {
      node->instance = node->info().construct(node->gadget->params, node->context);
    } catch (...) {
      if (!cancelled_) errors.push_back(error_of(*node, std::current_exception()));
    }
  }
  for (const auto& edge : edges_) {
    try {
      if (edge->spill()) edge->spill()->open();
    } catch (const std::exception& error) {
      errors.push_back(spill_error(*edge, error));
    }
  }
  return errors;
}

void Scheduler::watch_files(const std::function<void()>& changed) {
  for (const auto& node : nodes_) node->record.on_file = changed;
}

void Scheduler::launch() {
  launch_flow_graph();
  start_gadgets();
  Section section(*this);
  launched_ = true;
  if (!cancelled_) launch_threads(section);
}

void Scheduler::launch_threads(Section& section) {
  const auto self = shared_from_this();
  const auto launch = [&](auto thread) {
    ++own_threads_;
    ++active_;
    threads_.emplace_back(std::move(thread));
  };
  for (const auto& node : nodes_) {
    section.touch(*node);
    if (!node->on_graph()) launch([self, &n = *node] { self->own_thread(n); });
  }
  for (const auto& edge : edges_)
    if (edge->spill()) launch([self, &e = *edge] { self->mover_thread(e); });
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

bool Scheduler::wait(std::optional<Clock::time_point> deadline, bool until_stop, bool until_cancel) {
  std::unique_lock lock(mutex_);
  const auto done = [&] { return finished_ || (until_stop && stopping_) || (until_cancel && cancelled_); };
  const auto of_run = [&](double seconds) {
    return began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  while (!done()) {
    const Clock::time_point until = of_run(counts_.due());
    if (changed_.wait_until(lock, deadline ? std::min(*deadline, until) : until, done)) break;
    if (deadline && Clock::now() >= *deadline) break;
    const CountPoint now = count_now();
    counts_.add(now.seconds, now);
  }
  return finished_;
}

void Scheduler::join() {
  threads_.clear();
}

void Scheduler::abandon() {
  for (std::jthread& thread : threads_) thread.detach();
  threads_.clear();
  if (turns_) turns_->leave();
}

void Scheduler::cancel(std::optional<RunError> error) {
  Section section(*this);
  cancel(section, std::move(error));
}

std::uint64_t Scheduler::moves() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t moves = moves_;
  for (const auto& node : nodes_) moves += node->record.progress_changes();
  return moves;
}

bool Scheduler::waits_outside() const {
  const std::lock_guard lock(mutex_);
  const auto is_outside = [](const auto& node) { return node->record.waits_outside(); };
  const auto is_kept = [&](const auto& node) {
    return node->in_code > 0 && node->waiting == Node::Waiting::no && !is_outside(node);
  };
  return std::ranges::any_of(nodes_, is_outside) && std::ranges::none_of(nodes_, is_kept);
}

std::string Scheduler::state_in_words() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> words;
  for (const auto& node : nodes_)
    if (node->in_code > 0 && node->waiting == Node::Waiting::no)
      words.push_back(fmt::format("'{}' has been in its own code for {:.1f} s", node->name(),
                                  std::chrono::duration<double>(Clock::now() - node->in_code_since).count()));
  for (std::string& line : who_waits()) words.push_back(std::move(line));
  return fmt::format("{}", fmt::join(words, "; "));
}

bool Scheduler::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool Scheduler::cancelled() const {
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

}  // namespace tofstream
