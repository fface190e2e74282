// The servers behind a dispatcher, and what it counts of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/serve/dispatcher.hpp"
#include "tools/serve/known_server.hpp"

namespace tofstream::serve {

struct ServerBehind {
  std::unique_ptr<KnownServer> known;
  bool was_there = false;
  std::string told_why = {};  // it is not there
  std::uint64_t begun = 0, refused = 0, vanished = 0;
};

/// Used by one thread.
class ServersBehind {
 public:
  /// Throws std::invalid_argument, one line, for servers that cannot be those of a dispatcher: none, one named twice.
  static void require_possible(const DispatcherOptions& options);

  /// Waits for the servers: until each has answered, or one has and the others had some time. Throws as Dispatcher does.
  explicit ServersBehind(const DispatcherOptions& options);

  /// Takes their answers, asks again, and logs which have come and gone. Call it often.
  void look();
  /// Why none takes a run, in one line.
  std::vector<std::string> why_none() const;
  /// What those that have answered offer together.
  nlohmann::ordered_json offer() const;

  std::size_t size() const { return all_.size(); }
  ServerBehind& operator[](std::size_t number) { return all_[number]; }
  const ServerBehind& operator[](std::size_t number) const { return all_[number]; }
  auto begin() { return all_.begin(); }
  auto begin() const { return all_.begin(); }
  auto end() { return all_.end(); }
  auto end() const { return all_.end(); }

 private:
  void wait(const DispatcherOptions& options);
  void require_answers() const;

  std::vector<ServerBehind> all_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
