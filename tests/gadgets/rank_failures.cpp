// What becomes of a run's ranks where one fails: who is slow is told from who hangs, by bytes and work that move; the
// first cause is kept; ranks break off between batches; and what ranks hold is counted.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/private_folder.hpp"
#include "core/run/run_control.hpp"
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ranks/rank_group.hpp"
#include "gadgets/step/division.hpp"
#include "gadgets/step/rank_watch.hpp"
#include "gadgets/step/remote_rank.hpp"
#include "gadgets/step/stragglers.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace std::chrono_literals;

namespace {

/// Another rank, as far as the first one's group sees it: what it answers is the test's business.
class RankPeer {
 public:
  using Answer = std::function<void(RankSocket&, const RankMessage&)>;
  RankPeer(const std::string& endpoint, int rank, int ranks, std::chrono::milliseconds silence, Answer answer,
           const std::string& host = "", int nccl = 0, const std::string& mpi = "")
      : answer_(std::move(answer)),
        socket_({.end = SocketEnd::connects,
                 .endpoint = endpoint,
                 .came = [this](const std::string&, RankMessage message) { take(message); },
                 .silence = silence}) {
    socket_.send("", RankMessageKind::hello, 0,
                 packed(RankIdentity{{rank, ranks},
                                     host.empty() ? fmt::format("host{}", rank) : host,
                                     0,
                                     "program",
                                     "pipeline",
                                     "",
                                     nccl,
                                     nccl > 0 ? "" : "none here",
                                     mpi,
                                     mpi.empty() ? "no MPI here" : ""}));
  }
  void vanish() { socket_.close(); }

 private:
  void take(const RankMessage& message) {
    const std::lock_guard lock(made_);
    if (message.kind == RankMessageKind::welcome) socket_.watch("");
    answer_(socket_, message);
  }

  Answer answer_;
  std::mutex made_;
  RankSocket socket_;
};

RankGroup::Settings first_of(int ranks, const std::string& endpoint, std::chrono::milliseconds silence) {
  return {.own = {{0, ranks}, "here", 0, "program", "pipeline", ""}, .endpoint = endpoint, .silence = silence};
}

std::vector<wire::PackedPiece> some_bytes(std::size_t bytes) {
  const auto made = std::make_shared<const std::vector<std::byte>>(bytes);
  return {{made, *made}};
}

RankWait patient(std::chrono::milliseconds patience) {
  return {.patience = [patience] { return patience; }};
}

template <class Act>
std::string said_by(const Act& act) {
  try {
    act();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

double seconds_of(const std::function<void()>& act) {
  const auto began = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// A link that carries so many bytes a second each way, to a port of this host.
class SlowLink {
 public:
  SlowLink(int to_port, double bytes_a_second) : to_port_(to_port), chunk_(bytes_a_second / 100) {
    listens_ = bound(0);
    ::listen(listens_, 1);
    thread_ = std::jthread([this](const std::stop_token& stop) { carry(stop); });
  }
  ~SlowLink() {
    thread_.request_stop();
    thread_.join();
    ::close(listens_);
  }
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

  int port() const { return port_of(listens_); }
  // None of those that the system gives to who connects.
  static int free_port() {
    std::random_device random;
    std::uniform_int_distribution<int> any(20'000, 32'000);
    while (true) {
      const int port = any(random), socket = ::socket(AF_INET, SOCK_STREAM, 0);
      const sockaddr_in address = at(port);
      const bool is_free = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
      ::close(socket);
      if (is_free) return port;
    }
  }

 private:
  static sockaddr_in at(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  static int bound(int port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = at(port);
    REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    return socket;
  }
  static int port_of(int socket) {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }

  void carry(const std::stop_token& stop) {
    pollfd caller{listens_, POLLIN, 0};
    while (::poll(&caller, 1, 50) == 0)
      if (stop.stop_requested()) return;
    const int near = ::accept(listens_, nullptr, nullptr), far = connected(stop);
    const int little = 64 << 10;  // so that bytes wait at their sender
    for (const int end : {near, far})
      for (const int option : {SO_RCVBUF, SO_SNDBUF}) ::setsockopt(end, SOL_SOCKET, option, &little, sizeof(little));
    while (!stop.stop_requested() && hand_on(near, far) && hand_on(far, near)) std::this_thread::sleep_for(10ms);
    ::close(near);
    ::close(far);
  }
  // Who is at the other end may bind later.
  int connected(const std::stop_token& stop) const {
    const sockaddr_in address = at(to_port_);
    while (true) {
      const int far = ::socket(AF_INET, SOCK_STREAM, 0);
      if (::connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || stop.stop_requested())
        return far;
      ::close(far);
      std::this_thread::sleep_for(10ms);
    }
  }
  bool hand_on(int from, int to) const {
    std::vector<char> bytes(static_cast<std::size_t>(chunk_));
    const auto came = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (came < 0) return errno == EAGAIN || errno == EINTR;
    for (ssize_t sent = 0; sent < came;) {
      const auto more = ::send(to, bytes.data() + sent, static_cast<std::size_t>(came - sent), MSG_NOSIGNAL);
      if (more <= 0) return false;
      sent += more;
    }
    return came > 0;
  }

  int to_port_, listens_ = -1;
  double chunk_;
  std::jthread thread_;
};

/// The run of a gadget 'projected', which may be failed.
class RankRun final : public RunControl {
 public:
  explicit RankRun(const std::string& fault) {
    PipelineGadget gadget;
    gadget.name = "projected";
    gadget.where = {std::make_shared<const std::string>("run.yaml"), 7, 3};
    if (!fault.empty()) gadget.fault = {.rank = 1, .throw_at = 0};
    pipeline_.gadgets.push_back(std::move(gadget));
  }
  const Pipeline& pipeline() const override { return pipeline_; }
  RunReport snapshot() const override { return {}; }
  std::vector<LiveParameter> live_parameters() const override { return {}; }
  std::vector<Problem> set_parameter(std::string_view, std::string_view, const Value&) override { return {}; }
  void request_stop() override {}
  void abort() override {}
  void fail(RunError error) override { errors.push_back(error.text()); }

  std::vector<std::string> errors;

 private:
  Pipeline pipeline_;
};

}  // namespace

TEST_CASE("a rank over a slow link is waited for as long as bytes move either way, and hangs once none do") {
  const int port = SlowLink::free_port();
  const SlowLink link(port, 4e6);
  const std::size_t bytes = 8 << 20;  // two seconds each way
  constexpr auto patience = 1200ms;
  std::atomic<std::size_t> came = 0;
  std::unique_ptr<RankPeer> peer;
  std::atomic<bool> answers = true;
  std::jthread joins([&] {
    peer = std::make_unique<RankPeer>(fmt::format("tcp://127.0.0.1:{}", link.port()), 1, 2, 2s,
                                      [&](RankSocket& socket, const RankMessage& message) {
                                        if (message.kind != RankMessageKind::pass) return;
                                        came = message.body->size();
                                        if (answers)
                                          socket.send("", RankMessageKind::sums, message.session, some_bytes(came));
                                      });
  });
  RankGroup group(first_of(2, fmt::format("tcp://127.0.0.1:{}", port), 2s));
  joins.join();
  RankChannel channel(group, 1, group.new_session("projected"));
  const double slow_s = seconds_of([&] {
    channel.send(RankMessageKind::pass, some_bytes(bytes));
    CHECK(channel.answer(RankMessageKind::sums, patient(patience)).body->size() == bytes);
  });
  CHECK(came == bytes);
  CHECK(slow_s > 2.4);  // several times its patience
  answers = false;
  channel.send(RankMessageKind::pass, some_bytes(1000));
  std::string said;
  const double hung_s =
      seconds_of([&] { said = said_by([&] { channel.answer(RankMessageKind::sums, patient(patience)); }); });
  CHECK(said.starts_with("rank 1, on host1: it hangs: it is there, but has got no further for 1 s"));
  CHECK(hung_s < 3);
  group.end(1);
}

TEST_CASE("a rank's work is progress, of which it tells while it projects") {
  const PrivateTemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
  std::jthread work;
  std::unique_ptr<RankPeer> peer;
  std::jthread joins([&] {
    peer = std::make_unique<RankPeer>(endpoint, 1, 2, 1s, [&](RankSocket& socket, const RankMessage& message) {
      if (message.kind != RankMessageKind::pass) return;
      work = std::jthread([&socket, session = message.session] {
        for (int batch = 0; batch < 15; ++batch) {
          std::this_thread::sleep_for(100ms);
          socket.note_progress();
        }
        socket.send("", RankMessageKind::sums, session, {});
      });
    });
  });
  RankGroup group(first_of(2, endpoint, 1s));
  joins.join();
  RankChannel channel(group, 1, group.new_session("projected"));
  channel.send(RankMessageKind::pass, {});
  const double took_s = seconds_of([&] { channel.answer(RankMessageKind::sums, patient(600ms)); });
  CHECK(took_s > 1.4);
  group.end(0);
}

TEST_CASE("the first failure of a rank is the cause, for its own gadget at once and for others a second later") {
  const PrivateTemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
  std::vector<std::unique_ptr<RankPeer>> peers(3);
  std::jthread joins([&] {
    for (int rank = 1; rank < 3; ++rank)
      peers[static_cast<std::size_t>(rank)] =
          std::make_unique<RankPeer>(endpoint, rank, 3, 500ms, [rank](RankSocket& socket, const RankMessage& message) {
            if (message.kind == RankMessageKind::pass && rank == 2)
              socket.send("", RankMessageKind::failed, message.session, packed_text("the GPU has fallen off the bus"));
          });
  });
  RankGroup group(first_of(3, endpoint, 500ms));
  joins.join();
  std::atomic<int> told = 0;
  std::promise<RankFailure> failure;
  group.when_failed([&](const RankFailure& what) {
    if (told++ == 0) failure.set_value(what);
  });
  const auto first = group.new_session("first"), second = group.new_session("second");
  RankChannel other_gadget(group, 1, second);
  auto other_said = std::async(std::launch::async, [&] {
    const auto began = std::chrono::steady_clock::now();
    const std::string said = said_by([&] { other_gadget.answer(RankMessageKind::sums, patient(1min)); });
    return std::pair(said, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  });
  RankChannel channel(group, 2, first);
  channel.send(RankMessageKind::pass, {});
  CHECK_THROWS_AS(channel.answer(RankMessageKind::sums, patient(1min)), RankFailed);
  CHECK_FALSE(group.failure(second));
  const std::string cause = "rank 2, on host2: the GPU has fallen off the bus";
  CHECK(group.failure(first)->what == cause);
  const RankFailure what = failure.get_future().get();
  CHECK(what.gadget == "first");
  CHECK(what.what == cause);
  peers[1]->vanish();  // which is no cause any more
  const auto [said, after_s] = other_said.get();
  CHECK(said == cause);
  CHECK(after_s > 0.9);
  std::this_thread::sleep_for(700ms);
  CHECK(group.failure(second)->what == cause);
  CHECK(told == 1);
  CHECK(seconds_of([&] { group.end(1); }) < 2);
}

TEST_CASE("a rank that vanishes while nobody waits for it is a failure of no gadget, and of one that waits its own") {
  for (const bool waits : {false, true}) {
    CAPTURE(waits);
    const PrivateTemporaryFolder folder;
    const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
    std::unique_ptr<RankPeer> peer;
    std::jthread joins(
        [&] { peer = std::make_unique<RankPeer>(endpoint, 1, 2, 400ms, [](RankSocket&, const RankMessage&) {}); });
    RankGroup group(first_of(2, endpoint, 400ms));
    joins.join();
    const auto session = group.new_session("projected");
    std::promise<RankFailure> failure;
    group.when_failed([&](const RankFailure& what) { failure.set_value(what); });
    RankChannel channel(group, 1, session);
    std::future<std::string> said;
    if (waits)
      said = std::async(std::launch::async,
                        [&] { return said_by([&] { channel.answer(RankMessageKind::sums, patient(1min)); }); });
    std::this_thread::sleep_for(100ms);
    peer->vanish();
    auto coming = failure.get_future();
    REQUIRE(coming.wait_for(3s) == std::future_status::ready);
    const RankFailure what = coming.get();
    CHECK(what.gadget == (waits ? "projected" : ""));
    CHECK(what.what.starts_with("rank 1, on host1: nothing was heard of it for 0.4 s"));
    if (waits) CHECK(said.get() == what.what);
    CHECK(group.failure(session));
  }
}

TEST_CASE("a wait that nobody needs any more ends, and is no failure") {
  const PrivateTemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
  std::unique_ptr<RankPeer> peer;
  std::jthread joins(
      [&] { peer = std::make_unique<RankPeer>(endpoint, 1, 2, 1s, [](RankSocket&, const RankMessage&) {}); });
  RankGroup group(first_of(2, endpoint, 1s));
  joins.join();
  RankChannel channel(group, 1, group.new_session("projected"));
  std::stop_source cancelled;
  PassClock clock(cancelled.get_token());
  clock.begin();
  CHECK_FALSE(clock.is_over());
  const RankWait wait{.patience = [] { return 1min; }, .is_over = [&] { return clock.is_over(); }};
  clock.give_up();
  CHECK_THROWS_AS(channel.answer(RankMessageKind::sums, wait), BrokenOff);
  clock.begin();
  cancelled.request_stop();
  CHECK_THROWS_AS(channel.answer(RankMessageKind::sums, wait), BrokenOff);
  CHECK_FALSE(group.failure(1));
  group.end(0);
}

TEST_CASE("patience with a rank follows from what the first took for as many data") {
  PassClock clock({});
  const auto s = [&](std::int64_t data) { return std::chrono::duration<double>(clock.patience(data)).count(); };
  CHECK(s(1000) == 600);  // nothing to go by
  clock.note(1'000'000, 2);
  CHECK(s(1'000'000) == approx(28));
  CHECK(s(0) == approx(8));
  clock.note(1'000'000, 0);
  CHECK(s(2'000'000) == approx(28));
}

TEST_CASE("a rank's thread that hangs fails the run, in the gadget's name and place") {
  RankRun run("");
  TestContext context("projected", ".", &run);
  std::promise<void> stuck;
  std::future<void> working = stuck.get_future();
  RankProgress progress;
  progress.note();
  std::jthread freed([&] {
    std::this_thread::sleep_for(900ms);
    stuck.set_value();
  });
  wait_for_rank(
      working, progress, [] { return 300ms; }, "rank 1, on a GPU", context);
  REQUIRE(run.errors.size() == 1);
  CHECK(run.errors[0].starts_with("run.yaml:7:3: gadget 'projected': rank 1, on a GPU: it hangs"));
  // One that gets further is waited for.
  std::promise<void> slow;
  working = slow.get_future();
  std::jthread works([&] {
    for (int i = 0; i < 9; ++i) {
      std::this_thread::sleep_for(100ms);
      progress.note();
    }
    slow.set_value();
  });
  wait_for_rank(
      working, progress, [] { return 400ms; }, "rank 1", context);
  CHECK(run.errors.size() == 1);
}

TEST_CASE("a fault of one of a gadget's ranks comes from the run's pipeline") {
  RankRun with("a fault"), without("");
  TestContext some("projected", ".", &with), none("projected", ".", &without), alone("projected");
  CHECK(fault_of_ranks(some).is_of(1));
  CHECK_FALSE(fault_of_ranks(some).is_of(0));
  CHECK_FALSE(fault_of_ranks(none).any());
  CHECK_FALSE(fault_of_ranks(alone).any());
}

TEST_CASE("a rank that takes 1.2 times as long as the median over ten subsets is named once") {
  Stragglers stragglers;
  const auto ten = [&](const std::vector<RankTime>& ranks) {
    for (int subset = 1; subset < Stragglers::window; ++subset) CHECK(stragglers.note(ranks).empty());
    return stragglers.note(ranks);
  };
  CHECK(ten({{100, 1}, {100, 1.1}, {100, 1.15}}).empty());
  const auto slow = ten({{100, 1}, {100, 1.02}, {100, 1.3}});
  REQUIRE(slow.size() == 1);
  CHECK(slow[0].rank == 2);
  CHECK(slow[0].times == approx(1.3 / 1.02));
  CHECK(ten({{100, 1}, {100, 1.02}, {100, 1.3}}).empty());
  // More data take longer, and a rank that has none tells nothing.
  CHECK(ten({{100, 1}, {150, 1.5}, {0, 0}}).empty());
  // The slower one of two.
  Stragglers two;
  for (int subset = 1; subset < Stragglers::window; ++subset) two.note(std::vector<RankTime>{{100, 1.5}, {100, 1}});
  const auto first = two.note(std::vector<RankTime>{{100, 1.5}, {100, 1}});
  REQUIRE(first.size() == 1);
  CHECK(first[0].rank == 0);
  // Milliseconds tell nothing.
  Stragglers quick;
  for (int subset = 0; subset < 20; ++subset)
    CHECK(quick.note(std::vector<RankTime>{{100, 0.001}, {100, 0.003}}).empty());
}

TEST_CASE("what ranks hold in the first one's process is counted") {
  constexpr std::size_t image = 1000, projector = 300;
  const auto bytes = [&](int ranks, int parts, bool deterministic, bool on_device) {
    const RankMemory memory = memory_of_ranks({ranks, parts}, deterministic, on_device, image, projector);
    return std::pair(memory.host_bytes, memory.device_bytes);
  };
  using Bytes = std::pair<std::size_t, std::size_t>;
  CHECK(bytes(1, 0, false, false) == Bytes(0, 0));
  CHECK(bytes(1, 8, false, false) == Bytes(7 * image, 0));
  // On a CPU all ranks lie in one memory: a projector and sums of parts each.
  CHECK(bytes(3, 0, false, false) == Bytes(2 * (image + projector), 0));
  CHECK(bytes(3, 0, true, false) == Bytes(2 * image + 2 * (3 * image + projector), 0));
  // On GPUs others have their own; the first one adds up a slab with another.
  CHECK(bytes(2, 0, false, true) == Bytes(0, image));
  CHECK(bytes(2, 8, false, true) == Bytes(0, 4 * image));
  CHECK(bytes(1, 0, false, true) == Bytes(0, 0));
  const PrivateTemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
  std::unique_ptr<RankPeer> peer;
  std::jthread joins(
      [&] { peer = std::make_unique<RankPeer>(endpoint, 1, 2, 1s, [](RankSocket&, const RankMessage&) {}); });
  RankGroup group(first_of(2, endpoint, 1s));
  joins.join();
  const RankGroupInUse used(group);
  // One other process: its sum, and one more while it comes; with a GPU the estimate on the host too.
  CHECK(bytes(1, 0, false, false) == Bytes(2 * image, 0));
  CHECK(bytes(1, 0, false, true) == Bytes(3 * image, image));
  CHECK(bytes(1, 8, false, false) == Bytes(3 * image + 8 * image, 0));
  group.end(0);
}

TEST_CASE("images of CPUs go by MPI where its launcher has started all ranks on one host, or where it is asked for") {
  struct Case {
    const char *host, *mpi;  // of the other rank
    ImageRoute route;
    const char* why_not;  // of what is said
  };
  constexpr auto* own = "Open MPI v4.1.4";
  for (const Case& each :
       {Case{"here", own, ImageRoute::automatic, ""}, Case{"here", own, ImageRoute::mpi, ""},
        Case{"here", "", ImageRoute::automatic, "rank 1, on here: no MPI here"},
        Case{"here", "", ImageRoute::mpi, "rank 1, on here: no MPI here"},
        Case{"here", "Open MPI v5.0.1", ImageRoute::automatic,
             "rank 1, on here, has Open MPI v5.0.1, and the first, on here, has Open MPI v4.1.4: install one version"},
        Case{"there", own, ImageRoute::automatic, "between hosts MPI neither encrypts nor authenticates"},
        Case{"there", own, ImageRoute::mpi, ""}, Case{"here", own, ImageRoute::messages, "--rank-images messages"}}) {
    CAPTURE(each.host);
    CAPTURE(each.why_not);
    const PrivateTemporaryFolder folder;
    const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
    RankPeer peer(
        endpoint, 1, 2, 5s, [](RankSocket&, const RankMessage&) {}, each.host, 0, each.mpi);
    RankGroup::Settings settings = first_of(2, endpoint, 5s);
    settings.own.mpi = own;
    settings.images = each.route;
    const bool is_refused = each.route == ImageRoute::mpi && each.why_not[0] != '\0';
    std::optional<RankGroup> group;
    const std::string refused = said_by([&] { group.emplace(settings); });
    const std::string said = is_refused ? refused : group->why_not_mpi();
    CHECK(is_refused == !group.has_value());
    CHECK(said.starts_with(each.why_not));
    CHECK(said.empty() == (each.why_not[0] == '\0'));
    if (!group || !said.empty()) continue;
    // What the first holds of the others' sums are slabs.
    const RankGroupInUse used(*group);
    constexpr std::size_t image = 4000;
    CHECK(memory_of_ranks({1, 8}, false, false, image, 0).host_bytes == 3 * image + 2 * image);
  }
}

TEST_CASE("images go by NCCL where all ranks have one version of it on one host, or where it is asked for") {
  struct Case {
    const char* host;  // of the other rank
    int nccl;          // its version
    ImageRoute route;
    const char* why_not;  // of what is said
  };
  constexpr int own = 22809;
  for (const Case& each :
       {Case{"here", own, ImageRoute::automatic, ""},
        Case{"here", 0, ImageRoute::automatic, "rank 1, on here: none here"},
        Case{"here", 22703, ImageRoute::automatic,
             "rank 1, on here, has NCCL 2.27.3, and the first, on here, has 2.28.9: install one version"},
        Case{"there", own, ImageRoute::automatic, "between hosts NCCL neither encrypts nor authenticates"},
        Case{"there", own, ImageRoute::nccl, ""}, Case{"there", 0, ImageRoute::nccl, "rank 1, on there: none here"},
        Case{"here", own, ImageRoute::messages, "--rank-images messages"}}) {
    CAPTURE(each.host);
    CAPTURE(each.why_not);
    const PrivateTemporaryFolder folder;
    const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
    RankPeer peer(
        endpoint, 1, 2, 5s, [](RankSocket&, const RankMessage&) {}, each.host, each.nccl);
    RankGroup::Settings settings = first_of(2, endpoint, 5s);
    settings.own.nccl = own;
    settings.images = each.route;
    const bool is_refused = each.route == ImageRoute::nccl && each.why_not[0] != '\0';
    std::optional<RankGroup> group;
    const std::string refused = said_by([&] { group.emplace(settings); });
    const std::string said = is_refused ? refused : group->why_not_nccl();
    CHECK(is_refused == !group.has_value());
    CHECK(said.starts_with(each.why_not));
    CHECK(said.empty() == (each.why_not[0] == '\0'));
  }
}
// SPDX-License-Identifier: Apache-2.0
