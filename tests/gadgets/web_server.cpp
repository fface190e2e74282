// The page's server with visitors of all kinds: whatever they send or do not send, the others are served, the newest
// comes first, and nobody steers without permission.
#include "gadgets/monitor/web_server.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "tests/gadgets/web_client.hpp"

using namespace tofstream;
using namespace tofstream::web_test;

namespace {

WebBytes web_bytes(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

WebContent content() {
  WebContent made;
  made.file = [](std::string_view path) -> std::optional<WebFile> {
    if (path == "/") return WebFile{"text/html", web_bytes("the page")};
    return std::nullopt;
  };
  made.greeting = [] { return std::string("hello"); };
  made.answer = [](std::string_view text) {
    if (text == "throw") throw std::runtime_error("no answer to this");
    return text == "quiet" ? std::string() : "you said " + std::string(text);
  };
  return made;
}

WebSettings settings() {
  return {.address = web_address("127.0.0.1:0", false), .host_names = {}};
}

void wait_for_watchers(const WebServer& server, std::size_t count) {
  for (int i = 0; i < 2000 && server.watchers() != count; ++i) std::this_thread::sleep_for(5ms);
  REQUIRE(server.watchers() == count);
}

}  // namespace

TEST_CASE("files are served by GET and HEAD, with what keeps other pages out") {
  const WebServer server(settings(), content());
  const HttpAnswer page = ask(server.port(), "/?a=b");
  CHECK(page.status == 200);
  CHECK(page.body == "the page");
  CHECK(page.headers.at("Content-Type") == "text/html");
  CHECK(page.headers.at("Content-Security-Policy").find("frame-ancestors 'none'") != std::string::npos);
  CHECK(page.headers.at("Content-Security-Policy").find("http") == std::string::npos);
  CHECK(page.headers.at("X-Content-Type-Options") == "nosniff");
  const HttpAnswer head = ask(server.port(), "/", "HEAD");
  CHECK(head.status == 200);
  CHECK(head.headers.at("Content-Length") == "8");
  CHECK(ask(server.port(), "/../etc/passwd").status == 404);
  CHECK(ask(server.port(), "/", "DELETE").status == 405);
  CHECK(ask(server.port(), "/", "GET", "evil.example").status == 403);
}

TEST_CASE("one connection may ask again and again") {
  const WebServer server(settings(), content());
  Connection connection(server.port());
  connection.send(
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answers = connection.read_to_end();
  CHECK(answers.find("the page") != answers.rfind("the page"));
}

TEST_CASE("rubbish, half requests and too long ones end their connection and no other") {
  WebSettings quick = settings();
  quick.request_timeout = 1s;
  const WebServer server(quick, content());
  const std::string start = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  std::string noise;
  for (std::uint32_t i = 0, x = 1; i < 100'000; ++i, x = x * 1664525U + 1013904223U)
    noise.push_back(static_cast<char>(x >> 24U));
  const std::string wrong[] = {
      "\r\n\r\n\r\n\r\nhuh\r\n\r\n", noise, start + "Long: " + std::string(20'000, 'x') + "\r\n\r\n",
      start + "Content-Length: 99999999999\r\n\r\nabc", start + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\nabc"};
  for (const std::string& bytes : wrong) {
    Connection connection(server.port());
    connection.send(bytes);
    CHECK(connection.read_to_end().find("200 OK") == std::string::npos);
  }
  Connection half(server.port()), silent(server.port());
  half.send(start);
  CHECK(half.read_to_end().empty());
  CHECK(silent.read_to_end().empty());
  CHECK(ask(server.port(), "/").status == 200);
}

TEST_CASE("a thousand connections that say nothing do not keep the page from anybody") {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  ::setrlimit(RLIMIT_NOFILE, &files);
  const WebServer server(settings(), content());
  Watcher watcher(server.port());
  CHECK(watcher.find("hello") == "hello");
  std::deque<Connection> silent;
  for (int i = 0; i < 1000; ++i) silent.emplace_back(server.port());
  CHECK(ask(server.port(), "/").status == 200);
  watcher.send("still there");  // a watcher is not the one that is dropped
  CHECK(watcher.find("you said still there") == "you said still there");
  CHECK(silent.front().read_to_end().empty());
}

TEST_CASE("where everybody watches, one more is turned away") {
  WebSettings few = settings();
  few.connections = 2;
  const WebServer server(few, content());
  Watcher first(server.port()), second(server.port());
  wait_for_watchers(server, 2);
  CHECK(Connection(server.port()).read_to_end().empty());
  first.send("a");
  CHECK(first.find("you said") == "you said a");
}

TEST_CASE("who comes gets a greeting, then the newest of each kind, then what follows") {
  WebServer server(settings(), content());
  server.publish_text(web_bytes("old"));
  server.publish_text(web_bytes("text"));
  server.publish_binary(web_bytes("image"));
  server.drain(10s);
  Watcher watcher(server.port());
  REQUIRE(watcher.is_open());
  CHECK(watcher.receive()->data == "hello");
  CHECK(watcher.receive()->data == "text");
  const auto image = watcher.receive();
  CHECK(image->data == "image");
  CHECK_FALSE(image->is_text);
  server.publish_text(web_bytes("next"));
  CHECK(watcher.receive()->data == "next");
  watcher.send("quiet");
  watcher.send("loud");
  CHECK(watcher.receive()->data == "you said loud");
}

TEST_CASE("a WebSocket of another page, of another name or at another place is refused") {
  const WebServer server(settings(), content());
  CHECK_FALSE(Watcher(server.port(), "http://evil.example").is_open());
  CHECK_FALSE(Watcher(server.port(), "", "evil.example").is_open());
  CHECK(Watcher(server.port(), "http://127.0.0.1:" + std::to_string(server.port())).is_open());
  Connection elsewhere(server.port());
  elsewhere.send(
      "GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  CHECK(elsewhere.read_to_end().find("404") != std::string::npos);
}

TEST_CASE("a slow watcher skips images, and holds up neither the publisher nor who is quick") {
  WebServer server(settings(), content());
  Watcher slow(server.port()), quick(server.port());
  wait_for_watchers(server, 2);
  const std::size_t size = 4'000'000;  // more than the sockets' buffers hold
  constexpr int images = 100;
  for (int i = 0; i < images; ++i) {
    server.publish_binary(web_bytes(std::string(size, static_cast<char>(i))));
    if (i % 10 == 9) quick.find(std::string(100, static_cast<char>(i)));
  }
  const std::string last(100, static_cast<char>(images - 1));
  int received = 0;
  for (;;) {
    const auto message = slow.receive();
    REQUIRE(message);
    ++received;
    if (message->data.starts_with(last)) break;
  }
  CHECK(received < 10);
}

TEST_CASE("images do not pile up before a watcher that sleeps, and the last one reaches it with the last words") {
  auto server = std::make_unique<WebServer>(settings(), content());
  Watcher asleep(server->port());
  wait_for_watchers(*server, 1);
  const std::string small(50'000, 'i');  // the sockets' buffers hold a hundred of these
  for (int i = 0; i < 50; ++i) {
    server->publish_binary(web_bytes(std::to_string(i) + small));
    std::this_thread::sleep_for(5ms);
  }
  server->publish_binary(web_bytes("final" + small));
  server->drain(10s);
  server->publish_text(web_bytes("ended"));
  server->drain(10s);
  std::jthread end([&] { server.reset(); });
  std::this_thread::sleep_for(1s);  // longer than the server waits for its watchers to close
  std::vector<std::string> heard;
  while (const auto message = asleep.receive()) heard.push_back(message->data.substr(0, 5));
  REQUIRE(heard.size() == 4);  // one of the fifty
  CHECK(heard[0] == "hello");
  CHECK(heard[2] == "final");
  CHECK(heard[3] == "ended");
}

TEST_CASE("a page that was told of the end is waited for, so that what it still fetches is answered") {
  const WebServer server(settings(), content());
  auto page = std::make_unique<Watcher>(server.port());
  wait_for_watchers(server, 1);
  server.wait_until_left(1ms);  // one that stays costs the limit, no more
  CHECK(server.watchers() == 1);
  std::jthread leaves([&] {
    std::this_thread::sleep_for(50ms);
    CHECK(ask(server.port(), "/").status == 200);
    page.reset();
  });
  server.wait_until_left(10s);
  CHECK(server.watchers() == 0);
}

TEST_CASE("a watcher that sends too much, or no text, or what cannot be answered, is left; the others stay") {
  WebServer server(settings(), content());
  Watcher good(server.port()), long_winded(server.port()), binary(server.port()), troubling(server.port());
  wait_for_watchers(server, 4);
  long_winded.send(std::string(20'000, 'x'));
  binary.send_binary("image?");
  troubling.send("throw");
  for (Watcher* left : {&long_winded, &binary, &troubling}) {
    while (left->receive()) {
    }
  }
  good.send("a");
  CHECK(good.find("you said") == "you said a");
}

TEST_CASE("a watcher that does not even answer pings is left") {
  WebSettings quick = settings();
  quick.silence_timeout = 1s;
  const WebServer server(quick, content());
  Connection dead(server.port());
  dead.send(
      "GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  CHECK(dead.read_to_end().find("101 Switching Protocols") != std::string::npos);
  wait_for_watchers(server, 0);
}

TEST_CASE("the server's end closes the watchers' connections in order, and an address is had once") {
  auto server = std::make_unique<WebServer>(settings(), content());
  WebSettings same = settings();
  same.address.port = server->port();
  CHECK_THROWS_WITH_AS(WebServer(same, content()), doctest::Contains("give another `address`"), std::runtime_error);
  Watcher watcher(server->port());
  CHECK(watcher.find("hello") == "hello");
  server->publish_binary(web_bytes("last"));
  server->drain(10s);
  std::jthread end([&] { server.reset(); });
  CHECK(watcher.find("last") == "last");
  CHECK_FALSE(watcher.receive());
  end.join();
}
// SPDX-License-Identifier: Apache-2.0
