// The scheduler's decisions: which gadget can be called, where messages go, when a gadget has ended
// and when the run has. All of it with the lock held.
#include <algorithm>

#include <boost/core/demangle.hpp>
#include <cxxabi.h>
#include <fmt/format.h>

#include "core/log.hpp"
#include "core/scheduler_section.hpp"

namespace tofstream {
namespace {

bool has_events(const MessageInfo& info) {
  return info.end_event > info.first_event;
}

// Takes `other` into the span of events and times of `info`.
void widen(MessageInfo& info, const MessageInfo& other) {
  info.ingress = std::min(info.ingress, other.ingress);
  if (!has_events(other)) return;
  info.first_event = has_events(info) ? std::min(info.first_event, other.first_event) : other.first_event;
  info.end_event = std::max(info.end_event, other.end_event);
}

// What an exception says, whatever its type.
std::string words_of(std::exception_ptr cause) {
  try {
    std::rethrow_exception(std::move(cause));
  } catch (const std::exception& error) {
    const std::string what = one_line(error.what());
    return what.empty() ? boost::core::demangle(typeid(error).name()) : what;
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return "an exception that is no std::exception: " + (type ? boost::core::demangle(type->name()) : "unknown");
  }
}

}  // namespace

void Scheduler::examine(Section& section, Node& node) {
  if (!launched_ || cancelled_) return;
  if (node.waiting != Node::Waiting::no && can_go_on(node)) node.wake.notify_one();
  if (!node.on_graph() || node.phase != Node::Phase::running) return;
  if (joins_unevenly(section, node)) return;
  while (node.in_work < node.gadget->parallel) {
    const bool flush = inputs_over(node);
    if (flush ? node.in_work > 0 : !node.inputs_ready()) return;
    if (!node.outputs_have_room()) {
      if (!node.blocked_since) node.blocked_since = Clock::now();
      return;
    }
    if (node.blocked_since) {
      node.figures.waiting_output += Clock::now() - *node.blocked_since;
      node.blocked_since.reset();
    }
    dispatch(section, node, flush ? take_flush(node) : take(section, node));
    if (flush) return;
  }
}

// Sources that were stopped end where they happen to be, so a join may then be left with messages
// of one side.
bool Scheduler::inputs_over(const Node& node) const {
  if (node.inputs.empty()) return false;
  if (node.inputs_over()) return true;
  return stopping_ && std::ranges::any_of(node.inputs, [](const Edge* edge) {
           return !edge->description().is_feedback && edge->is_over();
         });
}

bool Scheduler::joins_unevenly(Section& section, Node& node) {
  if (node.inputs.size() < 2 || inputs_over(node)) return false;
  const auto over = std::ranges::find_if(node.inputs, &Edge::is_over);
  const auto going_on = std::ranges::find_if(node.inputs, &Edge::has_message);
  if (over == node.inputs.end() || going_on == node.inputs.end()) return false;
  const auto& ports = node.info().inputs;
  cancel(section,
         RunError{node.name(),
                  fmt::format("its input '{}' ended while '{}' goes on, and it takes one message of each",
                              ports[over - node.inputs.begin()].name, ports[going_on - node.inputs.begin()].name),
                  node.gadget->where, std::nullopt});
  return true;
}

Job Scheduler::take(Section& section, Node& node) {
  Job job;
  job.order = node.next_job++;
  job.inputs.reserve(node.inputs.size());
  bool first = true;
  for (Edge* edge : node.inputs) {
    job.inputs.push_back(edge->pop());
    section.touch(*edge->writer);
    const Message& message = job.inputs.back();
    ++node.figures.messages_in;
    node.figures.events_in += message.events;
    if (edge->description().is_feedback) continue;
    if (std::exchange(first, false))
      job.info = message.info;
    else
      widen(job.info, message.info);
  }
  return job;
}

Job Scheduler::take_flush(Node& node) {
  node.phase = Node::Phase::flushing;
  Job job;
  job.order = node.next_job++;
  job.is_flush = true;
  job.info = node.origin;
  return job;
}

// Hands the job to the flow graph, with a place on every output edge kept for what it may give.
void Scheduler::dispatch(Section& section, Node& node, Job job) {
  job.reserved.assign(node.outputs.size(), true);
  for (const auto& port : node.outputs)
    for (Edge* edge : port) edge->reserve();
  ++node.in_work;
  ++active_;
  node.dispatched.push_back(std::move(job));
  section.put_ticket(node);
}

void Scheduler::begin(Node& node, Job& job) {
  ++node.in_code;
  if (node.publishes_in_order() || job.is_flush) return;
  if (std::exchange(node.origin_was_emitted, false)) {
    node.origin = job.info;
  } else {
    const std::uint64_t sequence = job.info.sequence;
    widen(node.origin, job.info);
    node.origin.sequence = sequence;
  }
}

void Scheduler::finish(Section& section, Node& node, Job job) {
  --node.in_code;
  if (node.on_graph()) {
    --node.in_work;
    --active_;
  }
  if (cancelled_) {
    for (auto& [port, message] : job.outputs) section.trash().push_back(std::move(message));
    return;
  }
  const bool flushed = job.is_flush;
  if (node.publishes_in_order()) {
    if (job.order == node.next_published) {
      publish_outputs(section, node, job);
      ++node.next_published;
    } else {
      node.finished.emplace(job.order, std::move(job));
    }
    while (!node.finished.empty() && node.finished.begin()->first == node.next_published) {
      publish_outputs(section, node, node.finished.begin()->second);
      node.finished.erase(node.finished.begin());
      ++node.next_published;
    }
  } else {
    release_places(node, job);
  }
  if (flushed) end(section, node);
  section.touch(node);
}

void Scheduler::publish_outputs(Section& section, Node& node, Job& job) {
  for (auto& [port, message] : job.outputs) publish(section, node, port, std::move(message), &job);
  release_places(node, job);
}

void Scheduler::release_places(Node& node, Job& job) {
  for (std::size_t port = 0; port < job.reserved.size(); ++port) {
    if (!job.reserved[port]) continue;
    job.reserved[port] = false;
    for (Edge* edge : node.outputs[port]) edge->release();
  }
}

void Scheduler::publish(Section& section, Node& node, std::size_t port, Message message, Job* job) {
  MessageInfo& info = message.info;
  info = job && node.publishes_in_order() ? job->info : node.origin;
  node.origin_was_emitted = true;
  if (node.info().kind == GadgetKind::source || info.ingress == Clock::time_point{}) info.ingress = Clock::now();
  info.sequence = node.next_sequence[port]++;
  if (!has_events(info) && message.events > 0) {  // here events are counted for the first time
    info.first_event = node.next_event;
    info.end_event = node.next_event += message.events;
  }
  ++node.figures.messages_out;
  node.figures.events_out += message.events;

  const std::vector<Edge*>& edges = node.outputs[port];
  const bool reserved = job && port < job->reserved.size() && job->reserved[port];
  if (reserved) job->reserved[port] = false;
  message.payload.movable = message.payload.movable && edges.size() == 1;
  for (Edge* edge : edges) {
    if (reserved) edge->release();
    if (edge != edges.back()) edge->push(message, section.trash());
    section.touch(*edge->reader);
  }
  if (edges.empty())
    section.trash().push_back(std::move(message));
  else
    edges.back()->push(std::move(message), section.trash());
}

void Scheduler::end(Section& section, Node& node) {
  node.phase = Node::Phase::ended;
  --alive_;
  for (Edge* edge : node.inputs) {
    edge->close(section.trash());
    section.touch(*edge->writer);
  }
  for (const auto& port : node.outputs) {
    for (Edge* edge : port) {
      edge->end();
      section.touch(*edge->reader);
    }
  }
}

bool Scheduler::can_go_on(const Node& node) const {
  if (node.waiting == Node::Waiting::for_room) return node.port_has_room(node.waiting_port);
  if (node.inputs_ready() || inputs_over(node)) return true;
  // An uneven join is for its own thread to find out.
  return node.inputs.size() > 1 && std::ranges::any_of(node.inputs, &Edge::is_over) &&
         std::ranges::any_of(node.inputs, &Edge::has_message);
}

// Ends the run when nothing is left to do; and fails it, instead of hanging, when nothing can ever
// be done again.
void Scheduler::check_progress(Section& section) {
  if (!launched_ || finished_ || active_ > 0) return;
  if (own_threads_ == 0 && (alive_ == 0 || cancelled_)) {
    finished_ = true;
    section.release_graph_on_leaving();
    changed_.notify_all();
    return;
  }
  if (cancelled_ || alive_ == 0) return;
  for (const auto& node : nodes_)
    if (node->waiting != Node::Waiting::no && can_go_on(*node)) return;  // it was notified
  cancel(section,
         RunError{"", "the pipeline is stuck, each gadget waiting for another: " + who_waits(), {}, std::nullopt});
}

std::string Scheduler::who_waits() const {
  std::vector<std::string> words;
  for (const auto& node : nodes_) {
    if (node->phase == Node::Phase::ended) continue;
    for (std::size_t port = 0; port < node->inputs.size(); ++port)
      if (!node->inputs[port]->has_message() && !node->inputs[port]->is_over())
        words.push_back(fmt::format("'{}' waits for {}", node->name(), node->inputs[port]->description().name));
    for (const auto& port : node->outputs)
      for (const Edge* edge : port)
        if (!edge->has_room())
          words.push_back(fmt::format("'{}' is held up by the full edge {}", node->name(), edge->description().name));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

void Scheduler::cancel(Section& section, std::optional<RunError> error) {
  if (cancelled_ || finished_) return;
  cancelled_ = true;
  aborted_ = !error;
  running_at_cancel_ = nodes_in_code();
  if (error) errors_.push_back(std::move(*error));
  for (const auto& edge : edges_) edge->close(section.trash());
  for (const auto& node : nodes_) {
    node->wake.notify_all();
    for (auto& [order, job] : node->finished)
      for (auto& [port, message] : job.outputs) section.trash().push_back(std::move(message));
    node->finished.clear();
  }
  section.stop_sources_on_leaving();
  changed_.notify_all();
}

void Scheduler::fail(Section& section, const Node& node, const Job* job, std::exception_ptr cause) {
  RunError error{node.name(), words_of(std::move(cause)), node.gadget->where, std::nullopt};
  if (job && !job->inputs.empty()) error.message = job->info.sequence;
  if (cancelled_) {
    program_log().debug("after the run was cancelled: {}", error.text());
    return;
  }
  cancel(section, std::move(error));
}

std::vector<std::string> Scheduler::nodes_in_code() const {
  std::vector<std::string> names;
  for (const auto& node : nodes_)
    if (node->in_code > 0 && node->waiting == Node::Waiting::no) names.push_back(node->name());
  return names;
}

}  // namespace tofstream
