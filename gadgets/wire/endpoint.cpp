// Loopback or not: see endpoint.hpp.
#include "gadgets/wire/endpoint.hpp"

#include <stdexcept>

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

namespace tofstream {
namespace {

bool is_loopback(std::string host) {
  if (host == "localhost") return true;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  boost::system::error_code wrong;
  const auto address = boost::asio::ip::make_address(host, wrong);
  return !wrong && address.is_loopback();
}

}  // namespace

void require_local_endpoint(const std::string& endpoint) {
  const std::string ipc = "ipc://", tcp = "tcp://";
  if (endpoint.starts_with(ipc) && endpoint.size() > ipc.size()) return;
  const auto colon = endpoint.rfind(':');
  if (!endpoint.starts_with(tcp) || colon < tcp.size() || colon + 1 == endpoint.size())
    throw std::invalid_argument(
        fmt::format("endpoint '{}': write tcp://127.0.0.1:PORT, or ipc://PATH for a socket in a folder", endpoint));
  if (!is_loopback(endpoint.substr(tcp.size(), colon - tcp.size())))
    throw std::invalid_argument(
        fmt::format("endpoint '{}' is open to the network, which needs keys, and there is no encryption yet: use "
                    "tcp://127.0.0.1:PORT, and a tunnel (ssh -L) from another machine",
                    endpoint));
}

}  // namespace tofstream
