// The dispatcher's thread: clients on one side, servers on the other. See dispatcher.hpp.
#include "tools/serve/dispatcher.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/log.hpp"
#include "core/base/printable.hpp"
#include "core/base/version.hpp"
#include "core/gadget/memory.hpp"
#include "gadgets/io/random_identity.hpp"
#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/wait_for_any.hpp"
#include "tools/serve/fleet_figures.hpp"
#include "tools/serve/known_server.hpp"
#include "tools/serve/relay.hpp"
#include "tools/serve/servers_behind.hpp"

namespace tofstream::serve {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds dispatcher_pause{100};
constexpr std::chrono::milliseconds until_a_client_has_room{2};
constexpr std::chrono::milliseconds for_all_offers{1000};
constexpr std::chrono::milliseconds between_fleet_figures{200};
constexpr std::size_t most_clients = 1024;  // whose run is not over

// Without keys of clients the front has none, and is open within this machine only.
KeyParams front_keys(const KeyParams& keys) {
  return keys.allowed.empty() ? KeyParams{} : KeyParams{.own = keys.own, .allowed = keys.allowed};
}

}  // namespace

class Dispatcher::Impl {
 public:
  explicit Impl(DispatcherOptions options)
      : options_((ServersBehind::require_possible(options), std::move(options))),
        front_({.endpoint = options_.endpoint,
                .keys = front_keys(options_.keys),
                .patience = options_.patience,
                .largest_frame = options_.largest_frame}),
        own_key_(options_.keys.own.empty() ? std::nullopt : std::optional(read_secret_key(options_.keys.own))),
        servers_(options_) {
    note_figures();
  }

  const std::string& endpoint() const { return front_.endpoint(); }

  void run() {
    while (!(is_stopping_ && runs_.empty())) {
      wake_.clear();
      take_orders();
      servers_.look();
      front_.receive([this](const std::string& client, zmq::message_t* message) { take(client, message); });
      look_after_clients();
      move_waiting();
      answer_lists();
      note_figures();
      wait();
    }
  }

  void order_stop() {
    stop_ordered_ = true;
    wake_.raise();
  }
  void order_abort() {
    abort_ordered_ = true;
    order_stop();
  }

  std::string metrics() const {
    const std::lock_guard lock(figures_mutex_);
    return metrics_text(figures_);
  }
  bool is_ready() const { return is_ready_; }

 private:
  // A client's run, the server that has it, and those that did not take it. The server's own figures have it once they
  // were asked for after its `counted_from`.
  struct Run {
    Run(const std::string& client, const zmq::message_t& hello) : relay(client, hello) {}
    Relay relay;
    std::size_t server = 0, place = 0;
    std::set<std::size_t> tried = {};
    std::optional<std::uint64_t> counted_from = {};
    bool has_begun = false;
  };
  struct At {
    std::size_t server = 0, place = 0;
  };
  struct Places {
    std::vector<Place> all;
    std::vector<At> at;
  };

  // All places as they will be once what was handed out has arrived there.
  Places places() const {
    Places places;
    for (std::size_t s = 0; s < servers_.size(); ++s) {
      const std::vector<Place>& own = servers_[s].known->places();
      for (std::size_t p = 0; p < own.size(); ++p) {
        places.all.push_back(own[p]);
        places.at.push_back({s, p});
      }
    }
    for (const Run& run : runs_) add_run(places, run);
    return places;
  }

  static void take_place(Place& place, const Need& need) {
    ++place.running;
    place.memory_free -= std::min(place.memory_free, need.memory);
    place.gpu_free -= std::min(place.gpu_free, need.gpu);
  }

  void add_run(Places& places, const Run& run) const {
    if (run.relay.state() == Relay::State::over) return;
    const KnownServer& known = *servers_[run.server].known;
    const bool is_counted = run.counted_from && known.has_told_since(*run.counted_from);
    for (std::size_t k = 0; k < places.all.size(); ++k) {
      const At& at = places.at[k];
      const bool is_its = at.server == run.server && at.place == run.place;
      Place& place = places.all[k];
      if (!is_its && shares(run, place)) ++place.running;  // the server's own figures have the memory
      if (!is_its || is_counted) continue;
      if (run.relay.state() != Relay::State::running && !has_room(place, run.relay.need()))
        ++place.waiting;  // the next client is to find it in the queue
      else
        take_place(place, run.relay.need());
    }
  }

  // A run of several GPUs is one of the server of its first one alone.
  bool shares(const Run& run, const Place& place) const {
    if (!options_.is_one_host || run.relay.state() != Relay::State::running || run.relay.gpus().size() < 2)
      return false;
    return std::ranges::any_of(run.relay.gpus(), [&](int gpu) { return place.name == fmt::format("GPU {}", gpu); });
  }

  void take_orders() {
    if (stop_ordered_ && !std::exchange(is_stopping_, true)) {
      is_ready_ = false;
      for (Run& run : runs_) {
        if (run.relay.state() != Relay::State::running) {
          run.relay.fail({"the server is stopping, and the run has not begun: try again later"});
        } else {
          const auto stop = make_message(Kind::stop);
          zmq::message_t message(stop.data(), stop.size());
          run.relay.take_from_client(Kind::stop, message);
        }
      }
    }
    if (abort_ordered_.exchange(false))
      for (Run& run : runs_) run.relay.fail({"the server was told to end at once"});
  }

  // Its run, if that is not over: after an abort a client may begin another at once.
  Run* find(const std::string& client) {
    const auto found = std::ranges::find_if(runs_, [&](const Run& run) { return run.relay.client() == client; });
    if (found == runs_.end()) return nullptr;
    if (!found->relay.is_done()) return &*found;
    runs_.erase(found);
    return nullptr;
  }

  // A message of one part; null if it had another number of parts.
  void take(const std::string& client, zmq::message_t* bytes) {
    Run* const run = find(client);
    if (run) run->relay.heard();
    try {
      if (!bytes) throw BadMessage("a message that has not one part: connect a DEALER socket");
      const Message message = read_message({static_cast<const std::byte*>(bytes->data()), bytes->size()});
      answer(client, run, message.kind, *bytes);
    } catch (const std::exception& error) {  // other clients are not affected
      if (run)
        run->relay.fail({one_line(error.what())});
      else
        front_.send(client, make_refusal({one_line(error.what())}, false));
    }
  }

  void answer(const std::string& client, Run* run, Kind kind, zmq::message_t& bytes) {
    switch (kind) {
      case Kind::ping:
        return static_cast<void>(front_.send(client, make_message(Kind::pong)));
      case Kind::list:
        return ask_for_lists(client);
      case Kind::ask_health:
        return static_cast<void>(front_.send(client, make_json_message(Kind::health, to_json(health()))));
      case Kind::hello:
        if (run) throw BadMessage("a second hello: one connection has one run");
        return welcome(client, bytes);
      default:
        break;
    }
    if (!run) throw BadMessage("there is no run for this connection: begin with a hello");
    run->relay.take_from_client(kind, bytes);
  }

  void welcome(const std::string& client, const zmq::message_t& hello) {
    const char* const why = is_stopping_                   ? "the server is stopping and takes no new clients"
                            : runs_.size() >= most_clients ? "too many clients wait already: try again later"
                                                           : nullptr;
    if (why) return static_cast<void>(front_.send(client, make_refusal({why}, true)));
    place(runs_.emplace_back(client, hello));
  }

  // Gives the run to a server, or tells the client that none takes it.
  void place(Run& run) {
    const std::vector<std::string> refusal = run.relay.refusal();
    for (;;) {
      const Places now = places_without(run);
      const auto best =
          choose_place(now.all, run.relay.need(), [&](std::size_t k) { return !run.tried.contains(now.at[k].server); });
      if (!best) return run.relay.fail(refusal.empty() ? servers_.why_none() : refusal);
      if (open(run, now.at[*best])) return;
    }
  }

  // The run itself takes no place while one is looked for.
  Places places_without(Run& run) {
    run.counted_from = 0;
    return places();
  }

  bool open(Run& run, const At& at) try {
    run.relay.leave();
    run.server = at.server;
    run.place = at.place;
    run.counted_from.reset();
    run.relay.open(zmq_, servers_[at.server].known->address(), own_key_ ? &*own_key_ : nullptr);
    return true;
  } catch (const std::exception& error) {
    program_log().warn("{}: {}", name_of(run), one_line(error.what()));
    run.tried.insert(at.server);
    return false;
  }

  const std::string& name_of(const Run& run) const { return servers_[run.server].known->name(); }

  void look_after_clients() {
    for (auto run = runs_.begin(); run != runs_.end();) {
      look_after(*run);
      run = run->relay.is_done() ? runs_.erase(run) : std::next(run);
    }
  }

  void look_after(Run& run) {
    Relay& relay = run.relay;
    const bool was_over = relay.state() == Relay::State::over;
    relay.pump(front_);
    note_answer(run);
    if (relay.wants_another()) {
      program_log().info("{} does not take a run of {}: {}", name_of(run), relay.pipeline(), relay.refusal().front());
      ++servers_[run.server].refused;
      run.tried.insert(run.server);
      place(run);
    } else if (relay.is_lost(servers_[run.server].known->is_there(), options_.patience)) {
      lose(run);
    }
    if (!relay.is_gone() && relay.silence() > options_.patience) {
      program_log().info("{} {}: the client has vanished; its run is dropped", name_of(run), relay.session());
      relay.vanish();
    }
    if (!was_over && relay.state() == Relay::State::over) servers_[run.server].known->ask_soon();
  }

  // From now on the server's own figures will have the run.
  void note_answer(Run& run) {
    const Relay::State state = run.relay.state();
    KnownServer& known = *servers_[run.server].known;
    if (!run.counted_from && state != Relay::State::asked) {
      run.counted_from = known.moment();
      known.ask_soon();
    }
    if (state != Relay::State::running || std::exchange(run.has_begun, true)) return;
    ++servers_[run.server].begun;
    program_log().info("{} {}: a client's run of {} begins{}", known.name(), run.relay.session(), run.relay.pipeline(),
                       run.relay.gpus().empty() ? "" : fmt::format(", on GPU {}", fmt::join(run.relay.gpus(), ", ")));
  }

  // A run that has not begun goes to another server, and its client hears nothing of it.
  void lose(Run& run) {
    run.tried.insert(run.server);
    if (run.relay.state() != Relay::State::running) {
      program_log().warn("{} has vanished: a client that waited there for {} goes elsewhere", name_of(run),
                         run.relay.pipeline());
      return place(run);
    }
    ++servers_[run.server].vanished;
    program_log().warn("{} {}: the server has vanished, and the run is lost; its client is told", name_of(run),
                       run.relay.session());
    run.relay.fail_run(fmt::format(
        "the server {} has vanished, and what it had of this run is lost: send the stream again", name_of(run)));
  }

  // A client that waits at one server goes to another that would begin its run at once. Of a run of several GPUs a
  // place says too little: that of its first one.
  void move_waiting() {
    for (Run& run : runs_) {
      if (run.relay.state() != Relay::State::waiting || !run.counted_from || is_stopping_) continue;
      if (run.relay.gpus().size() > 1) continue;
      const Places now = places();
      const auto other = choose_place(now.all, run.relay.need(), [&](std::size_t k) {
        return now.at[k].server != run.server && has_room(now.all[k], run.relay.need());
      });
      if (!other) continue;
      program_log().info("{} {}: its client goes from the queue to {}", name_of(run), run.relay.session(),
                         servers_[now.at[*other].server].known->name());
      servers_[run.server].known->ask_soon();
      if (!open(run, now.at[*other])) place(run);
    }
  }

  void ask_for_lists(const std::string& client) {
    if (askers_.empty()) {
      lists_due_ = Clock::now() + for_all_offers;
      for (ServerBehind& server : servers_)
        if (server.known->is_there()) server.known->ask_offer();
    }
    if (askers_.size() < most_clients) askers_.insert(client);
  }

  // Once all servers that are there have answered.
  void answer_lists() {
    if (askers_.empty()) return;
    const bool are_here = std::ranges::none_of(
        servers_, [](const ServerBehind& server) { return server.known->is_there() && !server.known->offer(); });
    if (!are_here && Clock::now() < lists_due_) return;
    const auto message = make_json_message(Kind::offer, servers_.offer());
    for (const std::string& client : askers_) front_.send(client, message);
    askers_.clear();
  }

  // To another dispatcher: all places of all servers.
  Health health() const {
    Health health{.version = std::string(version()), .identity = identity_};
    const Places now = places();
    for (std::size_t k = 0; k < now.all.size(); ++k) {
      Place place = now.all[k];
      const std::string& server = servers_[now.at[k].server].known->name();
      if (place.name != server) place.name = place.name.empty() ? server : fmt::format("{}, {}", server, place.name);
      if (is_stopping_) place.why_not = "it is stopping";
      health.places.push_back(std::move(place));
    }
    return health;
  }

  void note_figures() {
    if (Clock::now() - figures_at_ < between_fleet_figures) return;
    figures_at_ = Clock::now();
    std::vector<ServerFigures> figures;
    bool takes = false;
    for (const ServerBehind& server : servers_) {
      const KnownServer& known = *server.known;
      takes = takes || std::ranges::any_of(known.places(), &Place::takes);
      figures.push_back(
          {known.name(), known.is_there(), known.places(), server.begun, server.refused, server.vanished});
    }
    is_ready_ = takes && !is_stopping_;
    const std::lock_guard lock(figures_mutex_);
    figures_ = std::move(figures);
  }

  void wait() {
    std::vector<zmq::pollitem_t> items{front_.poll_item(), {nullptr, wake_.number(), ZMQ_POLLIN, 0}};
    auto longest = std::min(dispatcher_pause, front_.longest_wait());
    for (const ServerBehind& server : servers_) items.push_back(server.known->poll_item());
    for (Run& run : runs_) {
      if (const auto item = run.relay.poll_item()) items.push_back(*item);
      if (run.relay.is_held_up()) longest = std::min(longest, until_a_client_has_room);
    }
    wait_for_any(items, longest);
  }

  const DispatcherOptions options_;
  const std::string identity_ = fmt::format("{:016x}", random_identity());
  EventDescriptor wake_;
  FrontSocket front_;
  zmq::context_t zmq_;  // of connections to servers
  std::optional<SecretKey> own_key_;
  ServersBehind servers_;
  std::list<Run> runs_;
  std::set<std::string> askers_;
  Clock::time_point lists_due_{}, figures_at_{};
  bool is_stopping_ = false;
  std::atomic<bool> stop_ordered_ = false, abort_ordered_ = false, is_ready_ = false;
  mutable std::mutex figures_mutex_;
  std::vector<ServerFigures> figures_;
};

Dispatcher::Dispatcher(DispatcherOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Dispatcher::~Dispatcher() = default;

const std::string& Dispatcher::endpoint() const {
  return impl_->endpoint();
}
void Dispatcher::run() {
  impl_->run();
}
void Dispatcher::request_stop() {
  impl_->order_stop();
}
void Dispatcher::abort() {
  impl_->order_abort();
}
std::string Dispatcher::metrics() const {
  return impl_->metrics();
}
bool Dispatcher::is_ready() const {
  return impl_->is_ready();
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
