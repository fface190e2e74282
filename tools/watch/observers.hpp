// Several observers of one run as one.
#pragma once

#include <memory>
#include <vector>

#include "core/run/observer.hpp"

namespace tofstream {

class Observers final : public Observer {
 public:
  /// Null is left out.
  void add(std::unique_ptr<Observer> observer) {
    if (observer) all_.push_back(std::move(observer));
  }
  bool empty() const { return all_.empty(); }

  void run_begins(const Pipeline& pipeline) override {
    for (const auto& o : all_) o->run_begins(pipeline);
  }
  void run_ends() override {
    for (const auto& o : all_) o->run_ends();
  }
  void call_begins(std::size_t gadget, CallKind kind, const MessageInfo& info) override {
    for (const auto& o : all_) o->call_begins(gadget, kind, info);
  }
  void call_ends(std::size_t gadget, CallKind kind, const MessageInfo& info, Clock::time_point began,
                 Clock::time_point ended) override {
    for (const auto& o : all_) o->call_ends(gadget, kind, info, began, ended);
  }
  void waited(std::size_t gadget, WaitKind kind, Clock::time_point began, Clock::time_point ended) override {
    for (const auto& o : all_) o->waited(gadget, kind, began, ended);
  }
  void span(std::size_t gadget, std::string_view track, std::string_view name, Clock::time_point began,
            Clock::time_point ended) override {
    for (const auto& o : all_) o->span(gadget, track, name, began, ended);
  }

 private:
  std::vector<std::unique_ptr<Observer>> all_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
