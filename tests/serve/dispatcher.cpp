// A dispatcher with servers behind it: clients get what a server gives them, and are told, or served elsewhere, when a
// server is full, stops or vanishes.
#include "tools/serve/dispatcher.hpp"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>
#include <netdb.h>
#include <zmq.hpp>

#include "core/base/version.hpp"
#include "gadgets/wire/key_files.hpp"
#include "support.hpp"
#include "tests/support/skip.hpp"
#include "tools/serve/gpu_ledger.hpp"
#include "tools/serve/health.hpp"

using namespace tofstream;
using namespace tofstream::serve;
using namespace tofstream::serve::test;

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

class RunningDispatcher {
 public:
  explicit RunningDispatcher(const DispatcherOptions& options)
      : dispatcher_(options), thread_([this] { dispatcher_.run(); }) {}
  ~RunningDispatcher() { stop(); }
  void stop() {
    dispatcher_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  Dispatcher& dispatcher() { return dispatcher_; }
  Client client() { return Client(dispatcher_.endpoint(), {}, std::chrono::minutes(5)); }

 private:
  Dispatcher dispatcher_;
  std::thread thread_;
};

// Two servers of one folder of pipelines, and who hands runs to them.
struct Fleet : Fixture {
  std::unique_ptr<RunningServer> servers[2];
  DispatcherOptions dispatch;

  Fleet() {
    for (int k = 0; k < 2; ++k) {
      dispatch.servers.push_back({.endpoint = "ipc://" + (folder / fmt::format("server-{}", k)).string(),
                                  .name = fmt::format("server {}", k)});
      start(k);
    }
    dispatch.endpoint = "ipc://" + (folder / "dispatcher").string();
    dispatch.patience = std::chrono::minutes(5);
  }
  void start(int k) {
    servers[k].reset();
    ServerOptions own = options;
    own.endpoint = dispatch.servers[static_cast<std::size_t>(k)].endpoint;
    own.out = folder / fmt::format("served-{}", k);
    servers[k] = std::make_unique<RunningServer>(own);
  }
};

const Clock::time_point later = Clock::now() + std::chrono::hours(1);

Json wait_for_json(Client& client, Kind kind) {
  for (;;)
    if (const auto message = client.hear(later); message->kind == kind) return json_body(*message);
}

// A client whose run has begun, and that sends no more.
Client working_client(RunningDispatcher& running, PetsirdFrames& frames) {
  Client client = running.client();
  client.say(make_hello({.pipeline = "small"}));
  while (client.hear(later)->kind != Kind::credit) {
  }
  client.say(make_message(Kind::frame, *frames.next()));
  return client;
}

std::string server_of(const Json& sessions, std::size_t k) {
  return sessions[k]["server"].get<std::string>();
}

void wait_until_up(RunningDispatcher& running, int server) {
  const std::string up = fmt::format("tofstream_server_up{{server=\"server {}\"}} 1", server);
  while (running.dispatcher().metrics().find(up) == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// All that the recording holds but its end, once the run has it.
void send_all_but_the_end(Client& client, PetsirdFrames& frames) {
  while (const auto frame = frames.next())
    if (wire::peek_header(*frame)->kind != wire::FrameKind::end) client.say(make_message(Kind::frame, *frame));
  while (wait_for_json(client, Kind::progress)["received"] != 20000) {
  }
}

/// Servers of GPUs 0 and 2, of which runs of two GPUs use GPU 1 as well.
struct GpuFleet : Fleet {
  GpuFleet() {
    options.ledger = folder / "ledger";
    options.device_bytes = std::size_t{1} << 30;
    std::filesystem::create_directories(options.ledger);
    offer("wide", served(", ranks: 2, backend: cuda"));
    for (int k = 0; k < 2; ++k) {
      options.gpus = {2 * k, 1};
      start(k);
    }
    dispatch.is_one_host = true;
  }
};

// A peer that answers each question about its health with this.
class FalseServer {
 public:
  FalseServer(const std::string& endpoint, std::vector<std::byte> answer) : answer_(std::move(answer)) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, 20);
    socket_.bind(endpoint);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      zmq::message_t client, question;
      while (!stop.stop_requested()) {
        if (!socket_.recv(client)) continue;
        static_cast<void>(socket_.recv(question));
        socket_.send(client, zmq::send_flags::sndmore);
        socket_.send(zmq::buffer(answer_), zmq::send_flags::none);
      }
    });
  }

 private:
  const std::vector<std::byte> answer_;
  zmq::context_t zmq_;
  zmq::socket_t socket_{zmq_, zmq::socket_type::router};
  std::jthread thread_;
};

}  // namespace

TEST_CASE_FIXTURE(Fleet,
                  "a client of a dispatcher gets the image that the server gives, bit for bit, with its run.json") {
  RunningDispatcher running(dispatch);
  Client direct = servers[0]->client();
  const Outcome alone = reconstruct_recording(direct, {.pipeline = "small", .images = Images::all});
  Client client = running.client();
  const Outcome outcome = reconstruct_recording(client, {.pipeline = "small", .images = Images::all});
  REQUIRE_MESSAGE(outcome.run_json["exit_code"] == 0, outcome.run_json.dump());
  CHECK(outcome.voxels == alone.voxels);
  CHECK(outcome.images.size() == alone.images.size());
  CHECK(outcome.run_json["books"]["balanced"] == true);
  CHECK(client.list()["pipelines"] == Json{"small"});
  CHECK(client.list()["at_once"] == 4);
}

TEST_CASE_FIXTURE(Fleet, "clients are spread over the servers, and one that waits goes where a place becomes free") {
  options.at_once = 1;
  for (int k = 0; k < 2; ++k) {  // the first has more memory, and is still not to get both that wait
    options.memory_bytes = std::size_t{8} << (30 - k);
    start(k);
  }
  RunningDispatcher running(dispatch);
  PetsirdFrames first(recording()), second(recording());
  auto one = std::make_unique<Client>(working_client(running, first));
  Client two = working_client(running, second);
  Client asks = running.client();
  const Json sessions = asks.list()["sessions"];
  REQUIRE(sessions.size() == 2);
  CHECK(server_of(sessions, 0) != server_of(sessions, 1));
  Client waits[2] = {running.client(), running.client()};
  for (Client& client : waits) {
    client.say(make_hello({.pipeline = "small"}));
    CHECK(wait_for_json(client, Kind::waiting)["place"] == 1);  // one at each server
  }
  one.reset();
  // Whichever waits where no place becomes free goes on waiting, or is moved: one of the two begins.
  for (bool begins = false; !begins;)
    for (Client& client : waits)
      if (const auto message = client.hear(Clock::now() + std::chrono::milliseconds(20)))
        begins = begins || message->kind == Kind::accepted;
  const std::string metrics = running.dispatcher().metrics();
  CHECK(metrics.find("tofstream_server_runs_total{server=\"server 1\"}") != std::string::npos);
  CHECK(metrics.find("tofstream_server_up{server=\"server 0\"} 1") != std::string::npos);
}

TEST_CASE_FIXTURE(Fleet, "a client that waits at one server is moved to another that becomes free, and begins there") {
  options.at_once = 1;
  for (int k = 0; k < 2; ++k) start(k);
  RunningDispatcher running(dispatch);
  PetsirdFrames first(recording()), second(recording());
  // Both at the servers themselves, so that it is known which becomes free.
  std::unique_ptr<Client> busy[2];
  for (int k = 0; k < 2; ++k) {
    busy[k] = std::make_unique<Client>(servers[k]->client());
    busy[k]->say(make_hello({.pipeline = "small"}));
    while (busy[k]->hear(later)->kind != Kind::credit) {
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // until the dispatcher knows
  Client waits = running.client();
  waits.say(make_hello({.pipeline = "small"}));
  wait_for_json(waits, Kind::waiting);
  Client asks = running.client();
  std::string where;
  const Json before = asks.list();
  for (const Json& session : before["sessions"])
    if (session["state"] == "waiting") where = session["server"];
  busy[where == "server 0" ? 1 : 0].reset();
  wait_for_json(waits, Kind::accepted);
  std::vector<std::string> after;
  const Json now = asks.list();
  for (const Json& session : now["sessions"])
    if (session["state"] != "over") after.push_back(session["server"]);
  CHECK(std::ranges::count(after, where) == 1);
  CHECK(after.size() == 2);
}

TEST_CASE_FIXTURE(Fleet, "a server that stops gets no new runs, and its waiting clients are served by another") {
  options.at_once = 1;
  start(0);
  servers[1].reset();
  dispatch.servers.resize(1);
  dispatch.servers.push_back({.endpoint = "ipc://" + (folder / "server-1").string(), .name = "server 1"});
  RunningDispatcher running(dispatch);  // with one that is not there yet
  PetsirdFrames frames(recording());
  Client works = working_client(running, frames), waits = running.client();
  waits.say(make_hello({.pipeline = "small"}));
  wait_for_json(waits, Kind::waiting);
  servers[0]->server().request_stop();
  CHECK(wait_for_json(works, Kind::done)["stopped"] == true);
  // Its waiting client was told by the server to go elsewhere, and there was nobody.
  CHECK(wait_for_json(waits, Kind::error)["errors"][0].get<std::string>().find("server") != std::string::npos);
  servers[0].reset();
  start(1);
  wait_until_up(running, 1);
  CHECK(running.dispatcher().is_ready());
  Client next = running.client();
  CHECK(reconstruct_recording(next, {.pipeline = "small"}).run_json["exit_code"] == 0);
  start(0);  // comes back
  wait_until_up(running, 0);
}

TEST_CASE_FIXTURE(Fleet, "the dispatcher's stop lets runs write what has come; its abort drops them, and tells each") {
  for (const bool aborts : {false, true}) {
    RunningDispatcher running(dispatch);
    PetsirdFrames frames(recording());
    Client works = working_client(running, frames);
    send_all_but_the_end(works, frames);
    if (aborts) {
      running.dispatcher().abort();
      CHECK(wait_for_json(works, Kind::error)["errors"][0] == "the server was told to end at once");
    } else {
      running.dispatcher().request_stop();
      const Json run_json = wait_for_json(works, Kind::done);
      CHECK(run_json["exit_code"] == 0);
      CHECK(run_json["books"]["reconstructed"] == 20000);
      CHECK(run_json["stopped"] == true);
    }
  }
}

TEST_CASE_FIXTURE(Fleet, "what a client may not do is refused by the dispatcher as by a server, and harms no other") {
  RunningDispatcher running(dispatch);
  const auto refused = [&](const std::vector<std::vector<std::byte>>& says) {
    Client client = running.client();
    for (const auto& bytes : says) client.say(bytes);
    return wait_for_json(client, Kind::error)["errors"].dump();
  };
  const auto has = [](const std::string& text, const char* part) { CHECK_MESSAGE(text.find(part) != text.npos, text); };
  const auto hello = make_hello({.pipeline = "small"});
  has(refused({std::vector<std::byte>(3)}), "a message of 3 bytes");
  has(refused({make_message(Kind::frame)}), "begin with a hello");
  has(refused({hello, hello}), "a second hello");
  has(refused({hello, make_message(Kind::frame)}), "before the run was accepted");
  has(refused({hello, make_message(Kind::done)}), "only a server sends");
  has(refused({make_hello({.pipeline = "large"})}), "offers no pipeline 'large'");
  has(refused({make_hello({.pipeline = "small", .settings = {"image.size=[4096,4096,4096]"}})}), "lower image.size");
  {
    PetsirdFrames frames(recording());
    Client greedy = working_client(running, frames);
    const std::vector<std::byte> frame(options.window_bytes / 2);
    for (int k = 0; k < 8; ++k) greedy.say(make_message(Kind::frame, frame));
    std::string end;
    while (end.empty()) {
      const auto message = greedy.hear(later);
      // The run takes what is no frame as fast as it comes, and counts it.
      if (message->kind == Kind::error) end = json_body(*message)["errors"].dump();
      if (message->kind == Kind::progress && json_body(*message)["seconds"] > 1) end = "all were taken";
    }
  }
  Client good = running.client();
  CHECK(reconstruct_recording(good, {.pipeline = "small"}).run_json["exit_code"] == 0);
  // A client that vanishes frees its place at the server.
  {
    PetsirdFrames frames(recording());
    const Client vanishes = working_client(running, frames);
  }
  while (!servers[0]->sessions().empty() || !servers[1]->sessions().empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_CASE_FIXTURE(Fleet, "a client that does not listen holds back its own run alone, and every image comes in order") {
  std::string many = served();
  many.replace(many.find("iterations: 2"), 13, "iterations: 20");
  RunningDispatcher running(dispatch);
  Client slow = running.client();
  slow.say(make_hello({.pipeline = "many", .yaml = many, .images = Images::all}));
  while (slow.hear(later)->kind != Kind::credit) {
  }
  PetsirdFrames frames(recording());
  while (const auto frame = frames.next()) slow.say(make_message(Kind::frame, *frame));
  Client other = running.client();
  CHECK(reconstruct_recording(other, {.pipeline = "small"}).run_json["exit_code"] == 0);
  const auto listed = other.list();
  CHECK(listed["sessions"].size() >= 1);  // which waits for its client
  std::uint64_t images = 0;
  for (;;) {
    const auto message = slow.hear(later);
    if (message->kind == Kind::done) break;
    if (message->kind != Kind::image) continue;
    const auto image = wire::decode_image(read_image_body(*message).image);
    CHECK(std::get<wire::ReceivedImage>(image).header.update == std::min<std::uint64_t>(++images, 80));
  }
  CHECK(images == 81);  // the final one comes twice, as at a server
}

TEST_CASE_FIXTURE(Fleet, "a client that drops its run may begin another on the same connection") {
  RunningDispatcher running(dispatch);
  PetsirdFrames frames(recording());
  Client client = working_client(running, frames);
  client.say(make_message(Kind::abort));
  CHECK(reconstruct_recording(client, {.pipeline = "small"}).run_json["exit_code"] == 0);
  CHECK(reconstruct_recording(client, {.pipeline = "small"}).run_json["exit_code"] == 0);
}

TEST_CASE_FIXTURE(Fleet, "a dispatcher of dispatchers serves too, with places that it knows of each") {
  DispatcherOptions upper = dispatch;
  RunningDispatcher lower(dispatch);
  upper.endpoint = "ipc://" + (folder / "upper").string();
  upper.servers = {{.endpoint = dispatch.endpoint, .name = "host"}};
  RunningDispatcher running(upper);
  Client client = running.client();
  CHECK(reconstruct_recording(client, {.pipeline = "small"}).run_json["exit_code"] == 0);
  PetsirdFrames frames(recording());
  const Client works = working_client(running, frames);
  CHECK(client.list()["at_once"] == 4);
  CHECK(server_of(client.list()["sessions"], 0).starts_with("host, server "));
}

TEST_CASE_FIXTURE(Fleet, "with keys each side lets in whom it knows, and who is not known is told") {
  const auto site = make_key_pair("site", folder / "keys"), fleet = make_key_pair("fleet", folder / "keys"),
             person = make_key_pair("person", folder / "keys"), stranger = make_key_pair("stranger", folder / "keys");
  options.endpoint = "tcp://127.0.0.1:*";
  options.keys = {.own = site.secret_file, .allowed = fleet.public_file};
  RunningServer server(options);
  dispatch.servers = {{.endpoint = server.server().endpoint(), .key = site.public_file}};
  dispatch.keys = {.own = fleet.secret_file, .allowed = person.public_file};
  dispatch.endpoint = "tcp://127.0.0.1:*";
  RunningDispatcher running(dispatch);
  Client client(running.dispatcher().endpoint(), {.own = person.secret_file, .server = fleet.public_file},
                std::chrono::minutes(5));
  CHECK(reconstruct_recording(client, {.pipeline = "small"}).run_json["exit_code"] == 0);
  Client other(running.dispatcher().endpoint(), {.own = stranger.secret_file, .server = fleet.public_file},
               std::chrono::minutes(5));
  CHECK_THROWS_WITH_AS(other.list(), doctest::Contains("it does not know the key 'stranger'"), std::runtime_error);
  dispatch.keys.own = stranger.secret_file;
  CHECK_THROWS_WITH_AS(Dispatcher{dispatch}, doctest::Contains("it does not know the key 'stranger'"),
                       std::runtime_error);
}

TEST_CASE_FIXTURE(Fleet, "what a dispatcher cannot begin with is said in one line") {
  const auto refusal = [](const DispatcherOptions& options) -> std::string {
    try {
      const Dispatcher dispatcher(options);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  const auto has = [&](const DispatcherOptions& options, const std::string& part) {
    const std::string why = refusal(options);
    CHECK_MESSAGE(why.find(part) != std::string::npos, why);
    CHECK_MESSAGE(why.find('\n') == std::string::npos, why);
  };
  DispatcherOptions wrong = dispatch;
  wrong.servers = {};
  has(wrong, "--servers");
  wrong.servers = {dispatch.servers[0], dispatch.servers[0]};
  has(wrong, "is named twice: name each server once");
  wrong.servers = {{.endpoint = "tcp://10.0.0.1:5557"}};
  has(wrong, "key");
  wrong.servers = {{.endpoint = "tcp://127.0.0.1"}};
  has(wrong, "tcp://");
  wrong.servers = {{.endpoint = "ipc://" + (folder / "nobody").string()}};
  wrong.start_patience = std::chrono::milliseconds(200);
  has(wrong, "no server answers at ipc://");
  wrong.servers = {{.endpoint = dispatch.servers[0].endpoint, .key = "/nowhere"}};
  has(wrong, "--key");
  wrong = dispatch;
  wrong.endpoint = "tcp://0.0.0.0:5557";
  has(wrong, "key");
  options.endpoint = "tcp://127.0.0.1:*";
  const RunningServer taken(options);
  wrong.endpoint = const_cast<RunningServer&>(taken).server().endpoint();
  has(wrong, "another program listens there");
  // By two names. A bare chroot has no hosts file.
  if (!::gethostbyname("localhost")) return skip_test("address of localhost");
  wrong = dispatch;
  const std::string endpoint = wrong.endpoint = const_cast<RunningServer&>(taken).server().endpoint();
  wrong.endpoint = dispatch.endpoint;
  wrong.servers = {{.endpoint = endpoint}, {.endpoint = "tcp://localhost" + endpoint.substr(endpoint.rfind(':'))}};
  has(wrong, "are one server");
}

TEST_CASE_FIXTURE(Fleet, "servers of another release are refused in one line, which says what to do") {
  const auto refusal = [&](std::vector<std::byte> answer) -> std::string {
    const std::string endpoint = "ipc://" + (folder / "false").string();
    const FalseServer server(endpoint, std::move(answer));
    dispatch.servers = {{.endpoint = endpoint}};
    try {
      const Dispatcher dispatcher(dispatch);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  const auto has = [](const std::string& why, const std::string& part) {
    CHECK_MESSAGE(why.find(part) != std::string::npos, why);
  };
  has(refusal(make_json_message(Kind::health, to_json(Health{.version = "0.0.1"}))),
      "is tofstream 0.0.1, and this is " + std::string(version()) + ": use one release at both ends");
  has(refusal(make_refusal({"a message of kind 7, which there is not"}, false)), "of an older release");
  auto other = make_message(Kind::health);
  other[4] = std::byte{2};
  has(refusal(other), "a message of version 2");
  has(refusal(make_message(Kind::health)), "no JSON");
  has(refusal(std::vector<std::byte>(5)), "less than its header");
}

TEST_CASE_FIXTURE(GpuFleet, "a run of two GPUs of which the second has no room waits at one server, and begins there") {
  GpuLedger other(options.ledger, 1, options.device_bytes);
  REQUIRE(other.take("theirs", std::vector{1}, options.device_bytes));
  RunningDispatcher running(dispatch);
  wait_until_up(running, 0);
  wait_until_up(running, 1);
  Client client = running.client();
  client.say(make_hello({.pipeline = "wide"}));
  const Json waits = wait_for_json(client, Kind::waiting);
  CHECK(waits["gpus"].size() == 2);
  // The other server, whose own GPU is free, does not get it in turns.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  CHECK(waits["session"].get<std::string>().ends_with("session-1"));
  Client asks = running.client();
  const Json sessions = asks.list()["sessions"];
  REQUIRE(sessions.size() == 1);
  CHECK(sessions[0]["session"] == waits["session"]);
  other.give_back("theirs");
  const Json begun = wait_for_json(client, Kind::accepted);
  CHECK(begun["session"] == waits["session"]);
  client.say(make_message(Kind::abort));
}
// SPDX-License-Identifier: Apache-2.0
