#include "core/run/node.hpp"

#include <utility>

namespace tofstream {

Job Node::new_job() {
  Job job;
  if (!spare.empty()) {
    job = std::move(spare.back());
    spare.pop_back();
  }
  job.order = next_job++;
  job.is_flush = job.is_idle = false;
  job.reserved.clear();
  job.params_are_new = take_new_params();
  job.params = params();
  return job;
}

void Node::reserve_places(Job& job) {
  job.reserved.assign(outputs.size(), job.calls.size());
  for (const auto& port : outputs)
    for (Edge* edge : port) edge->reserve(job.calls.size());
}

void Node::release_places(Job& job) {
  for (std::size_t port = 0; port < job.reserved.size(); ++port)
    for (Edge* edge : outputs[port]) edge->release(job.reserved[port]);
  job.reserved.clear();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
