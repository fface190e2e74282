#include "core/run/dispatch.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/log.hpp"
#include "core/run/run_error.hpp"
#include "core/run/section.hpp"

namespace tofstream {
namespace {

// Gadgets that do something while this one has nothing to do.
void wake_idle_writers(Node& node) {
  for (const InputPort& port : node.inputs)
    for (const Edge* edge : port.edges())
      if (Node& writer = *edge->writer; writer.waiting == Node::Waiting::for_input && writer.is_to_idle())
        writer.wake.notify_one();
}

bool is_connected_and_over(const InputPort& port) {
  return port.is_connected() && port.is_over();
}

// What came back around a cycle waits for a message that may never come: that says nothing.
bool goes_on(const InputPort& port) {
  return port.has_message() && !port.is_feedback();
}

}  // namespace

void Dispatch::examine(Section& section, Node& node) {
  if (!state_.launched || state_.cancelled) return;
  const bool is_ready = ready(section, node);
  if (graph_.goes_by_origin()) pass_promises_on(section, node);
  if (node.waiting != Node::Waiting::no && can_go_on(node)) node.wake.notify_one();
  if (graph_.any_idles()) wake_idle_writers(node);
  if (!node.on_graph() || node.phase != Node::Phase::running) return;
  if (joins_unevenly(section, node)) return;
  if (is_ready || inputs_over(node)) put_tickets(section, node);
}

void Dispatch::put_tickets(Section& section, Node& node) {
  using Clock = std::chrono::steady_clock;
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
    ++state_.active;
    section.put_ticket(node);
  }
}

bool Dispatch::ready(Section& section, Node& node) {
  if (node.gadget->join == JoinMode::sequence) discard_unpaired(section, node);
  return node.inputs_have_messages() && (node.gadget->join == JoinMode::in_order || node.is_paired());
}

// In a join by origins: a message that comes before anything that another input can still bring has no partner.
void Dispatch::discard_unpaired(Section& section, Node& node) {
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
void Dispatch::pass_promises_on(Section& section, Node& node) {
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
bool Dispatch::inputs_over(const Node& node) const {
  if (node.inputs.empty()) return false;
  if (node.inputs_over()) return true;
  return state_.stopping && node.gadget->join == JoinMode::in_order &&
         std::ranges::any_of(node.inputs,
                             [](const InputPort& p) { return is_connected_and_over(p) && !p.is_feedback(); });
}

bool Dispatch::joins_unevenly(Section& section, Node& node) {
  if (node.inputs.size() < 2 || node.gadget->join == JoinMode::sequence || inputs_over(node)) return false;
  const auto over = std::ranges::find_if(node.inputs, is_connected_and_over);
  const auto going_on = std::ranges::find_if(node.inputs, goes_on);
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

bool Dispatch::can_go_on(const Node& node) const {
  if (node.waiting == Node::Waiting::for_room)
    return node.takes_any_room ? node.port_has_room(node.waiting_port) : node.port_has_ample_room(node.waiting_port);
  if (inputs_over(node) || node.is_to_idle()) return true;
  if (node.gadget->join == JoinMode::sequence) return node.inputs_have_messages() && node.is_paired();
  if (node.inputs_have_messages()) return true;
  // An uneven join is for its own thread to find out.
  return node.inputs.size() > 1 && std::ranges::any_of(node.inputs, goes_on) &&
         std::ranges::any_of(node.inputs, is_connected_and_over);
}

void Dispatch::end(Section& section, Node& node) {
  node.phase = Node::Phase::ended;
  --state_.alive;
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

void Dispatch::check_progress(Section& section) {
  if (!state_.launched || state_.finished || state_.active > 0) return;
  if (state_.own_threads == 0 && (state_.alive == 0 || state_.cancelled)) {
    state_.finished = true;
    section.release_flow_on_leaving();
    state_.changed.notify_all();
    return;
  }
  if (state_.cancelled || state_.alive == 0 || anyone_was_woken() || wake_one_for_any_room()) return;
  cancel(section, RunError{"",
                           fmt::format("the pipeline is stuck, each gadget waiting for another: {}",
                                       fmt::join(graph_.who_waits(), "; ")),
                           {},
                           std::nullopt});
}

// A gadget's own thread, or that of an edge which spills, has been notified and will go on.
bool Dispatch::anyone_was_woken() const {
  return std::ranges::any_of(graph_.nodes(),
                             [&](const auto& n) { return n->waiting != Node::Waiting::no && can_go_on(*n); }) ||
         std::ranges::any_of(graph_.edges(), [](const auto& e) { return e->spill() && e->has_to_move(); });
}

// Where nothing else can move, less than ample room must do.
bool Dispatch::wake_one_for_any_room() {
  for (const auto& node : graph_.nodes()) {
    if (node->waiting != Node::Waiting::for_room || !node->port_has_room(node->waiting_port)) continue;
    node->takes_any_room = true;
    node->wake.notify_one();
    return true;
  }
  return false;
}

void Dispatch::cancel(Section& section, std::optional<RunError> error) {
  if (state_.cancelled || state_.finished) return;
  state_.cancelled = true;
  state_.aborted = !error;
  state_.running_at_cancel = graph_.in_code();
  if (error) state_.errors.push_back(std::move(*error));
  for (const auto& edge : graph_.edges()) edge->close(section.trash());
  for (const auto& node : graph_.nodes()) {
    node->wake.notify_all();
    for (auto& [order, job] : node->finished)
      for (auto& [port, message] : job.outputs) section.trash().push_back(std::move(message));
    node->finished.clear();
  }
  section.announce_cancel_on_leaving();
  state_.changed.notify_all();
}

void Dispatch::fail(Section& section, const Node& node, const Call* call, std::exception_ptr cause) {
  RunError error = error_of(node, std::move(cause));
  if (call) error.message = call->info.sequence;
  if (state_.cancelled) {
    program_log().debug("after the run was cancelled: {}", error.text());
    return;
  }
  cancel(section, std::move(error));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
