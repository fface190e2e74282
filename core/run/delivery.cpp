#include "core/run/delivery.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/run/section.hpp"

namespace tofstream {

Job Delivery::take(Section& section, Node& node) {
  Job job = node.new_job();
  if (!node.on_graph()) {
    take_call(section, node, job);
    return job;
  }
  std::size_t limit = node.calls_worth_one_job();
  for (const auto& port : node.outputs)
    for (const Edge* edge : port) limit = std::min(limit, edge->room());
  do {
    take_call(section, node, job);
  } while (job.calls.size() < limit && dispatch_.ready(section, node));
  node.reserve_places(job);
  return job;
}

void Delivery::take_call(Section& section, Node& node, Job& job) {
  ++state_.moves;
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
  if (graph_.goes_by_origin() && job.calls.size() == 1) node.origins_in_work.push_back(call.info.origin);
}

Job Delivery::job_without_input(Node& node) {
  Job job = node.new_job();
  job.calls.push_back({node.next_call, node.origin, 0});
  if (graph_.goes_by_origin()) node.origins_in_work.push_back(node.promised);
  return job;
}

Job Delivery::take_flush(Node& node) {
  node.phase = Node::Phase::flushing;
  Job job = job_without_input(node);
  job.is_flush = true;
  return job;
}

Job Delivery::take_idle(Node& node) {
  Job job = job_without_input(node);
  job.is_idle = true;
  return job;
}

void Delivery::finish(Section& section, Node& node, Job job) {
  --node.in_code;
  if (node.on_graph()) {
    --node.in_work;
    --state_.active;
  }
  if (state_.cancelled) {
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
  if (flushed) dispatch_.end(section, node);
  section.touch(node);
}

void Delivery::publish_in_order(Section& section, Node& node, Job job) {
  node.finished.emplace(job.order, std::move(job));
  while (!node.finished.empty() && node.finished.begin()->first == node.next_published) {
    Job next = std::move(node.finished.begin()->second);
    node.finished.erase(node.finished.begin());
    publish_outputs(section, node, next);
    node.spare.push_back(std::move(next));
    ++node.next_published;
  }
}

void Delivery::publish_outputs(Section& section, Node& node, Job& job) {
  for (auto& [port, message] : job.outputs) publish(section, node, port, std::move(message), &job);
  node.release_places(job);
  if (graph_.goes_by_origin()) node.origins_in_work.pop_front();
  job.clear();
}

// What is known of a message when it leaves a gadget: its place, where it stems from, and when it came in.
void Delivery::number(Section& section, Node& node, std::size_t port, Message& message, const Job* job) {
  MessageInfo& info = message.info;
  if (info.ingress == std::chrono::steady_clock::time_point{})
    info.ingress = info.last_ingress = std::chrono::steady_clock::now();
  info.sequence = node.next_sequence[port]++;
  if (node.numbers_messages) {
    info.origin = node.promised++;
    if (graph_.goes_by_origin()) section.touch(node);
  } else if (graph_.goes_by_origin() && job && job->is_flush) {
    info.origin = origin_of_flush;
  }
  if (!has_events(info) && message.events > 0) {  // here events are counted for the first time
    info.first_event = node.next_event;
    info.end_event = node.next_event += message.events;
  }
}

void Delivery::publish(Section& section, Node& node, std::size_t port, Message message, Job* job) {
  ++state_.moves;
  number(section, node, port, message, job);
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

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
