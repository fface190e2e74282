// A small HTTP and WebSocket server on a thread of its own: files that lie in memory, and messages to whoever watches.
// Knows nothing of what it shows. Memory is bounded whatever visitors do: there are at most so many, each may ask for
// little, and to each at most one message is on its way; of what else is published it gets the newest. A binary message
// waits until the one before has been read, as a pong says: a slow watcher gets few images, but fresh ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gadgets/monitor/web_access.hpp"

namespace tofstream {

using WebBytes = std::shared_ptr<const std::string>;

struct WebFile {
  std::string type;  // as Content-Type says it
  WebBytes content;  // null: what was there is there no more (204, which is no failure to a browser)
};

struct WebSettings {
  WebAddress address;
  std::vector<std::string> host_names;                 // besides addresses and localhost (web_access.hpp)
  std::string hosts_option = "web_monitor's `hosts`";  // where the operator names more of them
  std::size_t connections = 64;  // at a time; one more takes the place of the one that has been silent longest
  std::chrono::seconds request_timeout{10};  // for a whole request, and until the next one
  std::chrono::seconds silence_timeout{60};  // of a WebSocket that does not answer pings either
};

/// What the server asks for, on its own thread. An exception ends the one connection.
struct WebContent {
  std::function<std::optional<WebFile>(std::string_view path)> file;  // "/index.html"; null: there is none
  std::function<std::string()> greeting;  // the first message to each WebSocket at /live; null: there are none
  std::function<std::string(std::string_view text)> answer;  // to a message of one; empty: no answer
};

class WebServer {
 public:
  /// Listens. Throws std::runtime_error, in one line, where the address cannot be had.
  WebServer(const WebSettings& settings, WebContent content);
  /// Ends every connection.
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  unsigned short port() const;
  /// WebSockets that are open. From any thread, as what follows.
  std::size_t watchers() const;
  /// The newest text, and the newest binary message: to all who watch, and to who comes later.
  void publish_text(WebBytes message);
  void publish_binary(WebBytes message);
  /// Sends everybody what was published last, also to who has not read the image before; waits until that is on its
  /// way, or for the time limit.
  void drain(std::chrono::milliseconds limit);
  /// Waits until nobody watches any more, or for the time limit: a page that was told of the end first fetches what it
  /// has asked for, then leaves.
  void wait_until_left(std::chrono::milliseconds limit) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
