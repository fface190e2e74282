// The control socket with well-behaved and hostile clients.
#include <atomic>
#include <chrono>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fake_run.hpp"
#include "tests/command/command.hpp"
#include "tools/watch/control_client.hpp"
#include "tools/watch/control_server.hpp"

using namespace tofstream;
using namespace tofstream::test;
using Local = boost::asio::local::stream_protocol;

namespace {

struct Fixture {
  TemporaryFolder folder;
  std::filesystem::path socket = folder / control_socket_name;
  FakeRun run;
  boost::asio::io_context context;

  Local::socket connect() {
    Local::socket client(context);
    client.connect(Local::endpoint(socket.string()));
    return client;
  }
  // A well-behaved client is still answered.
  void check_well() const {
    ControlClient client(folder.path());
    CHECK(client.ask({.action = ControlAction::status})["status"]["pipeline"] == "small");
  }
};

std::string sent_back(Local::socket& client, const std::string& request) {
  boost::system::error_code wrong;
  boost::asio::write(client, boost::asio::buffer(request), wrong);
  std::string answer;
  boost::asio::read_until(client, boost::asio::dynamic_buffer(answer), '\n', wrong);
  return answer;
}

std::string socket_refusal(const std::filesystem::path& socket) {
  FakeRun run;
  try {
    const ControlServer server(run, socket);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a client asks, sets and stops, many times on one connection") {
  ControlServer server(run, socket);
  ControlClient client(socket);
  for (int i = 0; i < 100; ++i) CHECK(client.ask({.action = ControlAction::status})["ok"] == true);
  CHECK(client.ask({ControlAction::set, "events", "low_keV", Value::scalar("440")})["ok"] == true);
  CHECK(client.ask({ControlAction::set, "event", "low_keV", Value::scalar("440")})["ok"] == false);
  CHECK(client.ask({.action = ControlAction::stop})["ok"] == true);
  CHECK(run.said() == std::vector<std::string>{"events.low_keV='440'", "stop"});
}

TEST_CASE_FIXTURE(Fixture, "the socket is its owner's alone, and goes with the run") {
  {
    ControlServer server(run, socket);
    struct stat status {};
    REQUIRE(::stat(socket.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
  CHECK_FALSE(std::filesystem::exists(socket));
  CHECK_THROWS_AS(ControlClient{folder.path()}, NoRun);
}

TEST_CASE_FIXTURE(Fixture, "a second run at the same socket is refused; one that was killed is replaced") {
  {
    ControlServer server(run, socket);
    CHECK(
        socket_refusal(socket).ends_with("another run answers there: give this one a socket of its own by --control"));
    check_well();
  }
  {
    Local::acceptor dead(context, Local::endpoint(socket.string()));  // its file stays when it is closed
  }
  REQUIRE(std::filesystem::exists(socket));
  ControlServer server(run, socket);
  check_well();
}

TEST_CASE_FIXTURE(Fixture, "a socket that cannot be made says why") {
  std::ofstream(socket) << "mine";
  CHECK(socket_refusal(socket).ends_with("a file of that name is in the way"));
  CHECK(text_of(socket) == "mine");
  CHECK(socket_refusal(folder / "nowhere/control.sock").ends_with("No such file or directory"));
  CHECK(socket_refusal(folder / std::string(120, 'x')).find("107 bytes") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "rubbish is answered, and the connection goes on") {
  ControlServer server(run, socket);
  Local::socket client = connect();
  CHECK(sent_back(client, "hello\n") ==
        R"({"version":1,"ok":false,"errors":["the request is no JSON: send one object a line"]})"
        "\n");
  CHECK(sent_back(client, std::string("\0\xff\n", 3)).find("no JSON") != std::string::npos);
  CHECK(sent_back(client, "{\"version\":1,\"do\":\"status\"}\n").find("\"ok\":true") != std::string::npos);
  check_well();
}

TEST_CASE_FIXTURE(Fixture, "a request without end is refused and its connection closed, in bounded memory") {
  ControlServer server(run, socket);
  Local::socket client = connect();
  boost::system::error_code wrong;
  const std::string chunk(longest_control_request, 'x');
  std::size_t sent = 0;
  while (!wrong && sent < 64 * chunk.size()) sent += boost::asio::write(client, boost::asio::buffer(chunk), wrong);
  CHECK(wrong);  // long before all of it was read
  check_well();
}

TEST_CASE_FIXTURE(Fixture, "half a message, and a client that goes in the middle of it, do no harm") {
  ControlServer server(run, socket);
  Local::socket slow = connect();
  boost::asio::write(slow, boost::asio::buffer(std::string("{\"version\": 1, ")));
  for (int i = 0; i < 200; ++i) {
    Local::socket gone = connect();
    boost::asio::write(gone, boost::asio::buffer(std::string("{\"version\": 1, \"do\": \"stop\"}")));
  }
  check_well();
  CHECK(sent_back(slow, "\"do\": \"status\"}\n").find("\"ok\":true") != std::string::npos);
  CHECK(run.said().empty());  // half a stop request has no effect
}

TEST_CASE_FIXTURE(Fixture, "a client that asks without reading holds up nobody") {
  ControlServer server(run, socket);
  Local::socket greedy = connect();
  greedy.non_blocking(true);
  boost::system::error_code wrong;
  const std::string request = "{\"version\":1,\"do\":\"status\"}\n";
  while (!wrong) boost::asio::write(greedy, boost::asio::buffer(request), wrong);  // until the server reads no more
  CHECK(wrong == boost::asio::error::would_block);
  check_well();
}

TEST_CASE_FIXTURE(Fixture, "a thousand connections that say nothing keep nobody out") {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ControlServer server(run, socket);
  std::vector<Local::socket> silent;
  for (int i = 0; i < 1000; ++i) silent.push_back(connect());
  check_well();
  check_well();
  silent.clear();
  check_well();
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE_FIXTURE(Fixture, "clients are answered while others come and go on other threads") {
  ControlServer server(run, socket);
  std::vector<std::jthread> clients;
  std::atomic<int> answered = 0;
  for (int t = 0; t < 4; ++t)
    clients.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        ControlClient client(socket);
        if (client.ask({.action = ControlAction::status})["ok"] == true) ++answered;
      }
    });
  clients.clear();
  CHECK(answered == 100);
}
// SPDX-License-Identifier: Apache-2.0
