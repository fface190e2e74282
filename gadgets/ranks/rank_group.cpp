// The other processes of a run: see rank_group.hpp.
#include "gadgets/ranks/rank_group.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "kernels/memory/devices.hpp"

namespace tofstream {

using Clock = std::chrono::steady_clock;

std::string this_host() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0) throw std::runtime_error("this host does not tell its name");
  return name;
}

RankIdentity identity_of(const RankPlace& place, std::string program, std::string pipeline) {
  return {place, this_host(), cuda_devices(), std::move(program), std::move(pipeline), ""};
}

std::vector<wire::PackedPiece> packed(const RankIdentity& identity) {
  wire::PackWriter to;
  to.value(identity.place.rank);
  to.value(identity.place.ranks);
  to.value(identity.gpus);
  for (const std::string& text : {identity.host, identity.program, identity.pipeline, identity.problem}) to.text(text);
  return to.take();
}

RankIdentity unpack_identity(const RankMessage& message) {
  wire::PackReader from(*message.body);
  RankIdentity identity;
  identity.place.rank = from.value<int>();
  identity.place.ranks = from.value<int>();
  identity.gpus = from.value<int>();
  for (std::string* text : {&identity.host, &identity.program, &identity.pipeline, &identity.problem})
    *text = from.text();
  from.require_end();
  return identity;
}

class RankGroup::State {
 public:
  explicit State(Settings settings)
      : settings_(std::move(settings)),
        others_(static_cast<std::size_t>(settings_.own.place.ranks - 1)),
        socket_({.end = SocketEnd::binds,
                 .endpoint = settings_.endpoint,
                 .keys = settings_.keys,
                 .warn = settings_.warn,
                 .came = [this](const std::string& peer, RankMessage message) { take(peer, std::move(message)); },
                 .lost = [this](const std::string& peer) { lose(peer); }}) {
    wait_for_all();
  }
  ~State() { end(1); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int ranks() const { return settings_.own.place.ranks; }
  const RankIdentity& identity(int rank) const { return rank == 0 ? settings_.own : *other(rank).identity; }
  int number_on_host(int rank) const {
    int number = 0;
    for (int before = 0; before < rank; ++before) number += identity(before).host == identity(rank).host ? 1 : 0;
    return number;
  }

  void when_lost(std::function<void(const std::string&)> tell) {
    const std::lock_guard telling(telling_);
    tell_ = std::move(tell);
    if (!why_lost_.empty() && tell_) tell_(why_lost_);
  }
  void end(int exit_code) {
    if (std::exchange(is_over_, true)) return;
    for (int rank = 1; rank < ranks(); ++rank) {
      if (!other(rank).identity) continue;
      wire::PackWriter to;
      to.value(exit_code);
      socket_.unwatch(other(rank).peer);
      send(rank, RankMessageKind::end, 0, to.take());
    }
  }
  std::uint32_t new_session() {
    const std::lock_guard lock(mutex_);
    return ++sessions_;
  }

  void send(int rank, RankMessageKind kind, std::uint32_t session, std::vector<wire::PackedPiece> pieces) {
    socket_.send(other(rank).peer, kind, session, std::move(pieces));
  }

  RankMessage answer(int rank, std::uint32_t session, RankMessageKind kind,
                     const std::function<Clock::time_point()>& deadline) {
    std::unique_lock lock(mutex_);
    const Waiting waiting(waiting_);
    while (true) {
      Other& from = other(rank);
      if (!from.problem.empty()) throw std::runtime_error(from.problem);
      auto& answers = from.answers[session];
      if (!answers.empty()) {
        RankMessage message = std::move(answers.front());
        answers.pop_front();
        if (message.kind == RankMessageKind::failed) throw std::runtime_error(text_of(message));
        if (message.kind != kind) throw std::runtime_error("it answered what it was not asked");
        return message;
      }
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      if (answers.empty() && Clock::now() > deadline())
        throw std::runtime_error("it hangs: it is there, but has not given its sum in time");
    }
  }

 private:
  struct Other {
    std::optional<RankIdentity> identity;
    std::string peer;
    std::string problem;  // why nothing more can come
    std::map<std::uint32_t, std::deque<RankMessage>> answers;
  };

  struct Waiting {
    explicit Waiting(int& waiting) : number(waiting) { ++number; }
    ~Waiting() { --number; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    int& number;
  };

  Other& other(int rank) { return others_[static_cast<std::size_t>(rank) - 1]; }
  const Other& other(int rank) const { return others_[static_cast<std::size_t>(rank) - 1]; }

  void wait_for_all() {
    const auto deadline = Clock::now() + settings_.patience;
    std::unique_lock lock(mutex_);
    const auto all_are_there = [&] {
      return std::ranges::all_of(others_, [](const Other& o) { return o.identity.has_value(); });
    };
    while (wrong_.empty() && !all_are_there() && Clock::now() < deadline &&
           !(settings_.is_interrupted && settings_.is_interrupted()))
      changed_.wait_for(lock, std::chrono::milliseconds(100));
    std::string wrong = wrong_;
    if (wrong.empty() && !all_are_there()) wrong = missing();
    has_begun_ = wrong.empty();
    lock.unlock();
    if (wrong.empty()) {
      for (int rank = 1; rank < ranks(); ++rank) {
        wire::PackWriter to;
        to.value(number_on_host(rank));
        socket_.watch(other(rank).peer);
        send(rank, RankMessageKind::welcome, 0, to.take());
      }
      return;
    }
    refuse(wrong);
    throw std::runtime_error(wrong);
  }

  std::string missing() const {
    std::vector<int> absent;
    for (int rank = 1; rank < ranks(); ++rank)
      if (!other(rank).identity) absent.push_back(rank);
    return fmt::format(
        "rank{} {} of {} did not come to {} on {} within {:g} s: are they started, and does a firewall let them "
        "through?",
        absent.size() > 1 ? "s" : "", fmt::join(absent, ", "), ranks(), settings_.endpoint, settings_.own.host,
        std::chrono::duration<double>(settings_.patience).count());
  }

  // Who has come is told why nothing begins.
  void refuse(const std::string& why) {
    std::vector<std::string> peers = strangers_;
    for (const Other& o : others_)
      if (o.identity) peers.push_back(o.peer);
    for (const std::string& peer : peers) socket_.send(peer, RankMessageKind::refuse, 0, packed_text(why));
  }

  void take(const std::string& peer, RankMessage message) {
    if (message.kind == RankMessageKind::hello) return greet(peer, unpack_identity(message));
    {
      const std::lock_guard lock(mutex_);
      const auto from = std::ranges::find(others_, peer, &Other::peer);
      if (from == others_.end()) return;
      from->answers[message.session].push_back(std::move(message));
    }
    changed_.notify_all();
  }

  void greet(const std::string& peer, RankIdentity identity) {
    {
      const std::lock_guard lock(mutex_);
      const std::string wrong = what_is_wrong(identity);
      if (has_begun_) {  // all are there: it is told so, and the run goes on
        socket_.send(peer, RankMessageKind::refuse, 0, packed_text(wrong));
      } else if (wrong.empty()) {
        Other& o = other(identity.place.rank);
        o.peer = peer;
        o.identity = std::move(identity);
      } else {
        strangers_.push_back(peer);
        if (wrong_.empty()) wrong_ = wrong;
      }
    }
    changed_.notify_all();
  }

  std::string what_is_wrong(const RankIdentity& it) const {
    const RankIdentity& own = settings_.own;
    const std::string who = fmt::format("rank {}, on {}", it.place.rank, it.host);
    if (it.program != own.program)
      return fmt::format("{}, is {}, and the first, on {}, is {}: start the same program and plug-ins on all hosts",
                         who, it.program, own.host, own.program);
    if (it.place.ranks != own.place.ranks)
      return fmt::format("{}, was started as one of {} ranks, and the first as one of {}", who, it.place.ranks,
                         own.place.ranks);
    if (it.place.rank < 1 || it.place.rank >= own.place.ranks)
      return fmt::format("{}: ranks count from 0 to {}", who, own.place.ranks - 1);
    if (other(it.place.rank).identity)
      return fmt::format("two processes say that they are rank {}, on {} and on {}", it.place.rank,
                         other(it.place.rank).identity->host, it.host);
    if (!it.problem.empty()) return fmt::format("{}: {}", who, it.problem);
    if (it.pipeline != own.pipeline)
      return fmt::format(
          "{}, was started with another pipeline or other parameters than the first, on {}: write the "
          "same command for all",
          who, own.host);
    return "";
  }

  std::string words(const Other& o) const {
    return fmt::format("rank {}, on {}: {}", o.identity->place.rank, o.identity->host, o.problem);
  }

  void lose(const std::string& peer) {
    std::string lost;
    {
      const std::lock_guard lock(mutex_);
      const auto from = std::ranges::find(others_, peer, &Other::peer);
      if (from == others_.end()) return;
      from->problem =
          fmt::format("nothing was heard of it for {} s: it was killed, halted or cut off", rank_silence.count());
      if (waiting_ == 0) lost = words(*from);
    }
    changed_.notify_all();
    if (!lost.empty()) tell_lost(lost);
  }

  // Once, the first.
  void tell_lost(const std::string& why) {
    const std::lock_guard telling(telling_);
    if (!std::exchange(why_lost_, why).empty()) return;
    if (tell_) tell_(why);
  }

  const Settings settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Other> others_;
  std::vector<std::string> strangers_;
  std::string wrong_;
  std::mutex telling_;
  std::string why_lost_;
  std::function<void(const std::string&)> tell_;
  std::uint32_t sessions_ = 0;
  bool has_begun_ = false, is_over_ = false;
  int waiting_ = 0;    // gadgets that wait for an answer, and find out themselves
  RankSocket socket_;  // the last: its thread uses the others
};

RankGroup::RankGroup(Settings settings) : state_(std::make_unique<State>(std::move(settings))) {}
RankGroup::~RankGroup() = default;
int RankGroup::ranks() const {
  return state_->ranks();
}
const RankIdentity& RankGroup::identity(int rank) const {
  return state_->identity(rank);
}
int RankGroup::number_on_host(int rank) const {
  return state_->number_on_host(rank);
}
std::uint32_t RankGroup::new_session() {
  return state_->new_session();
}
void RankGroup::when_lost(std::function<void(const std::string&)> tell) {
  state_->when_lost(std::move(tell));
}
void RankGroup::end(int exit_code) {
  state_->end(exit_code);
}

void RankChannel::send(RankMessageKind kind, std::vector<wire::PackedPiece> pieces) {
  group_.state_->send(rank_, kind, session_, std::move(pieces));
}
RankMessage RankChannel::answer(RankMessageKind kind, const std::function<Clock::time_point()>& deadline) {
  return group_.state_->answer(rank_, session_, kind, deadline);
}
const std::string& RankChannel::host() const {
  return group_.identity(rank_).host;
}

namespace {

RankGroup*& group_in_use() {
  static RankGroup* group = nullptr;
  return group;
}

}  // namespace

RankGroup* rank_group() {
  return group_in_use();
}
RankGroupInUse::RankGroupInUse(RankGroup& group) {
  group_in_use() = &group;
}
RankGroupInUse::~RankGroupInUse() {
  group_in_use() = nullptr;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
