// The server's thread: a ROUTER socket, the clients, and which of them is next. See server.hpp.
#include "tools/serve/server.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>
#include <zmq.hpp>

#include "core/base/log.hpp"
#include "core/base/make_folder.hpp"
#include "gadgets/io/wall_clock.hpp"
#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/wait_for_any.hpp"
#include "kernels/memory/memory.hpp"
#include "tools/serve/served_ends.hpp"
#include "tools/serve/session.hpp"

namespace tofstream::serve {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Bytes = std::vector<std::byte>;

constexpr std::chrono::milliseconds look_around{100};
constexpr int linger_ms = 1000;              // so that each client gets its last message
constexpr int most_messages = 8;             // that wait in ZeroMQ for a client; an image may be one of them
constexpr int most_frames = 2;               // that wait there from a client: they are taken at once
constexpr std::size_t most_at_a_time = 256;  // messages taken before the runs get attention

// Each connection takes a descriptor, even a silent one.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void check_folders(const ServerOptions& options) {
  if (const fs::path& folder = options.permissions.pipelines; !folder.empty() && !fs::is_directory(folder))
    throw std::runtime_error(fmt::format("the folder of pipelines, {}, is no folder", folder.string()));
  for (const fs::path& folder : options.permissions.data)
    if (!fs::is_directory(folder)) throw std::runtime_error(fmt::format("--data {}: no such folder", folder.string()));
  for (const std::string& gadget : options.permissions.gadgets)
    if (!registry().find(gadget))
      throw std::runtime_error(
          fmt::format("--allow {0}: no gadget is called '{0}'{1}", gadget, did_you_mean(gadget, registry().names())));
  make_folder(options.out);
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(ServerOptions options)
      : options_(std::move(options)),
        socket_(zmq_, zmq::socket_type::router),
        guard_(zmq_, socket_,
               {.end = SocketEnd::binds,
                .endpoint = options_.endpoint,
                .keys = options_.keys,
                .warn = [](std::string_view text) { program_log().warn("{}", text); },
                .largest_message = options_.largest_frame + message_header_bytes}) {
    check_folders(options_);
    raise_descriptor_limit();
    const auto patience_ms = static_cast<int>(options_.patience.count());
    socket_.set(zmq::sockopt::router_mandatory, true);  // sending to a client that is gone is an error
    socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(options_.largest_frame + message_header_bytes));
    socket_.set(zmq::sockopt::sndhwm, most_messages);
    socket_.set(zmq::sockopt::rcvhwm, most_frames);
    socket_.set(zmq::sockopt::linger, linger_ms);
    socket_.set(zmq::sockopt::handshake_ivl, patience_ms);
    socket_.set(zmq::sockopt::heartbeat_ivl, patience_ms);  // a machine that is gone does not close its connection
    socket_.set(zmq::sockopt::heartbeat_timeout, patience_ms);
    socket_.set(zmq::sockopt::backlog, 1024);
    try {
      socket_.bind(options_.endpoint);
    } catch (const zmq::error_t& error) {
      throw std::runtime_error(
          fmt::format("cannot serve at {}: {}; name another endpoint where another program listens there",
                      options_.endpoint, error.what()));
    }
    endpoint_ = socket_.get(zmq::sockopt::last_endpoint);
    if (options_.memory_bytes == 0) options_.memory_bytes = host_memory_bytes();
    if (options_.device_bytes == 0 && why_no_cuda().empty()) options_.device_bytes = free_device_bytes();
  }

  const std::string& endpoint() const { return endpoint_; }

  bool run() {
    while (!(is_stopping_ && sessions_.empty())) {
      wake_.clear();
      take_orders();
      receive();
      look_after_runs();
      start_waiting();
      send();
      wait();
    }
    return left_threads_;
  }

  void order_stop() {
    stop_ordered_ = true;
    wake_.raise();
  }
  void order_abort() {
    abort_ordered_ = true;
    order_stop();
  }

 private:
  void wait() {
    zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN, 0}, {nullptr, wake_.number(), ZMQ_POLLIN, 0}};
    wait_for_any(items, std::min(look_around, guard_.longest_wait()));
  }

  // A client, by the socket's identity of its connection.
  using Sessions = std::list<std::pair<std::string, Session>>;

  void take_orders() {
    if (stop_ordered_ && !std::exchange(is_stopping_, true)) {
      for (auto& [client, session] : sessions_)
        if (session.is_waiting())
          session.fail("the server is stopping, and the run has not begun: try again later");
        else
          session.request_stop();
    }
    if (abort_ordered_.exchange(false))
      for (auto& [client, session] : sessions_) session.fail("the server was told to end at once");
  }

  void receive() {
    zmq::message_t client, part;
    guard_.look();
    for (std::size_t i = 0; i < most_at_a_time; ++i) {
      if (!socket_.recv(client, zmq::recv_flags::dontwait)) return guard_.cut_unfinished();
      std::size_t parts = 0;
      zmq::message_t first;
      for (bool more = client.more(); more && socket_.recv(part, zmq::recv_flags::dontwait);) {
        more = part.more();
        guard_.took(part);
        if (parts++ == 0) first = std::move(part);
      }
      take(client.to_string(), parts == 1 ? &first : nullptr);
    }
  }

  Session* find(const std::string& client) {
    const auto found = std::ranges::find(sessions_, client, &Sessions::value_type::first);
    return found == sessions_.end() ? nullptr : &found->second;
  }

  // A message of one part; null if it had another number of parts.
  void take(const std::string& client, zmq::message_t* bytes) {
    Session* const session = find(client);
    if (session) session->heard();
    try {
      if (!bytes) throw BadMessage("a message that has not one part: connect a DEALER socket");
      const Message message = read_message({static_cast<const std::byte*>(bytes->data()), bytes->size()});
      answer(client, session, message, *bytes);
    } catch (const BadMessage& bad) {
      refuse(client, session, {bad.what()});
    } catch (const ConfigErrors& errors) {
      std::vector<std::string> lines;
      for (const Problem& problem : errors.problems()) lines.push_back(problem.text());
      refuse(client, session, lines);
    } catch (const std::exception& error) {  // other clients are not affected
      refuse(client, session, {one_line(error.what())});
    }
  }

  void refuse(const std::string& client, Session* session, const std::vector<std::string>& why) {
    if (session) return session->fail(why.front());
    // A client that keeps sending rubbish must not fill the log.
    constexpr std::chrono::seconds pause{1};
    if (const auto now = Session::Clock::now(); now - told_of_refusal_ > pause) {
      told_of_refusal_ = now;
      program_log().info("a client is refused: {}", why.front());
    }
    send_to(client, make_json_message(Kind::error, Json{{"errors", why}}));
  }

  void answer(const std::string& client, Session* session, const Message& message, zmq::message_t& bytes) {
    switch (message.kind) {
      case Kind::ping:
        return static_cast<void>(send_to(client, make_message(Kind::pong)));
      case Kind::list:
        return static_cast<void>(send_to(client, make_json_message(Kind::offer, offer())));
      case Kind::hello:
        if (session) throw BadMessage("a second hello: one connection has one run");
        return welcome(client, read_hello(message));
      default:
        break;
    }
    if (!session) throw BadMessage("there is no run for this connection: begin with a hello");
    if (message.kind == Kind::frame)
      take_frame(*session, bytes);
    else if (message.kind == Kind::stop)
      session->is_waiting() ? session->abort() : session->request_stop();
    else if (message.kind == Kind::abort)
      session->vanish();
    else
      throw BadMessage("a message that only a server sends");
  }

  static void take_frame(Session& session, zmq::message_t& bytes) {
    if (session.is_over()) return;  // was under way when the run ended
    if (!session.is_running()) throw BadMessage("a frame before the run was accepted: wait for the credit");
    const auto owner = std::make_shared<const zmq::message_t>(std::move(bytes));
    const std::span data(static_cast<const std::byte*>(owner->data()), owner->size());
    if (!session.link().put({.owner = owner,
                             .data = data.subspan(message_header_bytes),
                             .ingress_ns = wall_clock_ns(),
                             .entered = std::chrono::steady_clock::now()}))
      throw BadMessage("more frames than the server has given credit for");
  }

  // Checks a new client's request. Throws ConfigErrors or BadMessage.
  void welcome(const std::string& client, const Hello& hello) {
    if (is_stopping_) throw BadMessage("the server is stopping and takes no new clients");
    if (std::ranges::count_if(sessions_, [](const auto& each) { return each.second.is_waiting(); }) >=
        static_cast<std::ptrdiff_t>(options_.most_waiting))
      throw BadMessage(fmt::format("{} clients wait already: try again later", options_.most_waiting));
    Pipeline pipeline = permitted_pipeline(hello, options_.permissions);
    const auto link = std::make_shared<SessionLink>(SessionLink::Settings{
        .window_bytes = options_.window_bytes, .images = hello.images, .wake = [this] { wake_.raise(); }});
    connect_ends(pipeline, link, options_.window_bytes + options_.largest_frame);
    const MemoryEstimate estimate = estimate_memory(pipeline);
    const MachineMemory machine{options_.memory_bytes,
                                options_.device_bytes > 0 ? std::optional(options_.device_bytes) : std::nullopt};
    if (const MemoryVerdict verdict = compare_memory(estimate, machine); !verdict.errors.empty())
      throw BadMessage(fmt::format("{}: {}", pipeline.name, verdict.errors.front()));
    std::string name = fmt::format("session-{}", ++count_);
    while (fs::exists(options_.out / name)) name = fmt::format("session-{}", ++count_);
    sessions_.emplace_back(std::piecewise_construct, std::forward_as_tuple(client),
                           std::forward_as_tuple(std::move(name), std::move(pipeline), estimate.host, estimate.device,
                                                 link, options_.limits));
  }

  // Begins runs in order as long as there is room. A client is told of the beginning before it gets credit.
  void start_waiting() {
    std::size_t running = 0, host = 0, device = 0, place = 0;
    for (const auto& [client, session] : sessions_) {
      if (!session.is_running()) continue;
      ++running;
      host = memory_sum(host, session.host_bytes());
      device = memory_sum(device, session.device_bytes());
    }
    for (auto& [client, session] : sessions_) {
      if (!session.is_waiting()) continue;
      host = memory_sum(host, session.host_bytes());
      device = memory_sum(device, session.device_bytes());
      const bool has_room = place == 0 && running < options_.at_once && host <= options_.memory_bytes &&
                            (options_.device_bytes == 0 || device <= options_.device_bytes);
      if (!has_room) {
        session.tell_place(++place);
        continue;
      }
      ++running;
      start(session);
    }
  }

  void start(Session& session) try {
    session.say(make_json_message(Kind::accepted,
                                  Json{{"session", session.name()}, {"largest_frame", options_.largest_frame}}));
    session.start({.output_dir = options_.out / session.name(),
                   .more_files = {report_html_name},
                   .stop_deadline = options_.stop_deadline,
                   .name = session.name(),
                   .turns = turns_},
                  [this] { wake_.raise(); });
    session.say(make_credit(options_.window_bytes));
  } catch (const std::system_error& error) {
    session.fail(fmt::format("the run cannot begin: {}; try again later", error.what()));
  }

  void look_after_runs() {
    for (auto session = sessions_.begin(); session != sessions_.end();) {
      Session& each = session->second;
      if (!each.is_gone() && each.silence() > options_.patience) each.vanish();
      left_threads_ = each.pump() || left_threads_;
      const bool is_done = each.is_over() && (each.is_gone() || each.outbox().empty());
      session = is_done ? sessions_.erase(session) : std::next(session);
    }
  }

  void send() {
    for (auto& [client, session] : sessions_) {
      auto& outbox = session.outbox();
      while (!outbox.empty()) {
        const Sent sent = send_to(client, outbox.front());
        if (sent == Sent::full) break;
        outbox.pop_front();
        if (sent == Sent::gone) {
          session.vanish();
          break;
        }
      }
    }
  }

  enum class Sent { yes, full, gone };
  Sent send_to(const std::string& client, const Bytes& message) {
    try {
      const auto flags = zmq::send_flags::dontwait | zmq::send_flags::sndmore;
      if (!socket_.send(zmq::buffer(client), flags)) return Sent::full;
      socket_.send(zmq::buffer(message.data(), message.size()), zmq::send_flags::dontwait);
      return Sent::yes;
    } catch (const zmq::error_t& error) {
      if (error.num() != EHOSTUNREACH) throw;
      return Sent::gone;
    }
  }

  // Finding the pipelines that can serve takes a while, so it is not done for each request.
  const std::vector<std::string>& offered() {
    constexpr std::chrono::seconds holds{5};
    if (const auto now = Session::Clock::now();
        offered_at_ == Session::Clock::time_point{} || now - offered_at_ > holds) {
      offered_ = offered_pipelines(options_.permissions);
      offered_at_ = now;
    }
    return offered_;
  }

  Json offer() {
    Json sessions = Json::array();
    for (const auto& [client, session] : sessions_) sessions.push_back(session.status());
    return {{"pipelines", offered()}, {"at_once", options_.at_once}, {"sessions", std::move(sessions)}};
  }

  ServerOptions options_;
  EventDescriptor wake_;
  const std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
  zmq::context_t zmq_;
  zmq::socket_t socket_;
  SocketGuard guard_;
  std::string endpoint_;
  Sessions sessions_;
  std::uint64_t count_ = 0;
  std::vector<std::string> offered_;
  Session::Clock::time_point offered_at_{}, told_of_refusal_{};
  bool is_stopping_ = false, left_threads_ = false;
  std::atomic<bool> stop_ordered_ = false, abort_ordered_ = false;
};

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Server::~Server() = default;

const std::string& Server::endpoint() const {
  return impl_->endpoint();
}
bool Server::run() {
  return impl_->run();
}
void Server::request_stop() {
  impl_->order_stop();
}
void Server::abort() {
  impl_->order_abort();
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
