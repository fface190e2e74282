// One client of a dispatcher, and its connection to the server that reconstructs for it: messages go through, each way
// no more at a time than the one behind has room for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "tools/serve/front_socket.hpp"
#include "tools/serve/placement.hpp"
#include "tools/serve/protocol.hpp"
#include "tools/serve/server_link.hpp"

namespace tofstream::serve {

class Relay {
 public:
  using Clock = std::chrono::steady_clock;
  /// Before its server has answered; while it is in the server's queue; from the begin of the run on; once nothing
  /// more comes from a server.
  enum class State { asked, waiting, running, over };

  /// `hello`: the client's message. Throws BadMessage.
  Relay(std::string client, const zmq::message_t& hello);

  const std::string& client() const { return client_; }
  const std::string& pipeline() const { return pipeline_; }
  State state() const { return state_; }
  /// What the server said last: the session's name, the run's need, the GPUs that it has.
  const std::string& session() const { return session_; }
  const Need& need() const { return need_; }
  const std::vector<int>& gpus() const { return gpus_; }

  /// Gives the hello to a server. Throws std::runtime_error.
  void open(zmq::context_t& context, const ServerAddress& server, const SecretKey* own);
  /// Lets go of the server; what it has of this run, it drops.
  void leave();

  /// A message of the client's, of a kind that clients send. Throws BadMessage where it may not come now.
  void take_from_client(Kind kind, zmq::message_t& bytes);
  /// Tells the client, and ends.
  void fail(const std::vector<std::string>& why);
  /// Tells the client that its run is lost, and ends.
  void fail_run(const std::string& why);

  /// The client is gone: nothing is sent, and its run is dropped.
  void vanish();

  /// Takes what the server has said, and passes on what there is room for.
  void pump(FrontSocket& front);
  /// The server is not heard of any more. `is_there`: it answers others.
  bool is_lost(bool is_there, std::chrono::milliseconds patience);
  /// The server does not take the run, and another one may: then why.
  const std::vector<std::string>& refusal() const { return refusal_; }
  bool wants_another() const { return !refusal_.empty(); }

  bool is_gone() const { return is_gone_; }
  void heard() { client_heard_ = Clock::now(); }
  Clock::duration silence() const { return Clock::now() - client_heard_; }
  bool is_done() const { return is_gone_ || (state_ == State::over && to_client_.empty()); }
  bool is_held_up() const { return !to_client_.empty(); }
  std::optional<zmq::pollitem_t> poll_item();

 private:
  void read_server();
  void take_from_server(zmq::message_t& bytes);
  void note(const nlohmann::ordered_json& introduction);
  void write_server();
  void write_client(FrontSocket& front);
  void say(std::vector<std::byte> message);
  void end();

  const std::string client_;
  const std::vector<std::byte> hello_;
  std::string pipeline_, session_;
  Need need_;
  std::vector<int> gpus_;
  State state_ = State::asked;
  std::optional<ServerLink> link_;
  std::deque<zmq::message_t> to_server_, to_client_;
  std::int64_t credit_ = 0;
  std::vector<std::string> refusal_;
  Clock::time_point client_heard_ = Clock::now(), server_heard_{}, pinged_{};
  bool has_heard_ = false, is_gone_ = false;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
