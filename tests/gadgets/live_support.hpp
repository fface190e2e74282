// Live streams through a whole pipeline, for tests: frames are sent to an endpoint, and the output is kept.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <zmq.hpp>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/gadgets/wire_support.hpp"

namespace tofstream::live_test {

using wire_test::Bytes;

/// The batches of the last run, kept by the gadget test_keep_events.
inline std::vector<EventBatch>& kept() {
  static std::vector<EventBatch> batches;
  return batches;
}

inline std::uint64_t kept_events() {
  std::uint64_t sum = 0;
  for (const EventBatch& batch : kept()) sum += batch.event_count();
  return sum;
}

inline Engine engine_of(const std::string& yaml, EngineOptions options = {}) {
  kept().clear();
  return Engine(parse_pipeline(yaml, "test.yaml"), std::move(options));
}

inline RunReport run(const std::string& yaml) {
  return engine_of(yaml).run();
}

inline const GadgetReport& gadget(const RunReport& report, const std::string& name) {
  return *std::ranges::find(report.gadgets, name, &GadgetReport::name);
}

/// A figure of the gadget `feed`.
inline std::int64_t figure(const RunReport& report, const std::string& key) {
  return std::get<std::int64_t>(gadget(report, "feed").figures.at(key));
}

inline std::string first_error(const RunReport& report) {
  return report.errors.empty() ? "" : report.errors[0].text();
}

/// Sends messages to an endpoint; the receiver may come later.
inline void send(const std::string& endpoint, std::span<const Bytes> frames) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::push);
  socket.set(zmq::sockopt::linger, 60'000);
  socket.connect(endpoint);
  for (const Bytes& frame : frames) socket.send(zmq::buffer(frame));
}

/// `more`: further parameters of zmq_source, each with a comma before it.
inline std::string receiving_records(const std::string& endpoint, const std::string& more = "",
                                     const std::string& sink = "") {
  return fmt::format(
      "gadgets:\n  feed: {{use: zmq_source, endpoint: \"{}\"{}}}\n"
      "  end: {{use: test_keep_events, from: feed.events{}}}\n",
      endpoint, more, sink);
}

}  // namespace tofstream::live_test
// SPDX-License-Identifier: Apache-2.0
