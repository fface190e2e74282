// A client by Boost.Asio's blocking stream: see control_client.hpp.
#include "tools/watch/control_client.hpp"

#include <chrono>
#include <string>

#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include "tools/watch/control_server.hpp"

namespace tofstream {

namespace {

constexpr std::chrono::seconds patience{10};

}  // namespace

struct ControlClient::Connection {
  boost::asio::local::stream_protocol::iostream stream;
};

ControlClient::ControlClient(const std::filesystem::path& run)
    : socket_(std::filesystem::is_directory(run) ? run / control_socket_name : run),
      connection_(std::make_unique<Connection>()) {
  connection_->stream.expires_after(patience);
  try {
    connection_->stream.connect(boost::asio::local::stream_protocol::endpoint(socket_.string()));
  } catch (const boost::system::system_error&) {
    throw NoRun(fmt::format("{}: a socket's path has at most 107 bytes", socket_.string()));
  }
  if (!connection_->stream)
    throw NoRun(
        fmt::format("no run answers at {} ({}): give the --out folder of a run that is still running, or its --control "
                    "socket",
                    socket_.string(), connection_->stream.error().message()));
}
ControlClient::~ControlClient() = default;

nlohmann::ordered_json ControlClient::ask(const ControlRequest& request) {
  auto& stream = connection_->stream;
  stream.expires_after(patience);
  stream << control_request_line(request) << std::flush;
  std::string line;
  if (!std::getline(stream, line)) throw NoRun(fmt::format("the run at {} has ended", socket_.string()));
  try {
    return nlohmann::ordered_json::parse(line);
  } catch (const nlohmann::json::exception&) {
    throw NoRun(fmt::format("what answers at {} is no run of tofstream", socket_.string()));
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
