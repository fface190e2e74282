// A rank's life: see rank_worker.hpp.
#include "tools/command/rank_worker.hpp"

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/step/rank_service.hpp"
#include "kernels/collective/mpi.hpp"
#include "kernels/memory/devices.hpp"

namespace tofstream::command {

namespace {

class Worker {
 public:
  explicit Worker(const WorkerSettings& settings)
      : settings_(settings),
        socket_({.end = SocketEnd::connects,
                 .endpoint = settings.endpoint,
                 .keys = settings.keys,
                 .warn = {},
                 .came = [this](const std::string&, RankMessage message) { take(std::move(message)); },
                 .lost = [this](const std::string&) { lose(); }}) {}

  int work() {
    socket_.send("", RankMessageKind::hello, 0, packed(settings_.own));
    const auto first = next(settings_.patience + std::chrono::seconds(5));
    if (!first) {
      say(fmt::format("there is no first rank at {}, or not all others came", settings_.endpoint));
      return exit_config;
    }
    if (first->kind != RankMessageKind::welcome) return exit_config;  // the first says why
    socket_.watch("");
    wire::PackReader from(*first->body);
    if (const int number = from.value<int>(); number < settings_.own.gpus) use_device(number);
    while (true) {
      const RankMessage message = *next({});
      if (message.kind == RankMessageKind::end) return end(code_of(message));
      answer(message);
      socket_.note_progress();
    }
  }

 private:
  static int code_of(const RankMessage& end) {
    wire::PackReader from(*end.body);
    return from.value(0, 255, "an exit code");
  }

  static int end(int code) {
    end_mpi(code == exit_ok);
    return code;
  }

  void say(const std::string& what) const {
    fmt::print(stderr, "rank {} of {}, on {}: {}\n", settings_.own.place.rank, settings_.own.place.ranks,
               settings_.own.host, printable(what));
    std::fflush(stderr);
  }

  // From the socket's thread.
  void take(RankMessage message) {
    {
      const std::lock_guard lock(mutex_);
      // A run that ended well leaves nothing to do that takes long.
      const bool is_at_work = is_busy_ || !messages_.empty();
      if (message.kind == RankMessageKind::end && is_at_work && code_of(message) != exit_ok)
        std::_Exit(code_of(message));
      messages_.push_back(std::move(message));
    }
    came_.notify_all();
  }
  [[noreturn]] void lose() const {
    say(fmt::format("nothing was heard of the first rank for {} s: this one ends", rank_silence.count()));
    std::_Exit(exit_run);
  }

  std::optional<RankMessage> next(std::optional<std::chrono::milliseconds> longest) {
    const auto until = std::chrono::steady_clock::now() + longest.value_or(std::chrono::hours(1));
    std::unique_lock lock(mutex_);
    is_busy_ = false;
    while (messages_.empty()) {
      came_.wait_for(lock, std::chrono::milliseconds(200));
      if (longest) socket_.throw_if_refused();
      if (longest && messages_.empty() && std::chrono::steady_clock::now() > until) return {};
    }
    RankMessage message = std::move(messages_.front());
    messages_.pop_front();
    is_busy_ = true;
    return message;
  }

  void answer(const RankMessage& message) try {
    using enum RankMessageKind;
    if (opens_rank_service(message.kind)) return begin(message);
    const auto session = sessions_.find(message.session);
    if (session == sessions_.end()) return;  // it failed, and the first knows
    if (message.kind == close) return static_cast<void>(sessions_.erase(session));
    if (message.kind != pass && message.kind != pairs && message.kind != lines) return session->second->take(message);
    socket_.send("", RankMessageKind::sums, message.session, session->second->project(message));
    session->second->give_sums();
  } catch (const std::exception& error) {
    sessions_.erase(message.session);
    socket_.send("", RankMessageKind::failed, message.session, packed_text(error.what()));
  }

  void begin(const RankMessage& message) {
    auto service = open_rank_service(message, settings_.pipeline, [this] { socket_.note_progress(); });
    socket_.send("", RankMessageKind::ready, message.session, packed_text(service->device()));
    service->join();
    sessions_[message.session] = std::move(service);
  }

  const WorkerSettings& settings_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<RankMessage> messages_;
  bool is_busy_ = false;  // with a message that was taken
  std::map<std::uint32_t, std::unique_ptr<RankService>> sessions_;
  RankSocket socket_;  // the last: its thread uses the others
};

}  // namespace

int work_as_rank(const WorkerSettings& settings) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  try {
    Worker worker(settings);
    return worker.work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {} of {}, on {}: {}\n", settings.own.place.rank, settings.own.place.ranks,
               settings.own.host, printable(error.what()));
    return exit_config;
  }
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
