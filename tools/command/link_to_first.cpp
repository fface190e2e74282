// The line to the first of several processes: see link_to_first.hpp.
#include "tools/command/link_to_first.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "core/report/report.hpp"

namespace tofstream::command {

LinkToFirst::LinkToFirst(Settings settings)
    : settings_(std::move(settings)),
      socket_({.end = SocketEnd::connects,
               .endpoint = settings_.endpoint,
               .keys = settings_.keys,
               .warn = {},
               .came = [this](const std::string&, RankMessage message) { take(std::move(message)); },
               .lost = [this](const std::string&) { lose(); }}) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
}

std::optional<int> LinkToFirst::join() {
  send(RankMessageKind::hello, 0, packed(settings_.own));
  const auto first = next_within(settings_.patience + std::chrono::seconds(5));
  if (!first) say(fmt::format("there is no first rank at {}, or not all others came", settings_.endpoint));
  if (!first || first->kind != RankMessageKind::welcome) return {};
  socket_.watch("");
  wire::PackReader from(*first->body);
  return from.value<int>();
}

RankMessage LinkToFirst::next() {
  return *next_within({});
}

void LinkToFirst::send(RankMessageKind kind, std::uint32_t session, std::vector<wire::PackedPiece> pieces) {
  socket_.send("", kind, session, std::move(pieces));
}

void LinkToFirst::note_progress() {
  socket_.note_progress();
}

int LinkToFirst::code_of(const RankMessage& end) {
  wire::PackReader from(*end.body);
  return from.value(0, 255, "an exit code");
}

void LinkToFirst::say(const std::string& what) const {
  fmt::print(stderr, "{} {} of {}, on {}: {}\n", settings_.each, settings_.own.place.rank, settings_.own.place.ranks,
             settings_.own.host, printable(what));
  std::fflush(stderr);
}

// From the socket's thread.
void LinkToFirst::take(RankMessage message) {
  {
    const std::lock_guard lock(mutex_);
    // A run that ended well leaves nothing to do that takes long, unless its work is of no use.
    const bool is_at_work = is_busy_ || !messages_.empty();
    if (message.kind == RankMessageKind::end && is_at_work && (settings_.drops_work || code_of(message) != exit_ok))
      std::_Exit(code_of(message));
    messages_.push_back(std::move(message));
  }
  came_.notify_all();
}

void LinkToFirst::lose() {
  if (settings_.ends_with_first) return socket_.watch("");  // it is there, and halted
  say(fmt::format("nothing was heard of the first rank for {} s: this one ends", rank_silence.count()));
  std::_Exit(exit_run);
}

std::optional<RankMessage> LinkToFirst::next_within(std::optional<std::chrono::milliseconds> longest) {
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

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
