// Loopback or not: see endpoint.hpp.
#include "gadgets/wire/endpoint.hpp"

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "gadgets/io/wire/loopback.hpp"

namespace tofstream {

namespace {

// libzmq says of a folder that the address is in use, and removes a file.
void require_socket_or_nothing(const std::string& endpoint, const std::filesystem::path& path) {
  std::error_code none;
  const auto there = std::filesystem::status(path, none);
  if (!std::filesystem::exists(there) || std::filesystem::is_socket(there)) return;
  const bool is_folder = std::filesystem::is_directory(there);
  throw std::invalid_argument(fmt::format(
      "endpoint '{}': {} is a {}: {}", endpoint, path.string(), is_folder ? "folder" : "file, and no socket",
      is_folder ? fmt::format("name a socket in it, such as ipc://{}", (path / "socket").string())
                : "name another path, or remove it"));
}

}  // namespace

void require_endpoint(const std::string& endpoint, bool has_keys) {
  const std::string ipc = "ipc://", tcp = "tcp://";
  if (endpoint.starts_with(ipc) && endpoint.size() > ipc.size())
    return require_socket_or_nothing(endpoint, endpoint.substr(ipc.size()));
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
