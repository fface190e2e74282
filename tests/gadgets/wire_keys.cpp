// Keys of live streams: their files, and that only known peers get through.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gadgets/wire/key_files.hpp"
#include "gadgets/wire/socket_guard.hpp"
#include "tests/gadgets/live_support.hpp"

using namespace tofstream;
using namespace live_test;
using wire_test::StreamMaker;

namespace {

namespace fs = std::filesystem;

// Two that know each other, and an unknown one.
struct Keys {
  TemporaryFolder folder;
  KeyPairFiles receiver = make_key_pair("receiver", folder.path());
  KeyPairFiles sender = make_key_pair("sender", folder / "known");
  KeyPairFiles stranger = make_key_pair("stranger", folder.path());

  std::string of_receiver() const {
    return fmt::format("keys: {{own: {}, allowed: {}}}", receiver.secret_file.string(), (folder / "known").string());
  }
  std::string of_sender() const {
    return fmt::format("keys: {{own: {}, server: {}}}", sender.secret_file.string(), receiver.public_file.string());
  }
  KeyParams params(const KeyPairFiles& own, const KeyPairFiles& server) const {
    return {.own = own.secret_file, .server = server.public_file};
  }
};

// Connects to the endpoint, to send there.
class Sender {
 public:
  Sender(const std::string& endpoint, const KeyParams& keys)
      : socket_(context_, zmq::socket_type::push),
        guard_(context_, socket_,
               {.end = SocketEnd::connects, .endpoint = endpoint, .keys = keys, .warn = [this](std::string_view text) {
                  warning_ = text;
                  is_warned_ = true;
                }}) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.connect(endpoint);
  }
  // Waits until it is warned or refused; returns the message.
  std::string told() {
    try {
      while (!is_warned_) {
        guard_.throw_if_refused();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return warning_;
  }

  void send(const std::string& text) { socket_.send(zmq::buffer(text), zmq::send_flags::none); }

 private:
  std::string warning_;
  std::atomic<bool> is_warned_ = false;
  zmq::context_t context_;
  zmq::socket_t socket_;
  SocketGuard guard_;
};

std::string written(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder / name) << text;
  fs::permissions(folder / name, fs::perms::owner_read | fs::perms::owner_write);
  return (folder / name).string();
}

}  // namespace

TEST_CASE("a pair of keys is made, read again, and never written over") {
  const TemporaryFolder folder;
  const KeyPairFiles made = make_key_pair("scanner-2", folder / "new");
  const PublicKey key = read_public_key(made.public_file);
  const SecretKey secret = read_secret_key(made.secret_file);
  CHECK(key.name == "scanner-2");
  CHECK(key.z85 == made.key.z85);
  CHECK(secret.public_z85 == key.z85);
  CHECK(secret.z85 != key.z85);
  CHECK(fs::status(made.secret_file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(text_of(made.public_file).find(secret.z85) == std::string::npos);
  CHECK_THROWS_WITH(make_key_pair("scanner-2", folder / "new"), doctest::Contains("is there already"));
  CHECK(read_secret_key(made.secret_file).z85 == secret.z85);
  CHECK_THROWS_WITH(make_key_pair("../x", folder.path()), doctest::Contains("cannot name a key"));
}

TEST_CASE("a key's file that cannot be used says why") {
  const TemporaryFolder folder;
  const KeyPairFiles made = make_key_pair("one", folder.path());
  CHECK_THROWS_WITH(read_public_key(made.secret_file),
                    doctest::Contains("is a secret key, and a public one is wanted"));
  CHECK_THROWS_WITH(read_secret_key(folder / "none.yaml"), doctest::Contains("none.yaml: cannot be read"));
  CHECK_THROWS_WITH(read_public_key(written(folder, "a", "name: a\npublic: \"abc\"\n")),
                    doctest::Contains("'public' is no key, which has 40 characters"));
  CHECK_THROWS_WITH(read_public_key(written(folder, "b", "name: a\npublic: " + std::string(40, '~') + "\n")),
                    doctest::Contains("'public' is no key"));
  CHECK_THROWS_WITH(read_public_key(written(folder, "c", "rubbish")),
                    doctest::Contains("c:1:1: key must be a map, not 'rubbish'"));
  CHECK_THROWS_WITH(read_public_keys(folder / "none", {}), doctest::Contains("cannot be read"));
  fs::create_directories(folder / "empty");
  CHECK_THROWS_WITH(read_public_keys(folder / "empty", {}), doctest::Contains("holds no *.public.yaml"));
  CHECK_THROWS_WITH(read_secret_key(made.public_file),
                    doctest::Contains("is a public key, and a secret one is wanted"));
  fs::permissions(made.secret_file, fs::perms::others_read, fs::perm_options::add);
  CHECK_THROWS_WITH(read_secret_key(made.secret_file), doctest::Contains("others can read this secret key: chmod 600"));
}

TEST_CASE("a scan is received from a known key, while others are refused and told so") {
  const Keys keys;
  const std::string endpoint = "ipc://" + (keys.folder / "socket").string();
  Engine receiving = engine_of(receiving_records(endpoint, ", " + keys.of_receiver()));
  RunReport report;
  std::jthread receiver([&] { report = receiving.run(); });

  CHECK(Sender(endpoint, keys.params(keys.stranger, keys.receiver)).told().find("does not know the key 'stranger'") !=
        std::string::npos);
  const std::string wrong = Sender(endpoint, keys.params(keys.sender, keys.stranger)).told();
  CHECK_MESSAGE(wrong.find("is " + keys.stranger.public_file.string() + " its public key?") != std::string::npos,
                wrong);
  // Depending on whether libzmq closes the connection before or after it says why.
  const std::string without = Sender(endpoint, {}).told();
  CHECK_MESSAGE((without.find("it asks for keys") != std::string::npos ||
                 without.find("does it ask for keys?") != std::string::npos),
                without);

  const RunReport sent = Engine(parse_pipeline(fmt::format(R"(
gadgets:
  photons: {{use: simulator, scanner: demo_ring, phantom: uniform_cylinder, events: 5000}}
  sent: {{use: zmq_sink, scanner: demo_ring, from: photons, endpoint: "{}", {}}}
)",
                                                           endpoint, keys.of_sender()),
                                               "test.yaml"),
                                {})
                             .run();
  receiver.join();
  REQUIRE_MESSAGE(sent.exit_code == 0, first_error(sent));
  REQUIRE_MESSAGE(report.exit_code == 0, first_error(report));
  CHECK(kept_events() == 5000);
  CHECK(report.books.balanced());
  CHECK(figure(report, "refused_connections") >= 3);
  CHECK(figure(report, "bad_frames") == 0);
}

TEST_CASE("a key that is added or taken away while the receiver runs counts from then on") {
  const Keys keys;
  const fs::path known = keys.folder / "known";
  const std::string endpoint = "ipc://" + (keys.folder / "socket").string();
  std::atomic<int> unreadable = 0;
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::pull);
  const SocketGuard guard(context, socket,
                          {.end = SocketEnd::binds,
                           .endpoint = endpoint,
                           .keys = {.own = keys.receiver.secret_file, .allowed = known},
                           .warn = [&](std::string_view text) {
                             if (text.find("holds no *.public.yaml") != std::string_view::npos) ++unreadable;
                           }});
  socket.bind(endpoint);
  const auto refusal = [&](const KeyPairFiles& own) {
    return Sender(endpoint, keys.params(own, keys.receiver)).told();
  };
  CHECK(refusal(keys.stranger).find("does not know the key 'stranger'") != std::string::npos);

  fs::copy_file(keys.stranger.public_file, known / "stranger.public.yaml");
  Sender added(endpoint, keys.params(keys.stranger, keys.receiver));
  added.send("here");
  zmq::message_t message;
  REQUIRE(socket.recv(message));
  CHECK(message.to_string_view() == "here");

  fs::remove(keys.sender.public_file);
  CHECK(refusal(keys.sender).find("does not know the key 'sender'") != std::string::npos);
  CHECK(unreadable == 0);
  fs::remove(known / "stranger.public.yaml");
  CHECK(refusal(keys.stranger).find("does not know the key 'stranger'") != std::string::npos);
  CHECK(unreadable > 0);
}
// SPDX-License-Identifier: Apache-2.0
