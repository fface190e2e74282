// The control socket by Boost.Asio, on one thread: see control_server.hpp.
#include "tools/watch/control_server.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/base/log.hpp"
#include "tools/watch/control_message.hpp"

namespace tofstream {

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

[[noreturn]] void refuse(const fs::path& socket, const std::string& why) {
  throw std::runtime_error(fmt::format("control socket {}: {}", socket.string(), why));
}

Local::endpoint endpoint_of(const fs::path& socket) {
  try {
    return Local::endpoint(socket.string());
  } catch (const boost::system::system_error&) {
    refuse(socket, "its path is longer than a socket's may be (107 bytes): give a shorter one by --control");
  }
}

// A run that was killed leaves its socket, at which nobody answers.
void remove_stale(asio::io_context& context, const fs::path& socket) {
  error_code wrong;
  const fs::file_status status = fs::symlink_status(socket);
  if (!fs::exists(status)) return;
  if (!fs::is_socket(status)) refuse(socket, "a file of that name is in the way");
  Local::socket probe(context);
  probe.connect(endpoint_of(socket), wrong);
  if (!wrong) refuse(socket, "another run answers there: give this one a socket of its own by --control");
  std::error_code ignored;
  fs::remove(socket, ignored);
}

}  // namespace

/// One connection: reads a line, answers it, reads the next.
class ControlServer::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Local::socket socket, RunControl& run) : socket_(std::move(socket)), run_(run) {}

  void read() {
    asio::async_read_until(socket_, asio::dynamic_buffer(received_, longest_control_request), '\n',
                           [self = shared_from_this()](error_code wrong, std::size_t length) {
                             if (wrong == asio::error::not_found)
                               self->answer(refuse_control_request("the request is longer than 65536 bytes"), false);
                             else if (wrong)
                               self->close();
                             else
                               self->take_line(length);
                           });
  }
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }
  bool is_open() const { return socket_.is_open(); }
  std::chrono::steady_clock::time_point heard() const { return heard_; }

 private:
  void take_line(std::size_t length) {
    heard_ = std::chrono::steady_clock::now();
    const std::string line = received_.substr(0, length - 1);
    received_.erase(0, length);
    try {
      answer(answer_control_request(run_, parse_control_request(line)), true);
    } catch (const BadRequest& bad) {
      answer(refuse_control_request(bad.what()), true);
    }
  }

  void answer(const nlohmann::ordered_json& json, bool goes_on) {
    sent_ = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    asio::async_write(socket_, asio::buffer(sent_),
                      [self = shared_from_this(), goes_on](error_code wrong, std::size_t) {
                        if (!wrong && goes_on)
                          self->read();
                        else
                          self->close();
                      });
  }

  Local::socket socket_;
  RunControl& run_;
  std::string received_, sent_;
  std::chrono::steady_clock::time_point heard_ = std::chrono::steady_clock::now();
};

struct ControlServer::Server {
  Server(RunControl& control, fs::path path)
      : run(control), socket(std::move(path)), acceptor(context), pause(context) {
    remove_stale(context, socket);
    const Local::endpoint endpoint = endpoint_of(socket);
    error_code wrong;
    acceptor.open(Local());
    ::fchmod(acceptor.native_handle(), S_IRUSR | S_IWUSR);  // what the socket's file is made with: its owner's alone
    acceptor.bind(endpoint, wrong);
    if (!wrong) acceptor.listen(asio::socket_base::max_listen_connections, wrong);
    if (wrong) refuse(socket, wrong.message());
    ::stat(socket.c_str(), &made);
    accept();
    thread = std::jthread([this] { serve(); });
  }

  ~Server() {
    context.stop();
    thread.join();
    struct stat now {};  // another run may have put its own there since
    if (::lstat(socket.c_str(), &now) != 0 || now.st_ino != made.st_ino || now.st_dev != made.st_dev) return;
    std::error_code ignored;
    fs::remove(socket, ignored);
  }

  void serve() {
    for (;;) try {
        context.run();
        return;
      } catch (const std::exception& error) {  // of one request: the run and the others go on
        program_log().warn("control socket: {}", error.what());
      }
  }

  void accept() {
    acceptor.async_accept([this](error_code wrong, Local::socket client) {
      if (wrong == asio::error::operation_aborted) return;
      if (wrong) return accept_later();
      make_room();
      sessions.push_back(std::make_shared<Session>(std::move(client), run));
      sessions.back()->read();
      accept();
    });
  }

  // The process has no descriptor left for it.
  void accept_later() {
    pause.expires_after(std::chrono::milliseconds(100));
    pause.async_wait([this](error_code wrong) {
      if (!wrong) accept();
    });
  }

  void make_room() {
    std::erase_if(sessions, [](const auto& session) { return !session->is_open(); });
    if (sessions.size() < most_clients) return;
    const auto silent = std::ranges::min_element(sessions, {}, [](const auto& session) { return session->heard(); });
    (*silent)->close();
    sessions.erase(silent);
  }

  RunControl& run;
  const fs::path socket;
  asio::io_context context{1};
  Local::acceptor acceptor;
  asio::steady_timer pause;
  std::list<std::shared_ptr<Session>> sessions;
  struct stat made {};
  std::jthread thread;
};

ControlServer::ControlServer(RunControl& run, const fs::path& socket)
    : server_(std::make_unique<Server>(run, socket)) {}
ControlServer::~ControlServer() = default;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
