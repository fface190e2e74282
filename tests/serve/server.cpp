// A server with clients: well-behaved ones get what a run of their own would give; those that fail, vanish, stay silent
// or send rubbish harm no other.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <zmq.hpp>

#include "support.hpp"

using namespace tofstream;
using namespace tofstream::serve;
using namespace tofstream::serve::test;

namespace {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

const Clock::time_point some_day = Clock::now() + std::chrono::hours(1);

// Voxels of the final image of a run from the file, without a server.
std::vector<float> offline_voxels(const std::filesystem::path& out) {
  const RunReport report =
      run_text(reconstruction("bytes") + "  bytes: {use: file_source, path: " + recording().string() +
                   "}\n  file: {use: nifti_writer, from: estimate, file: image.nii}\n",
               out);
  REQUIRE_MESSAGE(report.exit_code == 0, report.errors.front().text());
  // They follow a header of 352 bytes and the extension with the provenance.
  const std::string bytes = text_of(out / "image.nii");
  constexpr std::size_t voxels = 16 * 16 * 8;
  std::vector<float> values(voxels);
  std::memcpy(values.data(), bytes.data() + bytes.size() - 4 * voxels, 4 * voxels);
  return values;
}

Message wait_for(Client& client, Kind kind) {
  for (;;)
    if (const auto message = client.hear(some_day); message->kind == kind) return *message;
}

std::string refusal_of(Client& client) {
  return json_body(wait_for(client, Kind::error))["errors"].dump();
}

// A client that has begun its stream, and sends no more.
Client begun_client(RunningServer& running, PetsirdFrames& frames) {
  Client client = running.client();
  client.say(make_hello({.pipeline = "small"}));
  wait_for(client, Kind::credit);
  client.say(make_message(Kind::frame, *frames.next()));
  return client;
}

// A peer that sends any bytes.
struct Peer {
  zmq::context_t zmq;
  zmq::socket_t socket{zmq, zmq::socket_type::dealer};
  explicit Peer(const std::string& endpoint) {
    socket.set(zmq::sockopt::linger, 0);
    socket.connect(endpoint);
  }
  void say(const Bytes& bytes, bool more = false) {
    socket.send(zmq::buffer(bytes.data(), bytes.size()), more ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
  std::string refusal() {
    zmq::message_t answer;
    for (;;) {
      REQUIRE(socket.recv(answer));
      const Message message = read_message({static_cast<const std::byte*>(answer.data()), answer.size()});
      if (message.kind == Kind::error) return json_body(message)["errors"].dump();
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a client gets the image that a run from the file gives, bit for bit, and its run.json") {
  RunningServer running(options);
  Client client = running.client();
  const Outcome outcome = reconstruct_recording(client, {.pipeline = "small", .images = Images::all});
  REQUIRE_MESSAGE(outcome.run_json["exit_code"] == 0, outcome.run_json["errors"].dump());
  CHECK(outcome.run_json["books"]["received"] == 20000);
  CHECK(outcome.run_json["books"]["balanced"] == true);
  CHECK(outcome.run_json["gadgets"]["feed"]["figures"]["missing_frames"] == 0);
  CHECK(outcome.voxels == offline_voxels(folder / "offline"));
  REQUIRE(outcome.images.size() >= 2);
  CHECK(outcome.images.back().is_final);
  for (std::size_t k = 0; k + 1 < outcome.images.size(); ++k) CHECK(outcome.images[k].update == k + 1);
  CHECK(Json::parse(outcome.provenance)["resolved"]["gadgets"].contains("projected"));
  CHECK(std::filesystem::exists(options.out / "session-1" / "run.json"));
  CHECK(text_of(options.out / "session-1" / "report.html").find("</html>") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "two clients at once get the images that each would get alone, in pipelines of their own") {
  offer("finer", served());
  RunningServer running(options);
  Outcome outcomes[2];
  {
    std::vector<std::jthread> threads;
    for (int k = 0; k < 2; ++k)
      threads.emplace_back([&, k] {
        Client client = running.client();
        outcomes[k] = reconstruct_recording(client, k == 0 ? Hello{.pipeline = "small"}
                                                           : Hello{.pipeline = "mine.yaml",
                                                                   .yaml = served(),
                                                                   .settings = {"subsets.iterations=1"},
                                                                   .images = Images::last});
      });
  }
  for (const Outcome& outcome : outcomes) REQUIRE(outcome.run_json["exit_code"] == 0);
  CHECK(outcomes[0].voxels == offline_voxels(folder / "offline"));
  CHECK(outcomes[1].images.size() == 1);
  CHECK(outcomes[1].voxels != outcomes[0].voxels);
}

TEST_CASE_FIXTURE(Fixture, "who comes when no place is free is told its place, and begins when a client vanishes") {
  options.at_once = 1;
  RunningServer running(options);
  PetsirdFrames frames(recording());
  auto vanishes = std::make_unique<Client>(begun_client(running, frames));
  Client waits = running.client();
  waits.say(make_hello({.pipeline = "small"}));
  CHECK(json_body(wait_for(waits, Kind::waiting))["place"] == 1);
  Client stops = running.client();
  stops.say(make_hello({.pipeline = "small"}));
  CHECK(json_body(wait_for(stops, Kind::waiting))["place"] == 2);
  stops.say(make_message(Kind::stop));
  CHECK(refusal_of(stops).find("stopped before it began") != std::string::npos);
  vanishes.reset();
  wait_for(waits, Kind::accepted);
  CHECK(running.sessions().size() >= 1);
}

TEST_CASE_FIXTURE(Fixture, "a client that is there and says nothing for too long has vanished") {
  options.patience = std::chrono::milliseconds(300);
  RunningServer running(options);
  Peer peer(running.server().endpoint());
  peer.say(make_hello({.pipeline = "small"}));
  zmq::message_t answer;
  REQUIRE(peer.socket.recv(answer));
  while (!running.sessions().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_CASE_FIXTURE(Fixture, "a failing run's first cause arrives with gadget and line, and the server goes on") {
  offer("fails", served(", fault: {throw_at: 1}"));
  RunningServer running(options);
  Client client = running.client();
  const Outcome failed = reconstruct_recording(client, {.pipeline = "fails"});
  CHECK(failed.run_json["exit_code"] == 1);
  CHECK(failed.run_json["errors"][0]["gadget"] == "projected");
  CHECK(failed.run_json["errors"][0]["where"].get<std::string>().find("fails.yaml:7:") != std::string::npos);
  Client next = running.client();
  CHECK(reconstruct_recording(next, {.pipeline = "small"}).run_json["exit_code"] == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "a run that takes more than the server allows is dropped, its client told, and the next one served") {
  const auto refusal = [&](const RunLimits& limits, const std::string& text) {
    options.limits = limits;
    RunningServer running(options);
    Client client = running.client();
    std::string said;
    try {
      reconstruct_recording(client, {.pipeline = "sent", .yaml = text});
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    Client next = running.client();
    CHECK(reconstruct_recording(next, {.pipeline = "small"}).run_json["exit_code"] == 0);
    return said;
  };
  std::string endless = served();
  endless.replace(endless.find("iterations: 2"), 13, "iterations: 10000");
  CHECK(refusal({.updates = 100}, endless).find("more than the 100 updates that this server allows (--max-updates)") !=
        std::string::npos);
  CHECK(refusal({.seconds = 5}, endless).find("longer than the 5 s that this server allows (--max-seconds)") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "rubbish ends the session of who sends it, with one line, and nobody else's") {
  RunningServer running(options);
  PetsirdFrames frames(recording());
  Client good = begun_client(running, frames);
  const auto refused = [&](const std::vector<Bytes>& says, const std::string& because) {
    Peer peer(running.server().endpoint());
    for (const Bytes& bytes : says) peer.say(bytes);
    const std::string why = peer.refusal();
    CHECK_MESSAGE(why.find(because) != std::string::npos, why);
  };
  const Bytes hello = make_hello({.pipeline = "small"});
  refused({Bytes(3)}, "a message of 3 bytes");
  refused({Bytes(100'000, std::byte{0xff})}, "no client of this server");
  refused({make_message(Kind::hello, Bytes(40, std::byte{'{'}))}, "no JSON");
  refused({make_message(Kind::hello, Bytes(longest_request + 1, std::byte{' '}))}, "shorter pipeline");
  refused({make_message(Kind::frame, *frames.next())}, "begin with a hello");
  refused({make_message(Kind::stop)}, "begin with a hello");
  refused({hello, hello}, "a second hello");
  refused({hello, make_message(Kind::done)}, "only a server sends");
  refused({make_hello({.pipeline = "small", .settings = {"projected.use=python"}})}, "no parameter 'use'");
  refused({make_hello({.pipeline = "large"})}, "offers no pipeline 'large'");
  refused({make_hello({.pipeline = "small", .settings = {"image.size=[4096,4096,4096]"}})}, "lower image.size");
  {
    Peer peer(running.server().endpoint());
    peer.say(Bytes(1), true);
    peer.say(Bytes(1));
    CHECK(peer.refusal().find("not one part") != std::string::npos);
  }
  // Broken frames are counted by the run, as at any live source.
  good.say(make_message(Kind::frame, Bytes(10)));
  while (const auto frame = frames.next()) good.say(make_message(Kind::frame, *frame));
  const Json run_json = json_body(wait_for(good, Kind::done));
  CHECK(run_json["gadgets"]["feed"]["figures"]["bad_frames"] == 1);
}

TEST_CASE_FIXTURE(Fixture, "a thousand connections that say nothing keep nobody from working") {
  options.endpoint = "tcp://127.0.0.1:*";
  RunningServer running(options);  // which raises its limit on descriptors
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t most = std::min<std::size_t>(1000, limit.rlim_cur / 8);
  const std::string endpoint = running.server().endpoint();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
  std::vector<int> connections;
  for (std::size_t i = 0; i < most - most / 5; ++i) {
    connections.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    REQUIRE(::connect(connections.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  zmq::context_t zmq;
  std::vector<zmq::socket_t> idle;
  for (std::size_t i = 0; i < most / 5; ++i) {
    idle.emplace_back(zmq, zmq::socket_type::dealer);
    idle.back().connect(endpoint);
  }
  CHECK(running.sessions().empty());
  Client client = running.client();
  CHECK(reconstruct_recording(client, {.pipeline = "small"}).run_json["exit_code"] == 0);
  for (const int connection : connections) ::close(connection);
}

TEST_CASE_FIXTURE(Fixture, "a stop lets runs write what has come, turns away who waits and who comes, and tells each") {
  options.at_once = 1;
  RunningServer running(options);
  PetsirdFrames frames(recording());
  Client works = begun_client(running, frames), waits = running.client();
  waits.say(make_hello({.pipeline = "small"}));
  wait_for(waits, Kind::waiting);
  while (const auto frame = frames.next()) {
    const bool is_end = wire::peek_header(*frame)->kind == wire::FrameKind::end;
    if (!is_end) works.say(make_message(Kind::frame, *frame));
  }
  // Everything except the end has arrived.
  while (json_body(wait_for(works, Kind::progress))["received"] != 20000) {
  }
  std::jthread stopping([&] { running.stop(); });
  CHECK(refusal_of(waits).find("the server is stopping") != std::string::npos);
  const Json run_json = json_body(wait_for(works, Kind::done));
  CHECK(run_json["exit_code"] == 0);
  CHECK(run_json["stopped"] == true);
  CHECK(run_json["books"]["reconstructed"] == 20000);
}

TEST_CASE_FIXTURE(Fixture, "an abort drops the runs and tells their clients") {
  RunningServer running(options);
  PetsirdFrames frames(recording());
  Client works = begun_client(running, frames);
  running.server().abort();
  CHECK(refusal_of(works).find("told to end at once") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a client may stop its run and keep what came, or drop it") {
  RunningServer running(options);
  for (const bool drops : {false, true}) {
    Client client = running.client();
    std::stop_source stop, abort;
    PetsirdFrames frames(recording(), 1);
    int left = 2;
    const Json run_json = reconstruct(
        client, {.pipeline = "small"},
        [&]() -> std::optional<NextFrame> {
          if (--left == 0) (drops ? abort : stop).request_stop();
          return NextFrame{frames.next().value(), {}};
        },
        {}, stop.get_token(), abort.get_token());
    CHECK(run_json.is_null() == drops);
    if (!drops) CHECK(run_json["stopped"] == true);
  }
  while (!running.sessions().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_CASE("what a server cannot begin with is said in one line") {
  Fixture fixture;
  const auto refusal = [](const ServerOptions& options) -> std::string {
    try {
      const Server server(options);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  ServerOptions options = fixture.options;
  options.endpoint = "tcp://0.0.0.0:5557";
  CHECK(refusal(options).find("key") != std::string::npos);
  options = fixture.options;
  options.permissions.pipelines = "/nowhere";
  CHECK(refusal(options) == "the folder of pipelines, /nowhere, is no folder");
  options = fixture.options;
  options.permissions.gadgets = {"pyton"};
  CHECK(refusal(options) == "--allow pyton: no gadget is called 'pyton', did you mean 'python'?");
  Client nobody("ipc://" + (fixture.folder / "nowhere").string(), {}, std::chrono::milliseconds(100));
  CHECK_THROWS_WITH_AS(nobody.list(), doctest::Contains("start one there, tofstream serve"), NoServer);
}

TEST_CASE("a recording goes over the wire in frames whose payloads are together what it holds") {
  PetsirdFrames frames(recording(), 1);
  std::uint64_t events = 0, sequence = 0;
  wire::FrameKind last{};
  while (const auto bytes = frames.next()) {
    const auto decoded = wire::decode_frame(*bytes);
    REQUIRE_MESSAGE(std::holds_alternative<wire::Frame>(decoded), std::get<wire::BadFrame>(decoded).what);
    const wire::FrameHeader& header = std::get<wire::Frame>(decoded).header;
    CHECK(header.sequence == sequence++);
    CHECK(header.first_event == events);
    events += header.events;
    last = header.kind;
  }
  CHECK(events == 20000);
  CHECK(last == wire::FrameKind::end);
  CHECK(sequence == 10);  // eight time blocks
  CHECK_THROWS_WITH_AS(PetsirdFrames("/nowhere"), doctest::Contains("cannot open /nowhere"), std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
