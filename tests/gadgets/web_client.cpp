// A browser's half by Boost.Beast: see web_client.hpp.
#include "tests/gadgets/web_client.hpp"

#include <array>
#include <stdexcept>

#include <arpa/inet.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tofstream::web_test {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;

tcp::endpoint endpoint(unsigned short port) {
  return {asio::ip::make_address("127.0.0.1"), port};
}

std::string host_or(const std::string& host, unsigned short port) {
  return host.empty() ? fmt::format("127.0.0.1:{}", port) : host;
}

}  // namespace

HttpAnswer ask(unsigned short port, const std::string& path, const std::string& method, const std::string& host) {
  asio::io_context io;
  beast::tcp_stream stream(io);
  stream.connect(endpoint(port));
  http::request<http::empty_body> request(http::string_to_verb(method), path, 11);
  request.set(http::field::host, host_or(host, port));
  http::write(stream, request);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.skip(method == "HEAD");
  http::read(stream, buffer, parser);
  HttpAnswer answer{static_cast<int>(parser.get().result_int()), {}, parser.get().body()};
  for (const auto& field : parser.get()) answer.headers[std::string(field.name_string())] = std::string(field.value());
  return answer;
}

struct Watcher::Half {
  asio::io_context io;
  websocket::stream<beast::tcp_stream> ws{io};
  bool is_open = false;
};

Watcher::Watcher(unsigned short port, const std::string& origin, const std::string& host)
    : half_(std::make_unique<Half>()) {
  half_->ws.next_layer().connect(endpoint(port));
  half_->ws.set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
    if (!origin.empty()) request.set(http::field::origin, origin);
  }));
  half_->ws.read_message_max(std::size_t{1} << 30U);
  beast::error_code refused;
  half_->ws.handshake(host_or(host, port), "/live", refused);
  half_->is_open = !refused;
}
Watcher::~Watcher() = default;

bool Watcher::is_open() const {
  return half_->is_open;
}

void Watcher::send(const std::string& text) {
  half_->ws.text(true);
  half_->ws.write(asio::buffer(text));
}

void Watcher::send_binary(const std::string& bytes) {
  half_->ws.binary(true);
  half_->ws.write(asio::buffer(bytes));
}

std::optional<Watcher::Message> Watcher::receive(std::chrono::seconds limit) {
  beast::flat_buffer buffer;
  std::optional<beast::error_code> result;
  half_->ws.async_read(buffer, [&](beast::error_code wrong, std::size_t) { result = wrong; });
  half_->io.restart();
  half_->io.run_for(limit);
  if (!result) throw std::runtime_error("no message came");
  if (*result) return std::nullopt;
  return Message{half_->ws.got_text(), beast::buffers_to_string(buffer.data())};
}

std::string Watcher::find(const std::string& part) {
  while (std::optional<Message> message = receive())
    if (message->data.find(part) != std::string::npos) return message->data;
  throw std::runtime_error("closed before it came: " + part);
}

Connection::Connection(unsigned short port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket_ < 0 || ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect");
}
Connection::~Connection() {
  ::close(socket_);
}

void Connection::send(const std::string& bytes) {
  (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);  // the other end may have closed
}

std::string Connection::read_to_end(std::chrono::seconds limit) {
  const timeval timeout{static_cast<time_t>(limit.count()), 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  std::string all;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t got = ::recv(socket_, piece.data(), piece.size(), 0);
    if (got < 0 && errno == EAGAIN) throw std::runtime_error("the other end does not close");
    if (got <= 0) return all;
    all.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace tofstream::web_test
// SPDX-License-Identifier: Apache-2.0
