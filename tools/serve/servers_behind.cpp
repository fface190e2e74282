// Waiting for servers, and what they say together: see servers_behind.hpp.
#include "tools/serve/servers_behind.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/log.hpp"
#include "gadgets/wire/endpoint.hpp"

namespace tofstream::serve {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds for_further_servers{2000};  // at the start, once one is there

void add_offer(const Json& one, const std::string& server, std::set<std::string>& pipelines, Json& sessions) try {
  for (const Json& name : one.at("pipelines")) pipelines.insert(name.get<std::string>());
  for (Json session : one.at("sessions")) {
    const std::string further = session.value("server", std::string());
    session["server"] = further.empty() ? server : fmt::format("{}, {}", server, further);
    sessions.push_back(std::move(session));
  }
} catch (const Json::exception&) {
  program_log().warn("{}: its list is not as this release has it", server);
}

}  // namespace

void ServersBehind::require_possible(const DispatcherOptions& options) {
  if (options.servers.empty())
    throw std::invalid_argument("no server to hand runs to: name each by --servers, as tcp://HOST:PORT");
  std::set<std::string> seen;
  for (const ServerAddress& server : options.servers) {
    require_endpoint(server.endpoint, !server.key.empty());
    if (!seen.insert(server.endpoint).second)
      throw std::invalid_argument(fmt::format("{} is named twice: name each server once", server.endpoint));
    if (server.endpoint == options.endpoint)
      throw std::invalid_argument(
          fmt::format("{} is where clients are to connect, and a server too: name another endpoint", server.endpoint));
    if (!server.key.empty() && options.keys.own.empty())
      throw std::invalid_argument("a server's public key is given, and no own key: name this end's by --key");
  }
}

ServersBehind::ServersBehind(const DispatcherOptions& options) {
  for (const ServerAddress& address : options.servers)
    all_.push_back({.known = std::make_unique<KnownServer>(address, options.keys.own, options.patience)});
  wait(options);
}

void ServersBehind::wait(const DispatcherOptions& options) {
  const auto began = Clock::now();
  auto until = began + options.start_patience;
  for (bool has_one = false; Clock::now() < until;) {
    if (options.while_waiting) options.while_waiting();
    std::size_t there = 0;
    for (ServerBehind& server : all_) {
      server.known->look();
      if (server.known->is_wrong())
        throw std::runtime_error(fmt::format("{}: {}", server.known->name(), server.known->why_not()));
      there += server.known->is_there() ? 1 : 0;
    }
    if (there == all_.size()) break;
    if (there > 0 && !std::exchange(has_one, true)) until = std::min(until, Clock::now() + for_further_servers);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  require_answers();
  look();
}

void ServersBehind::require_answers() const {
  std::map<std::string, std::string> names;  // by identity
  for (const ServerBehind& server : all_) {
    const Health* const health = server.known->health();
    if (!health) continue;
    if (const auto [same, is_new] = names.emplace(health->identity, server.known->name()); !is_new)
      throw std::runtime_error(
          fmt::format("{} and {} are one server: name each server once", same->second, server.known->name()));
  }
  if (!names.empty()) return;
  std::vector<std::string> all;
  for (const ServerBehind& server : all_) all.push_back(server.known->name());
  throw std::runtime_error(fmt::format(
      "no server answers at {}: start them there, tofstream serve, or name others by --servers", fmt::join(all, ", ")));
}

void ServersBehind::look() {
  for (ServerBehind& server : all_) {
    server.known->look();
    const KnownServer& known = *server.known;
    if (known.is_there()) {
      if (!std::exchange(server.was_there, true))
        program_log().info("{} is there: {} runs at a time", known.name(), sum_of(known.places()).at_once);
      server.told_why.clear();
    } else if (std::exchange(server.was_there, false) || server.told_why != known.why_not()) {
      server.told_why = known.why_not();
      program_log().warn("{}: {}; it gets no runs until it answers", known.name(), known.why_not());
    }
  }
}

std::vector<std::string> ServersBehind::why_none() const {
  std::vector<std::string> each;
  for (const ServerBehind& server : all_) {
    const KnownServer& known = *server.known;
    std::string why = known.is_there() ? "" : known.why_not();
    for (const Place& place : known.places())
      if (!place.takes()) why = place.why_not;
    if (!why.empty()) each.push_back(fmt::format("{}: {}", known.name(), why));
  }
  return {fmt::format("no server takes runs at present, try again later{}{}", each.empty() ? "" : ": ",
                      fmt::join(each, "; "))};
}

nlohmann::ordered_json ServersBehind::offer() const {
  std::set<std::string> pipelines;
  std::size_t at_once = 0;
  Json sessions = Json::array();
  for (const ServerBehind& server : all_) {
    at_once += sum_of(server.known->places()).at_once;
    if (const Json* one = server.known->offer()) add_offer(*one, server.known->name(), pipelines, sessions);
  }
  return {{"pipelines", pipelines}, {"at_once", at_once}, {"sessions", std::move(sessions)}};
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
