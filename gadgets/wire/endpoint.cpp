// Loopback or not: see endpoint.hpp.
#include "gadgets/wire/endpoint.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/wire/loopback.hpp"

namespace tofstream {

void require_endpoint(const std::string& endpoint, bool has_keys) {
  const std::string ipc = "ipc://", tcp = "tcp://";
  if (endpoint.starts_with(ipc) && endpoint.size() > ipc.size()) return;
  const auto colon = endpoint.rfind(':');
  if (!endpoint.starts_with(tcp) || colon <= tcp.size() || colon + 1 == endpoint.size())
    throw std::invalid_argument(
        fmt::format("endpoint '{}': write tcp://127.0.0.1:PORT, or ipc://PATH for a socket in a folder", endpoint));
  if (!has_keys && !is_loopback(endpoint.substr(tcp.size(), colon - tcp.size())))
    throw std::invalid_argument(fmt::format(
        "endpoint '{}' is open to the network, which needs keys: make them with 'tofstream keys new NAME "
        "-o FOLDER' and name them under 'keys' (--key; tofstream docs network), or use tcp://127.0.0.1:PORT",
        endpoint));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
