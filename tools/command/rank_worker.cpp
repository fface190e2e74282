// A rank's life: see rank_worker.hpp.
#include "tools/command/rank_worker.hpp"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/step/rank_service.hpp"
#include "kernels/collective/mpi.hpp"
#include "kernels/memory/devices.hpp"
#include "tools/command/link_to_first.hpp"

namespace tofstream::command {

namespace {

class Worker {
 public:
  explicit Worker(const WorkerSettings& settings)
      : settings_(settings),
        link_({.own = settings.own,
               .endpoint = settings.endpoint,
               .keys = settings.keys,
               .patience = settings.patience}) {}

  int work() {
    const auto number = link_.join();
    if (!number) return exit_config;
    if (*number < settings_.own.gpus) use_device(*number);
    while (true) {
      const RankMessage message = link_.next();
      if (message.kind == RankMessageKind::end) return end(LinkToFirst::code_of(message));
      answer(message);
      link_.note_progress();
    }
  }

 private:
  static int end(int code) {
    end_mpi(code == exit_ok);
    return code;
  }

  void answer(const RankMessage& message) try {
    using enum RankMessageKind;
    if (opens_rank_service(message.kind)) return begin(message);
    const auto session = sessions_.find(message.session);
    if (session == sessions_.end()) return;  // it failed, and the first knows
    if (message.kind == close) return static_cast<void>(sessions_.erase(session));
    if (message.kind != pass && message.kind != pairs && message.kind != lines) return session->second->take(message);
    link_.send(RankMessageKind::sums, message.session, session->second->project(message));
    session->second->give_sums();
  } catch (const std::exception& error) {
    sessions_.erase(message.session);
    link_.send(RankMessageKind::failed, message.session, packed_text(error.what()));
  }

  void begin(const RankMessage& message) {
    auto service = open_rank_service(message, settings_.pipeline, [this] { link_.note_progress(); });
    link_.send(RankMessageKind::ready, message.session, packed_text(service->device()));
    service->join();
    sessions_[message.session] = std::move(service);
  }

  const WorkerSettings& settings_;
  std::map<std::uint32_t, std::unique_ptr<RankService>> sessions_;
  LinkToFirst link_;
};

}  // namespace

int work_as_rank(const WorkerSettings& settings) try {
  Worker worker(settings);
  return worker.work();
} catch (const std::exception& error) {
  fmt::print(stderr, "rank {} of {}, on {}: {}\n", settings.own.place.rank, settings.own.place.ranks, settings.own.host,
             printable(error.what()));
  return exit_config;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
