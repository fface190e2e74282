// The other processes of a run: see rank_group.hpp.
#include "gadgets/ranks/rank_group.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include "core/base/gpus.hpp"
#include "kernels/collective/nccl.hpp"
#include "kernels/memory/devices.hpp"

namespace tofstream {

using Clock = std::chrono::steady_clock;

std::string this_host() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0) throw std::runtime_error("this host does not tell its name");
  return name;
}

namespace {

constexpr const char* devices_variable = "CUDA_VISIBLE_DEVICES";

std::string own_cores() {
  cpu_set_t all;
  if (::sched_getaffinity(0, sizeof(all), &all) != 0) return "";
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all)) cores.push_back(core);
  return fmt::format("{}", fmt::join(cores, ","));
}

std::string own_devices() {
  const char* const set = std::getenv(devices_variable);
  return set ? set : "";
}

int gpus_before_cuda() {
  const int there = static_cast<int>(gpus_of_this_machine().names.size());
  if (there == 0 || !std::getenv(devices_variable)) return there;
  const std::string visible = own_devices();
  const bool is_none = visible.empty() || visible.front() == '-';
  return is_none ? 0 : static_cast<int>(std::ranges::count(visible, ',')) + 1;
}

}  // namespace

RankIdentity identity_before_cuda(const RankPlace& place, std::string program, std::string pipeline) {
  return {.place = place,
          .host = this_host(),
          .gpus = gpus_before_cuda(),
          .program = std::move(program),
          .pipeline = std::move(pipeline),
          .problem = "",
          .nccl = 0,
          .no_nccl = "it was not asked for",
          .mpi = "",
          .no_mpi = "it was not asked for",
          .cores = own_cores(),
          .devices = own_devices()};
}

RankIdentity identity_of(const RankPlace& place, std::string program, std::string pipeline) {
  RankIdentity identity = identity_before_cuda(place, std::move(program), std::move(pipeline));
  identity.gpus = cuda_devices();
  identity.nccl = nccl_version();
  identity.no_nccl = why_no_nccl();
  return identity;
}

std::vector<wire::PackedPiece> packed(const RankIdentity& identity) {
  wire::PackWriter to;
  to.value(identity.place.rank);
  to.value(identity.place.ranks);
  to.value(identity.gpus);
  to.value(identity.nccl);
  for (const std::string& text : {identity.host, identity.no_nccl, identity.cores, identity.devices, identity.mpi,
                                  identity.no_mpi, identity.program, identity.pipeline, identity.problem})
    to.text(text);
  return to.take();
}

RankIdentity unpack_identity(const RankMessage& message) {
  wire::PackReader from(*message.body);
  RankIdentity identity;
  identity.place.rank = from.value<int>();
  identity.place.ranks = from.value<int>();
  identity.gpus = from.value<int>();
  identity.nccl = from.value<int>();
  for (std::string* text : {&identity.host, &identity.no_nccl, &identity.cores, &identity.devices, &identity.mpi,
                            &identity.no_mpi, &identity.program, &identity.pipeline, &identity.problem})
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
                 .lost = [this](const std::string& peer) { lose(peer); },
                 .silence = settings_.silence}) {
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

  std::string why_not_nccl() const {
    if (is_asked_not_to(ImageRoute::nccl)) return what_is_asked();
    for (int rank = 0; rank < ranks(); ++rank) {
      const RankIdentity& it = identity(rank);
      if (it.nccl == 0) return fmt::format("rank {}, on {}: {}", rank, it.host, it.no_nccl);
      if (it.nccl != settings_.own.nccl)
        return fmt::format("rank {}, on {}, has NCCL {}, and the first, on {}, has {}: install one version", rank,
                           it.host, nccl_version_text(it.nccl), settings_.own.host,
                           nccl_version_text(settings_.own.nccl));
    }
    return why_not_between_hosts("NCCL", "nccl");
  }
  std::string why_not_mpi() const {
    if (is_asked_not_to(ImageRoute::mpi)) return what_is_asked();
    for (int rank = 0; rank < ranks(); ++rank) {
      const RankIdentity& it = identity(rank);
      if (it.mpi.empty()) return fmt::format("rank {}, on {}: {}", rank, it.host, it.no_mpi);
      if (it.mpi != settings_.own.mpi)
        return fmt::format("rank {}, on {}, has {}, and the first, on {}, has {}: install one version", rank, it.host,
                           it.mpi, settings_.own.host, settings_.own.mpi);
    }
    return why_not_between_hosts("MPI", "mpi");
  }
  std::unique_lock<std::mutex> take_images() { return std::unique_lock(images_); }

  void when_failed(std::function<void(const RankFailure&)> tell) {
    const std::lock_guard telling(telling_);
    tell_ = std::move(tell);
    tell_failed();
  }
  void note_failed(int rank, const std::string& what) {
    {
      const std::lock_guard lock(mutex_);
      note_failure(other(rank), 0, what);
    }
    changed_.notify_all();
    tell_now();
  }
  void when_logged(std::function<void(const std::string& level, const std::string& text)> tell) {
    const std::lock_guard telling(telling_);
    tell_logged_ = std::move(tell);
  }
  std::optional<RankFailure> failure(std::uint32_t session) const {
    const std::lock_guard lock(mutex_);
    return failure_of(session);
  }
  void end(int exit_code) {
    if (is_over_.exchange(true)) return;
    for (int rank = 1; rank < ranks(); ++rank) {
      if (!other(rank).identity) continue;
      wire::PackWriter to;
      to.value(exit_code);
      socket_.unwatch(other(rank).peer);
      send(rank, RankMessageKind::end, 0, to.take());
    }
    socket_.close();
  }
  std::uint32_t new_session(const std::string& gadget) {
    const std::lock_guard lock(mutex_);
    gadgets_.push_back(gadget);
    return static_cast<std::uint32_t>(gadgets_.size());
  }

  void send(int rank, RankMessageKind kind, std::uint32_t session, std::vector<wire::PackedPiece> pieces) {
    socket_.send(other(rank).peer, kind, session, std::move(pieces));
  }

  RankMessage answer(int rank, std::uint32_t session, RankMessageKind kind, const RankWait& wait) {
    const auto asked = Clock::now();
    std::unique_lock lock(mutex_);
    const Waiting waiting(waiting_, session);
    while (true) {
      auto& answers = other(rank).answers[session];
      if (!answers.empty()) {
        RankMessage message = std::move(answers.front());
        answers.pop_front();
        if (message.kind != kind) throw std::runtime_error("it answered what it was not asked");
        return message;
      }
      throw_if_over(session, wait);
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      if (answers.empty()) note_if_it_hangs(lock, rank, session, asked, wait);
    }
  }

  void require_progress(int rank, std::uint32_t session, Clock::time_point began, const RankWait& wait) {
    std::unique_lock lock(mutex_);
    throw_if_over(session, wait);
    note_if_it_hangs(lock, rank, session, began, wait);
    throw_if_over(session, wait);
  }

 private:
  struct Other {
    std::optional<RankIdentity> identity;
    std::string peer;
    std::string device;  // where it projects, once it has said so
    std::map<std::uint32_t, std::deque<RankMessage>> answers;
  };

  // Sessions in which a gadget waits.
  struct Waiting {
    Waiting(std::multiset<std::uint32_t>& all, std::uint32_t session) : all(all), own(all.insert(session)) {}
    ~Waiting() { all.erase(own); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    std::multiset<std::uint32_t>& all;
    std::multiset<std::uint32_t>::iterator own;
  };

  bool is_asked_not_to(ImageRoute go) const {
    return settings_.images != ImageRoute::automatic && settings_.images != go;
  }
  std::string what_is_asked() const {
    if (settings_.images == ImageRoute::nccl) return "--rank-images nccl, which knows GPUs alone";
    if (settings_.images == ImageRoute::mpi) return "--rank-images mpi, which knows CPUs alone";
    return "--rank-images messages";
  }
  std::string why_not_between_hosts(const char* name, const char* option) const {
    const bool is_on_one_host = number_on_host(ranks() - 1) == ranks() - 1;
    if (settings_.images != ImageRoute::automatic || is_on_one_host) return "";
    return fmt::format(
        "between hosts {} neither encrypts nor authenticates: where the network is your own, write "
        "--rank-images {}",
        name, option);
  }

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
    // Those that are just coming are to hear of it too.
    constexpr std::chrono::seconds for_others{1};
    if (!wrong_.empty()) changed_.wait_for(lock, for_others, [&] { return came() >= others_.size(); });
    std::string wrong = wrong_;
    if (wrong.empty() && !all_are_there()) wrong = missing();
    if (wrong.empty() && settings_.images == ImageRoute::nccl) wrong = why_not_nccl();
    if (wrong.empty() && settings_.images == ImageRoute::mpi) wrong = why_not_mpi();
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

  std::size_t came() const {
    return strangers_.size() + static_cast<std::size_t>(std::ranges::count_if(
                                   others_, [](const Other& o) { return o.identity.has_value(); }));
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
    if (message.kind == RankMessageKind::log) return pass_on(message);
    {
      const std::lock_guard lock(mutex_);
      const auto from = std::ranges::find(others_, peer, &Other::peer);
      if (from == others_.end()) return;
      if (message.kind == RankMessageKind::ready) from->device = text_of(message);
      if (message.kind == RankMessageKind::failed)
        note_failure(*from, message.session, text_of(message));
      else
        from->answers[message.session].push_back(std::move(message));
    }
    changed_.notify_all();
    tell_now();
  }

  void pass_on(const RankMessage& message) {
    wire::PackReader from(*message.body);
    const std::string level = from.text(), text = from.text();
    from.require_end();
    const std::lock_guard telling(telling_);
    if (tell_logged_) tell_logged_(level, text);
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

  void lose(const std::string& peer) {
    {
      const std::lock_guard lock(mutex_);
      const auto from = std::ranges::find(others_, peer, &Other::peer);
      if (from == others_.end()) return;
      note_failure(*from, 0,
                   fmt::format("nothing was heard of it for {:g} s: it was killed, halted or cut off",
                               std::chrono::duration<double>(settings_.silence).count()));
    }
    changed_.notify_all();
    tell_now();
  }

  // With the lock held, as the next ones.
  void throw_if_over(std::uint32_t session, const RankWait& wait) const {
    if (const auto failure = failure_of(session)) throw RankFailed(failure->what);
    if (wait.is_over()) throw BrokenOff();
  }
  void note_if_it_hangs(std::unique_lock<std::mutex>& lock, int rank, std::uint32_t session, Clock::time_point began,
                        const RankWait& wait) {
    if (has_failed()) return;
    const auto still_for = Clock::now() - std::max(began, socket_.progressed_at(other(rank).peer));
    if (still_for <= wait.patience()) return;
    note_failure(other(rank), session,
                 fmt::format("it hangs: it is there, but has got no further for {:.0f} s",
                             std::chrono::duration<double>(still_for).count()));
    lock.unlock();
    tell_now();
    lock.lock();
  }
  // The first failure is the cause of all others.
  void note_failure(const Other& of, std::uint32_t session, const std::string& what) {
    if (has_failed()) return;
    const std::uint32_t told_by = session > 0 || waiting_.empty() ? session : *waiting_.begin();
    failure_ = {session, told_by > 0 && told_by <= gadgets_.size() ? gadgets_[told_by - 1] : "",
                fmt::format("{} {}, on {}{}: {}", settings_.each, of.identity->place.rank, of.identity->host,
                            of.device.empty() ? "" : ": " + of.device, what)};
    failed_at_ = Clock::now();
  }
  bool has_failed() const { return failure_.has_value(); }
  std::optional<RankFailure> failure_of(std::uint32_t session) const {
    constexpr std::chrono::seconds others_first{1};
    if (!failure_ || failure_->session == 0 || failure_->session == session) return failure_;
    return Clock::now() - failed_at_ > others_first ? failure_ : std::nullopt;
  }

  // Without the lock: who is told may ask.
  void tell_now() {
    const std::lock_guard telling(telling_);
    tell_failed();
  }
  void tell_failed() {
    std::optional<RankFailure> failure;
    {
      const std::lock_guard lock(mutex_);
      failure = failure_;
    }
    if (failure && tell_) std::exchange(tell_, {})(*failure);
  }

  const Settings settings_;
  mutable std::mutex mutex_;
  std::mutex images_;
  std::condition_variable changed_;
  std::vector<Other> others_;
  std::vector<std::string> strangers_;
  std::string wrong_;
  std::vector<std::string> gadgets_;      // of sessions, from 1
  std::multiset<std::uint32_t> waiting_;  // sessions
  std::optional<RankFailure> failure_;
  Clock::time_point failed_at_;
  std::mutex telling_;
  std::function<void(const RankFailure&)> tell_;
  std::function<void(const std::string& level, const std::string& text)> tell_logged_;
  bool has_begun_ = false;
  std::atomic<bool> is_over_ = false;
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
std::string RankGroup::why_not_nccl() const {
  return state_->why_not_nccl();
}
std::string RankGroup::why_not_mpi() const {
  return state_->why_not_mpi();
}
std::unique_lock<std::mutex> RankGroup::take_images() {
  return state_->take_images();
}
std::uint32_t RankGroup::new_session(const std::string& gadget) {
  return state_->new_session(gadget);
}
std::optional<RankFailure> RankGroup::failure(std::uint32_t session) const {
  return state_->failure(session);
}
void RankGroup::when_failed(std::function<void(const RankFailure&)> tell) {
  state_->when_failed(std::move(tell));
}
void RankGroup::note_failed(int rank, const std::string& what) {
  state_->note_failed(rank, what);
}
void RankGroup::when_logged(std::function<void(const std::string& level, const std::string& text)> tell) {
  state_->when_logged(std::move(tell));
}
void RankGroup::end(int exit_code) {
  state_->end(exit_code);
}

void RankChannel::send(RankMessageKind kind, std::vector<wire::PackedPiece> pieces) {
  group_.state_->send(rank_, kind, session_, std::move(pieces));
}
RankMessage RankChannel::answer(RankMessageKind kind, const RankWait& wait) {
  return group_.state_->answer(rank_, session_, kind, wait);
}
void RankChannel::require_progress(Clock::time_point began, const RankWait& wait) {
  group_.state_->require_progress(rank_, session_, began, wait);
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
