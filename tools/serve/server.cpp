// The server's thread: a ROUTER socket, the clients, and which of them is next. See server.hpp.
#include "tools/serve/server.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <zmq.hpp>

#include "core/base/log.hpp"
#include "core/base/make_folder.hpp"
#include "core/base/version.hpp"
#include "gadgets/io/random_identity.hpp"
#include "gadgets/io/wall_clock.hpp"
#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/wait_for_any.hpp"
#include "kernels/memory/memory.hpp"
#include "tools/serve/fleet_figures.hpp"
#include "tools/serve/front_socket.hpp"
#include "tools/serve/gpu_ledger.hpp"
#include "tools/serve/health.hpp"
#include "tools/serve/served_ends.hpp"
#include "tools/serve/session.hpp"

namespace tofstream::serve {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Bytes = std::vector<std::byte>;

constexpr std::chrono::milliseconds look_around{100};
constexpr std::chrono::milliseconds between_figures{200};
constexpr std::chrono::milliseconds between_looks_at_gpu{500};

// Why this server does not take a run that another one may take.
struct TryAnother : BadMessage {
  using BadMessage::BadMessage;
};

// The GPUs of a pipeline: as many as its largest `ranks` says, 0 for all.
std::size_t gpus_of(const Pipeline& pipeline) {
  std::size_t most = 1;
  for (const PipelineGadget& gadget : pipeline.gadgets)
    if (const std::string text = parameter_text(gadget, "ranks"); !text.empty()) {
      const int ranks = std::atoi(text.c_str());
      most = std::max(most, ranks > 0 ? static_cast<std::size_t>(ranks) : SIZE_MAX);
    }
  return most;
}

}  // namespace

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

class Server::Impl {
 public:
  explicit Impl(ServerOptions options)
      : options_(std::move(options)),
        front_({.endpoint = options_.endpoint,
                .keys = options_.keys,
                .patience = options_.patience,
                .largest_frame = options_.largest_frame}) {
    check_folders(options_);
    if (options_.memory_bytes == 0) options_.memory_bytes = host_memory_bytes();
    if (options_.device_bytes == 0 && why_no_cuda().empty()) options_.device_bytes = free_device_bytes();
    if (!options_.ledger.empty() && !options_.gpus.empty())
      ledger_.emplace(options_.ledger, options_.gpus.front(), options_.device_bytes);
  }

  const std::string& endpoint() const { return front_.endpoint(); }

  bool run() {
    while (!(is_stopping_ && sessions_.empty())) {
      wake_.clear();
      take_orders();
      front_.receive([this](const std::string& client, zmq::message_t* message) { take(client, message); });
      look_after_runs();
      start_waiting();
      send();
      look_at_gpu();
      note_figures();
      wait();
    }
    return left_threads_;
  }

  std::string metrics() const {
    const std::lock_guard lock(figures_mutex_);
    return metrics_text({figures_});
  }
  bool is_ready() const { return is_ready_; }
  bool is_live() const { return is_live_; }

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
    zmq::pollitem_t items[] = {front_.poll_item(), {nullptr, wake_.number(), ZMQ_POLLIN, 0}};
    wait_for_any(items, std::min(look_around, front_.longest_wait()));
  }

  // A client, by the socket's identity of its connection.
  using Sessions = std::list<std::pair<std::string, Session>>;

  void take_orders() {
    if (stop_ordered_ && !std::exchange(is_stopping_, true)) {
      for (auto& [client, session] : sessions_)
        if (session.is_waiting())
          session.fail("the server is stopping, and the run has not begun: try again later", true);
        else
          session.request_stop();
    }
    if (abort_ordered_.exchange(false))
      for (auto& [client, session] : sessions_) session.fail("the server was told to end at once");
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
    } catch (const TryAnother& bad) {
      refuse(client, session, {bad.what()}, true);
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

  void refuse(const std::string& client, Session* session, const std::vector<std::string>& why,
              bool another_may = false) {
    if (session) return session->fail(why.front());
    // A client that keeps sending rubbish must not fill the log.
    constexpr std::chrono::seconds pause{1};
    if (const auto now = Session::Clock::now(); now - told_of_refusal_ > pause) {
      told_of_refusal_ = now;
      program_log().info("a client is refused: {}", why.front());
    }
    front_.send(client, make_refusal(why, another_may));
  }

  void answer(const std::string& client, Session* session, const Message& message, zmq::message_t& bytes) {
    switch (message.kind) {
      case Kind::ping:
        return static_cast<void>(front_.send(client, make_message(Kind::pong)));
      case Kind::list:
        return static_cast<void>(front_.send(client, make_json_message(Kind::offer, offer())));
      case Kind::ask_health:
        return static_cast<void>(front_.send(client, make_json_message(Kind::health, to_json(health()))));
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
      session->is_waiting() ? session->fail("the run was stopped before it began") : session->request_stop();
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
    if (is_stopping_) throw TryAnother("the server is stopping and takes no new clients");
    if (std::ranges::count_if(sessions_, [](const auto& each) { return each.second.is_waiting(); }) >=
        static_cast<std::ptrdiff_t>(options_.most_waiting))
      throw TryAnother(fmt::format("{} clients wait already: try again later", options_.most_waiting));
    Pipeline pipeline = permitted_pipeline(hello, options_.permissions);
    const auto link = std::make_shared<SessionLink>(SessionLink::Settings{
        .window_bytes = options_.window_bytes, .images = hello.images, .wake = [this] { wake_.raise(); }});
    connect_ends(pipeline, link, options_.window_bytes + options_.largest_frame);
    const MemoryEstimate estimate = estimate_memory(pipeline);
    const MachineMemory machine{options_.memory_bytes,
                                options_.device_bytes > 0 ? std::optional(options_.device_bytes) : std::nullopt};
    if (const MemoryVerdict verdict = compare_memory(estimate, machine); !verdict.errors.empty())
      throw TryAnother(fmt::format("{}: {}", pipeline.name, verdict.errors.front()));
    std::vector<int> gpus(options_.gpus.begin(),
                          options_.gpus.begin() + std::min(options_.gpus.size(), gpus_of(pipeline)));
    require_other_gpus(gpus, estimate.device.at_least);
    sessions_.emplace_back(std::piecewise_construct, std::forward_as_tuple(client),
                           std::forward_as_tuple(next_name(), std::move(pipeline), estimate.host, estimate.device, link,
                                                 options_.limits, std::move(gpus)));
  }

  // A run needs no more of a further GPU than of its first.
  void require_other_gpus(const std::vector<int>& gpus, std::size_t bytes) const {
    for (std::size_t k = 1; ledger_ && k < gpus.size(); ++k)
      if (const std::size_t there = ledger_->bytes_of(gpus[k]); bytes > there)
        throw TryAnother(fmt::format("it may need {:.2g} GiB of GPU {}, of which runs may have {:.2g} GiB",
                                     static_cast<double>(bytes) / 1073741824.0, gpus[k],
                                     static_cast<double>(there) / 1073741824.0));
  }

  std::string next_name() {
    for (;;)
      if (std::string name = fmt::format("{}session-{}", options_.name_prefix, ++count_);
          !fs::exists(options_.out / name))
        return name;
  }

  // What the runs that have begun take together.
  Place taken() const {
    Place sum;
    for (const auto& [client, session] : sessions_) {
      if (session.is_waiting()) ++sum.waiting;
      if (!session.is_running()) continue;
      ++sum.running;
      sum.memory_bytes = memory_sum(sum.memory_bytes, session.host_bytes());
      sum.gpu_bytes = memory_sum(sum.gpu_bytes, session.device_bytes());
    }
    return sum;
  }

  Place place() const {
    const auto left = [](std::size_t of, std::size_t taken) { return of - std::min(of, taken); };
    Place place = taken();
    place.name = options_.gpus.empty() ? "" : fmt::format("GPU {}", options_.gpus.front());
    place.at_once = options_.at_once;
    place.memory_free = left(options_.memory_bytes, place.memory_bytes);
    if (ledger_) place.gpu_bytes = memory_sum(place.gpu_bytes, ledger_->taken_by_others());
    place.gpu_free = std::min(left(options_.device_bytes, place.gpu_bytes), gpu_free_);
    place.memory_bytes = options_.memory_bytes;
    place.gpu_bytes = options_.device_bytes;
    place.why_not = is_stopping_ ? "it is stopping" : gpu_failure_;
    return place;
  }

  Health health() const { return {.version = std::string(version()), .identity = identity_, .places = {place()}}; }

  // Another program may use the GPU too. One that has failed fails for every later run of this process.
  void look_at_gpu() try {
    if (!why_no_cuda().empty() || Session::Clock::now() - gpu_at_ < between_looks_at_gpu) return;
    gpu_at_ = Session::Clock::now();
    gpu_free_ = free_device_bytes();
  } catch (const std::exception& error) {
    gpu_failure_ = fmt::format("its GPU has failed: {}", one_line(error.what()));
  }

  // Begins runs in order as long as there is room. A client is told of the beginning before it gets credit.
  void start_waiting() {
    const Place begun = taken();
    std::size_t running = begun.running, host = begun.memory_bytes, device = begun.gpu_bytes, place = 0;
    for (auto& [client, session] : sessions_) {
      if (!session.is_waiting()) continue;
      host = memory_sum(host, session.host_bytes());
      device = memory_sum(device, session.device_bytes());
      const bool has_room = place == 0 && running < options_.at_once && host <= options_.memory_bytes &&
                            (options_.device_bytes == 0 || device <= options_.device_bytes) &&
                            (!ledger_ || ledger_->take(session.name(), session.gpus(), session.device_bytes()));
      if (!has_room) {
        session.tell_place(++place);
        continue;
      }
      ++running;
      start(session);
    }
  }

  void start(Session& session) try {
    ++begun_;
    session.say_accepted(options_.largest_frame);
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
      if (ledger_ && each.is_over()) ledger_->give_back(each.name());
      const bool is_done = each.is_over() && (each.is_gone() || each.outbox().empty());
      session = is_done ? sessions_.erase(session) : std::next(session);
    }
  }

  void send() {
    for (auto& [client, session] : sessions_) {
      auto& outbox = session.outbox();
      while (!outbox.empty()) {
        const FrontSocket::Sent sent = front_.send(client, outbox.front());
        if (sent == FrontSocket::Sent::full) break;
        outbox.pop_front();
        if (sent == FrontSocket::Sent::gone) {
          session.vanish();
          break;
        }
      }
    }
  }

  void note_figures() {
    if (Session::Clock::now() - figures_at_ < between_figures) return;
    figures_at_ = Session::Clock::now();
    ServerFigures figures{.places = {place()}, .begun = begun_};
    is_ready_ = figures.places.front().takes();
    const std::lock_guard lock(figures_mutex_);
    is_live_ = gpu_failure_.empty();
    figures_ = std::move(figures);
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
  std::optional<GpuLedger> ledger_;
  EventDescriptor wake_;
  const std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
  FrontSocket front_;
  Sessions sessions_;
  std::uint64_t count_ = 0, begun_ = 0;
  const std::string identity_ = fmt::format("{:016x}", random_identity());
  std::vector<std::string> offered_;
  Session::Clock::time_point offered_at_{}, told_of_refusal_{}, figures_at_{};
  Session::Clock::time_point gpu_at_{};
  std::size_t gpu_free_ = SIZE_MAX;  // as it was measured
  std::string gpu_failure_;
  bool is_stopping_ = false, left_threads_ = false;
  std::atomic<bool> stop_ordered_ = false, abort_ordered_ = false, is_ready_ = false, is_live_ = true;
  mutable std::mutex figures_mutex_;
  ServerFigures figures_;
};

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Server::~Server() = default;

const std::string& Server::endpoint() const {
  return impl_->endpoint();
}
bool Server::run() {
  return impl_->run();
}
std::string Server::metrics() const {
  return impl_->metrics();
}
bool Server::is_ready() const {
  return impl_->is_ready();
}
bool Server::is_live() const {
  return impl_->is_live();
}
void Server::request_stop() {
  impl_->order_stop();
}
void Server::abort() {
  impl_->order_abort();
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
