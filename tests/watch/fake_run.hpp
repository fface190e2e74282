// A run that only remembers its requests, with figures of a small reconstruction.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/run/run_control.hpp"

namespace tofstream::test {

inline RunReport small_report() {
  RunReport report;
  report.pipeline = "small";
  report.resolved = Value::map();
  report.phase = RunPhase::running;
  report.seconds = 2;
  GadgetReport feed{.name = "feed", .use = "file_source", .messages_out = 40};
  feed.progress = {1, 4, "files"};
  GadgetReport events{.name = "events", .use = "petsird_decoder", .messages_in = 40, .messages_out = 20};
  events.events_out = 2'000'000;
  events.busy_seconds = 1.5;
  events.books.received = 2'000'100;
  events.books.rejected["too <soft>"] = 100;
  events.figures["log_likelihood"] = std::vector<double>{-4, -3, -2.5};
  report.gadgets = {feed, events};
  report.edges = {
      {"feed -> events", EdgeSettings{}, {.messages = 40, .waiting_messages = 3, .waiting_bytes = 1 << 20}}};
  report.books.received = 2'000'100;
  report.books.reconstructed = 1'500'000;
  report.books.rejected["too <soft>"] = 100;
  report.books.difference = "some are on their way";
  report.latency = {20, 0.0125, 0.045, 0.0601};
  report.counts = {{0, 0}, {0.5, 500'000}, {1, 1'000'000}, {2, 2'000'100}};
  return report;
}

class FakeRun final : public RunControl {
 public:
  const Pipeline& pipeline() const override { return pipeline_; }
  RunReport snapshot() const override { return report; }
  std::vector<LiveParameter> live_parameters() const override { return parameters; }
  std::vector<Problem> set_parameter(std::string_view gadget, std::string_view parameter, const Value& value) override {
    if (gadget != "events") return {{{}, fmt::format("no gadget is called '{}'", gadget)}};
    say(fmt::format("{}.{}={}", gadget, parameter, value.in_words()));
    return {};
  }
  void request_stop() override { say("stop"); }
  void abort() override { say("abort"); }
  void fail(RunError error) override { say(error.what); }

  std::vector<std::string> said() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  RunReport report = small_report();
  std::vector<LiveParameter> parameters;

 private:
  void say(std::string words) {
    const std::lock_guard lock(mutex_);
    said_.push_back(std::move(words));
  }

  Pipeline pipeline_;
  mutable std::mutex mutex_;
  std::vector<std::string> said_;
};

}  // namespace tofstream::test
// SPDX-License-Identifier: Apache-2.0
