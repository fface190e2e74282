#include "core/run/workers.hpp"

#include <chrono>
#include <future>
#include <utility>

#include "core/run/run_error.hpp"

namespace tofstream {
namespace {

// Without the lock.
std::optional<RunError> move_chunk(Edge& edge, SpillChunk& chunk) {
  try {
    edge.spill()->move(chunk);
    return std::nullopt;
  } catch (const std::exception& error) {
    return spill_error(edge, error);
  }
}

}  // namespace

void Workers::launch(const std::shared_ptr<void>& run) {
  launch_flow_graph(run);
  start_gadgets();
  Section section(dispatch_);
  state_.launched = true;
  if (!state_.cancelled) launch_threads(section, run);
}

// The flow graph lives on a thread of its own, which works with the others in FlowGraph::wait: so it runs on one core
// too, and the caller is free to watch deadlines.
void Workers::launch_flow_graph(const std::shared_ptr<void>& run) {
  std::promise<void> ready;
  threads_.emplace_back([this, run, &ready] {
    std::vector<unsigned> parallel;
    for (const auto& node : graph_.nodes()) parallel.push_back(node->on_graph() ? node->gadget->parallel : 0);
    flow_ = std::make_unique<FlowGraph>(parallel, *this);
    ready.set_value();
    flow_->wait();
    take_over(*this);
  });
  ready.get_future().wait();
  dispatch_.set_flow(*flow_);
}

// A start that may take long, as where a GPU is set up, does not keep data from flowing elsewhere. Promises know
// nothing of what such a start would still give.
bool Workers::starts_on_own_thread(const Node& node) const {
  return node.info().has_start && !node.on_graph() && !graph_.goes_by_origin();
}

void Workers::start_gadgets() {
  for (const auto& node : graph_.nodes()) {
    if (state_.cancelled) return;
    if (node->info().has_start && !starts_on_own_thread(*node)) calls_.start(*node);
  }
}

void Workers::launch_threads(Section& section, const std::shared_ptr<void>& run) {
  const auto launch = [&](auto thread) {
    ++state_.own_threads;
    ++state_.active;
    threads_.emplace_back(std::move(thread));
  };
  for (const auto& node : graph_.nodes()) {
    section.touch(*node);
    if (!node->on_graph()) launch([this, run, &n = *node] { serve_gadget(n); });
  }
  for (const auto& edge : graph_.edges())
    if (edge->spill()) launch([this, run, &e = *edge] { serve_disk(e); });
}

void Workers::join() {
  threads_.clear();
}

void Workers::abandon() {
  for (std::jthread& thread : threads_) thread.detach();
  threads_.clear();
}

void Workers::work(std::size_t node) {
  take_over(*this);
  // What a job gives rise to is most often the reader's, whose input is still in this core's cache: it comes next.
  Section::Tickets mine{graph_.nodes()[node].get()};
  while (!mine.empty()) {
    Node& next = *mine.back();
    mine.pop_back();
    if (std::optional<Job> job = job_of_ticket(next, mine)) calls_.run(next, *job, &mine);
  }
  hand_over(*this);
}

// The job is taken now and not when the ticket was put: what came meanwhile goes with it. There may be none any more.
// Before a job that may take long, what waits behind it is given to other workers.
std::optional<Job> Workers::job_of_ticket(Node& node, Section::Tickets& behind) {
  Section section(dispatch_);
  if (!node.is_quick()) {
    for (Node* other : behind) section.put_ticket(*other);
    behind.clear();
  }
  --node.tickets;
  std::optional<Job> job;
  if (!state_.cancelled && node.phase == Node::Phase::running) {
    if (dispatch_.inputs_over(node)) {
      if (node.in_work == 1) job = delivery_.take_flush(node);
    } else if (dispatch_.ready(section, node) && node.outputs_have_room()) {
      job = delivery_.take(section, node);
    }
  }
  if (job) {
    node.enter_code();
  } else {
    --node.in_work;
    --state_.active;
    section.touch(node);
  }
  return job;
}

void Workers::serve_gadget(Node& node) {
  if (starts_on_own_thread(node)) calls_.start(node);
  while (std::optional<Job> job = next_own_job(node)) calls_.run(node, *job, nullptr);
  Section section(dispatch_);
  --state_.active;
  --state_.own_threads;
}

std::optional<Job> Workers::next_own_job(Node& node) {
  using Clock = std::chrono::steady_clock;
  std::optional<Job> job;
  const Clock::time_point since = observer_ ? Clock::now() : Clock::time_point{};
  bool waited = false;
  {
    Section section(dispatch_);
    while (!state_.cancelled && node.phase == Node::Phase::running && !job) {
      if (dispatch_.joins_unevenly(section, node)) break;
      if (node.info().kind == GadgetKind::source || dispatch_.inputs_over(node)) {
        job = delivery_.take_flush(node);
      } else if (dispatch_.ready(section, node)) {
        job = delivery_.take(section, node);
      } else if (node.is_to_idle()) {
        job = delivery_.take_idle(node);
      } else {
        section.wait(node, Node::Waiting::for_input);
        waited = true;
      }
    }
    if (job) node.enter_code();
  }
  if (waited && observer_) observer_->waited(node.index, Observer::WaitKind::for_input, since, Clock::now());
  return job;
}

void Workers::serve_disk(Edge& edge) {
  while (const std::shared_ptr<SpillChunk> chunk = next_move(edge)) {
    std::optional<RunError> error = move_chunk(edge, *chunk);
    Section section(dispatch_);
    ++state_.moves;
    edge.end_move(*chunk);
    section.touch(*edge.writer);
    section.touch(*edge.reader);
    if (error) dispatch_.cancel(section, std::move(error));
  }
  SpillBuffer::Chunks left;  // destroyed when the lock is let go
  Section section(dispatch_);
  left = edge.end_mover();
  --state_.active;
  --state_.own_threads;
}

// Waits for it; null where there will be none any more.
std::shared_ptr<SpillChunk> Workers::next_move(Edge& edge) {
  Section section(dispatch_);
  section.wait(edge);
  if (state_.cancelled || edge.is_moved_for_good()) return {};
  return edge.begin_move();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
