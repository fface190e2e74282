// The scheduler's decisions: which gadget can be called, where messages go, when a gadget has ended
// and when the run has. All of it with the lock held.
#include <algorithm>
#include <limits>

#include <boost/core/demangle.hpp>
#include <cxxabi.h>
#include <fmt/format.h>

#include "core/base/log.hpp"
#include "core/run/scheduler_section.hpp"

namespace tofstream {
namespace {

// After all messages of the source; all ones stand for an edge that is over.
constexpr std::uint64_t origin_of_flush = std::numeric_limits<std::uint64_t>::max() - 1;

bool has_events(const MessageInfo& info) {
  return info.end_event > info.first_event;
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

void widen(MessageInfo& info, const MessageInfo& other) {
  info.origin = std::max(info.origin, other.origin);
  info.ingress = std::min(info.ingress, other.ingress);
  info.last_ingress = std::max(info.last_ingress, other.last_ingress);
  if (!has_events(other)) return;
  info.first_event = has_events(info) ? std::min(info.first_event, other.first_event) : other.first_event;
  info.end_event = std::max(info.end_event, other.end_event);
}

void Scheduler::examine(Section& section, Node& node) {
  if (!launched_ || cancelled_) return;
  const bool is_ready = ready(section, node);
  if (goes_by_origin_) pass_promises_on(section, node);
  if (node.waiting != Node::Waiting::no && can_go_on(node)) node.wake.notify_one();
  if (any_idles_) wake_idle_writers(node);
  if (!node.on_graph() || node.phase != Node::Phase::running) return;
  if (joins_unevenly(section, node)) return;
  if (!is_ready && !inputs_over(node)) return;
  while (node.in_work < node.gadget->parallel) {
    if (inputs_over(node) ? node.in_work > 0 : node.tickets >= node.waiting_calls()) return;
    if (!node.outputs_have_room()) {
      if (!node.blocked_since) node.blocked_since = Clock::now();
      return;
    }
    if (node.blocked_since) {
      node.figures.waiting_output += Clock::now() - *node.blocked_since;
      node.blocked_since.reset();
    }
    ++node.in_work;
    ++node.tickets;
    ++active_;
    section.put_ticket(node);
  }
}

// Those that do something while this gadget has nothing to do.
void Scheduler::wake_idle_writers(Node& node) {
  for (const InputPort& port : node.inputs)
    for (const Edge* edge : port.edges())
      if (Node& writer = *edge->writer; writer.waiting == Node::Waiting::for_input && writer.is_to_idle())
        writer.wake.notify_one();
}

// The node's next call has all its inputs.
bool Scheduler::ready(Section& section, Node& node) {
  if (node.gadget->join == JoinMode::sequence) discard_unpaired(section, node);
  return node.inputs_have_messages() && (node.gadget->join == JoinMode::in_order || node.is_paired());
}

// In a join by origins: what comes before anything that another input can still bring has no partner.
void Scheduler::discard_unpaired(Section& section, Node& node) {
  std::uint64_t floor = 0;
  for (const InputPort& port : node.inputs)
    if (port.is_connected() && !port.is_feedback()) floor = std::max(floor, port.least_origin());
  for (InputPort& port : node.inputs) {
    if (port.is_feedback()) continue;
    while (const Edge* next = port.next()) {
      if (next->head().info.origin >= floor) break;
      section.touch(*next->writer);
      section.trash().push_back(port.discard());
    }
  }
}

// What will never come any more is known downstream as well, so that no merge and no join waits for it in vain.
void Scheduler::pass_promises_on(Section& section, Node& node) {
  if (node.phase == Node::Phase::ended) return;
  std::uint64_t least =
      node.origins_in_work.empty() ? std::numeric_limits<std::uint64_t>::max() : node.origins_in_work.front();
  for (const InputPort& port : node.inputs)
    if (!port.is_feedback()) least = std::min(least, port.least_origin());
  if (node.numbers_messages) least = node.promised;
  // Behind the last message a flush may still give something, which comes after everything else.
  least = std::min(least, origin_of_flush);
  if (least < node.promised) return;
  node.promised = least;
  for (const auto& port : node.outputs) {
    for (Edge* edge : port) {
      if (edge->promised() >= least) continue;
      edge->promise(least);
      section.touch(*edge->reader);
    }
  }
}

// Sources that were stopped end where they happen to be, so a join may then be left with messages
// of one side.
bool Scheduler::inputs_over(const Node& node) const {
  if (node.inputs.empty()) return false;
  if (node.inputs_over()) return true;
  return stopping_ && node.gadget->join == JoinMode::in_order &&
         std::ranges::any_of(node.inputs, [](const InputPort& port) {
           return port.is_connected() && !port.is_feedback() && port.is_over();
         });
}

bool Scheduler::joins_unevenly(Section& section, Node& node) {
  if (node.inputs.size() < 2 || node.gadget->join == JoinMode::sequence || inputs_over(node)) return false;
  const auto over =
      std::ranges::find_if(node.inputs, [](const InputPort& p) { return p.is_connected() && p.is_over(); });
  const auto going_on = std::ranges::find_if(node.inputs, &InputPort::has_message);
  if (over == node.inputs.end() || going_on == node.inputs.end()) return false;
  const auto& ports = node.info().inputs;
  cancel(section,
         RunError{node.name(),
                  fmt::format("its input '{}' ended while '{}' goes on, and it takes one message of each (join: "
                              "sequence pairs those of the same origin)",
                              ports[over - node.inputs.begin()].name, ports[going_on - node.inputs.begin()].name),
                  node.gadget->where, std::nullopt});
  return true;
}

void Scheduler::take_call(Section& section, Node& node, Job& job) {
  ++moves_;
  Call& call = job.calls.emplace_back();
  call.number = node.next_call++;
  bool first = true;
  for (InputPort& port : node.inputs) {
    if (!port.is_connected()) {
      job.payloads.emplace_back();
      continue;
    }
    section.touch(*port.next()->writer);
    Message message = port.pop();
    job.payloads.push_back(std::move(message.payload));
    ++node.figures.messages_in;
    node.figures.events_in += message.events;
    if (port.is_feedback()) continue;
    call.events += message.events;
    if (std::exchange(first, false))
      call.info = message.info;
    else
      widen(call.info, message.info);
  }
  if (goes_by_origin_ && job.calls.size() == 1) node.origins_in_work.push_back(call.info.origin);
}

Job Scheduler::take_flush(Node& node) {
  node.phase = Node::Phase::flushing;
  Job job = new_job(node);
  job.is_flush = true;
  job.calls.push_back({node.next_call, node.origin, 0});
  if (goes_by_origin_) node.origins_in_work.push_back(node.promised);
  return job;
}

Job Scheduler::take_idle(Node& node) {
  Job job = new_job(node);
  job.is_idle = true;
  job.calls.push_back({node.next_call, node.origin, 0});
  if (goes_by_origin_) node.origins_in_work.push_back(node.promised);
  return job;
}

Job Scheduler::new_job(Node& node) {
  Job job;
  if (!node.spare.empty()) {
    job = std::move(node.spare.back());
    node.spare.pop_back();
  }
  job.order = node.next_job++;
  job.is_flush = job.is_idle = false;
  job.reserved.clear();
  job.params_are_new = node.take_new_params();
  job.params = node.params();
  return job;
}

void Scheduler::begin(Node& node) {
  ++node.in_code;
  node.in_code_since = Clock::now();
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
    publish_in_order(section, node, std::move(job));
  } else {
    publish_outputs(section, node, job);
    node.spare.push_back(std::move(job));
  }
  if (flushed) end(section, node);
  section.touch(node);
}

void Scheduler::publish_in_order(Section& section, Node& node, Job job) {
  node.finished.emplace(job.order, std::move(job));
  while (!node.finished.empty() && node.finished.begin()->first == node.next_published) {
    Job next = std::move(node.finished.begin()->second);
    node.finished.erase(node.finished.begin());
    publish_outputs(section, node, next);
    node.spare.push_back(std::move(next));
    ++node.next_published;
  }
}

void Scheduler::publish_outputs(Section& section, Node& node, Job& job) {
  for (auto& [port, message] : job.outputs) publish(section, node, port, std::move(message), &job);
  release_places(node, job);
  if (goes_by_origin_) node.origins_in_work.pop_front();
  job.clear();
}

void Scheduler::release_places(Node& node, Job& job) {
  for (std::size_t port = 0; port < job.reserved.size(); ++port)
    for (Edge* edge : node.outputs[port]) edge->release(job.reserved[port]);
  job.reserved.clear();
}

void Scheduler::publish(Section& section, Node& node, std::size_t port, Message message, Job* job) {
  ++moves_;
  MessageInfo& info = message.info;
  if (info.ingress == Clock::time_point{}) info.ingress = info.last_ingress = Clock::now();
  info.sequence = node.next_sequence[port]++;
  if (node.numbers_messages) {
    info.origin = node.promised++;
    if (goes_by_origin_) section.touch(node);
  } else if (goes_by_origin_) {
    if (job && job->is_flush) info.origin = origin_of_flush;
  }
  if (!has_events(info) && message.events > 0) {  // here events are counted for the first time
    info.first_event = node.next_event;
    info.end_event = node.next_event += message.events;
  }
  ++node.figures.messages_out;
  node.figures.events_out += message.events;

  const std::vector<Edge*>& edges = node.outputs[port];
  const bool reserved = job && port < job->reserved.size() && job->reserved[port] > 0;
  if (reserved) --job->reserved[port];
  message.payload.movable = message.payload.movable && edges.size() == 1;
  for (Edge* edge : edges) {
    if (reserved) edge->release(1);
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
  for (const InputPort& port : node.inputs) {
    for (Edge* edge : port.edges()) {
      edge->close(section.trash());
      section.touch(*edge->writer);
    }
  }
  for (const auto& port : node.outputs) {
    for (Edge* edge : port) {
      edge->end();
      section.touch(*edge->reader);
    }
  }
}

bool Scheduler::can_go_on(const Node& node) const {
  if (node.waiting == Node::Waiting::for_room)
    return node.takes_any_room ? node.port_has_room(node.waiting_port) : node.port_has_ample_room(node.waiting_port);
  if (inputs_over(node) || node.is_to_idle()) return true;
  if (node.gadget->join == JoinMode::sequence) return node.inputs_have_messages() && node.is_paired();
  if (node.inputs_have_messages()) return true;
  // An uneven join is for its own thread to find out.
  return node.inputs.size() > 1 && std::ranges::any_of(node.inputs, &InputPort::has_message) &&
         std::ranges::any_of(node.inputs, [](const InputPort& p) { return p.is_connected() && p.is_over(); });
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
  for (const auto& edge : edges_)
    if (edge->spill() && edge->has_to_move()) return;  // so was its thread
  for (const auto& node : nodes_) {
    if (node->waiting != Node::Waiting::for_room || !node->port_has_room(node->waiting_port)) continue;
    node->takes_any_room = true;
    node->wake.notify_one();
    return;
  }
  cancel(section, RunError{"",
                           fmt::format("the pipeline is stuck, each gadget waiting for another: {}",
                                       fmt::join(who_waits(), "; ")),
                           {},
                           std::nullopt});
}

std::vector<std::string> Scheduler::who_waits() const {
  std::vector<std::string> words;
  for (const auto& node : nodes_) {
    if (node->phase == Node::Phase::ended) continue;
    for (const InputPort& port : node->inputs)
      for (const Edge* edge : port.edges())
        if (!port.has_message() && !edge->has_message() && !edge->is_over())
          words.push_back(fmt::format("'{}' waits for {}", node->name(), edge->description().name));
    for (std::size_t port = 0; port < node->outputs.size(); ++port) {
      const bool waits_here = node->waiting == Node::Waiting::for_room && port == node->waiting_port;
      for (const Edge* edge : node->outputs[port])
        if (!edge->has_room() || (waits_here && !edge->has_ample_room()))
          words.push_back(fmt::format("'{}' is held up by the full edge {}", node->name(), edge->description().name));
    }
  }
  return words;
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
  section.announce_cancel_on_leaving();
  changed_.notify_all();
}

RunError Scheduler::error_of(const Node& node, std::exception_ptr cause) {
  return {node.name(), words_of(std::move(cause)), node.gadget->where, std::nullopt};
}

void Scheduler::fail(Section& section, const Node& node, const Call* call, std::exception_ptr cause) {
  RunError error = error_of(node, std::move(cause));
  if (call) error.message = call->info.sequence;
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
  for (const auto& edge : edges_)
    if (edge->is_moving()) names.push_back(fmt::format("the disk of {}", edge->description().name));
  return names;
}

}  // namespace tofstream
