// The browser's side for tests of the live page: a request, a WebSocket, and a connection that may misbehave.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tofstream::web_test {

using namespace std::chrono_literals;

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;
};

/// A request on its own connection. An empty host stands for 127.0.0.1:port.
HttpAnswer ask(unsigned short port, const std::string& path, const std::string& method = "GET",
               const std::string& host = "");

/// A WebSocket that is open, or was refused.
class Watcher {
 public:
  explicit Watcher(unsigned short port, const std::string& origin = "", const std::string& host = "");
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  bool is_open() const;
  void send(const std::string& text);
  void send_binary(const std::string& bytes);
  struct Message {
    bool is_text = false;
    std::string data;
  };
  /// The next message; nothing once the other end has closed. Throws if neither happens in time.
  std::optional<Message> receive(std::chrono::seconds limit = 10s);
  /// The next message that contains `part`, all others dropped.
  std::string find(const std::string& part);

 private:
  struct Half;
  std::unique_ptr<Half> half_;
};

/// Bytes as they are.
class Connection {
 public:
  explicit Connection(unsigned short port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const std::string& bytes);
  /// Everything received until the other end closes. Throws if it does not close in time.
  std::string read_to_end(std::chrono::seconds limit = 10s);

 private:
  int socket_ = -1;
};

}  // namespace tofstream::web_test
// SPDX-License-Identifier: Apache-2.0
