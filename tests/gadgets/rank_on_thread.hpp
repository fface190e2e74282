// A rank that is another process, for tests: on a thread, over a socket.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "core/gadget/registry.hpp"
#include "core/value/document.hpp"
#include "gadgets/ranks/rank_group.hpp"
#include "gadgets/step/rank_service.hpp"

namespace tofstream {

/// What the program's other ranks do, on a thread.
class RankOnThread {
 public:
  RankOnThread(const std::string& endpoint, RankIdentity identity, Pipeline pipeline)
      : pipeline_(std::move(pipeline)),
        socket_({.end = SocketEnd::connects,
                 .endpoint = endpoint,
                 .came =
                     [this](const std::string&, RankMessage message) {
                       {
                         const std::lock_guard lock(mutex_);
                         messages_.push_back(std::move(message));
                       }
                       came_.notify_all();
                     },
                 .lost = [](const std::string&) {}}),
        thread_([this, identity = std::move(identity)] { work(identity); }) {}

  int passes = 0, batches = 0;  // of subsets, and of a sensitivity

 private:
  void work(const RankIdentity& identity) {
    socket_.send("", RankMessageKind::hello, 0, packed(identity));
    std::map<std::uint32_t, std::unique_ptr<RankService>> services;
    while (true) {
      const RankMessage message = next();
      if (message.kind == RankMessageKind::end || message.kind == RankMessageKind::refuse) return;
      if (message.kind == RankMessageKind::welcome) {
        socket_.watch("");
      } else if (opens_rank_service(message.kind)) {
        auto& service = services[message.session];
        service = open_rank_service(message, pipeline_);
        socket_.send("", RankMessageKind::ready, message.session, packed_text(service->device()));
      } else if (message.kind == RankMessageKind::close) {
        services.erase(message.session);
      } else if (message.kind == RankMessageKind::batch || message.kind == RankMessageKind::table ||
                 message.kind == RankMessageKind::terms || message.kind == RankMessageKind::forget) {
        services.at(message.session)->take(message);
      } else {
        passes += message.kind == RankMessageKind::pass ? 1 : 0;
        batches += message.kind == RankMessageKind::pass ? 0 : 1;
        socket_.send("", RankMessageKind::sums, message.session, services.at(message.session)->project(message));
      }
    }
  }
  RankMessage next() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return !messages_.empty(); });
    RankMessage message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

  Pipeline pipeline_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<RankMessage> messages_;
  RankSocket socket_;
  std::jthread thread_;
};

/// A pipeline with that gadget alone, as far as ranks read it.
inline Pipeline pipeline_of(const std::string& use, const std::string& params) {
  PipelineGadget gadget;
  gadget.name = use;
  gadget.info = registry().find(use);
  Problems problems;
  gadget.resolved = parse_document(params, "params", problems);
  REQUIRE(problems.empty());
  Pipeline pipeline;
  pipeline.gadgets.push_back(std::move(gadget));
  return pipeline;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
