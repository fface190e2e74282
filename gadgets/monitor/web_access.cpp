// The page's address and its visitors: see web_access.hpp.
#include "gadgets/monitor/web_access.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

namespace tofstream {
namespace {

using boost::asio::ip::make_address;

struct HostAndPort {
  std::string host;  // lower case, without brackets
  std::optional<unsigned short> port;
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

// `name`, `name:80`, `[::1]` or `[::1]:80`; nothing where it is none.
std::optional<HostAndPort> split(std::string_view text) {
  HostAndPort result;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    result.host = lower(text.substr(1, close - 1));
    rest = text.substr(close + 1);
  } else {
    const std::size_t colon = text.find(':');
    result.host = lower(text.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  if (result.host.empty()) return std::nullopt;
  if (rest.empty()) return result;
  if (rest.front() != ':') return std::nullopt;
  unsigned short port = 0;
  const char* end = rest.data() + rest.size();
  const auto [stop, wrong] = std::from_chars(rest.data() + 1, end, port);
  if (wrong != std::errc{} || stop != end) return std::nullopt;
  result.port = port;
  return result;
}

}  // namespace

WebAddress web_address(const std::string& text, bool is_public) {
  const std::optional<HostAndPort> parts = split(text);
  boost::system::error_code wrong;
  const auto address = make_address(!parts || parts->host == "localhost" ? "127.0.0.1" : parts->host, wrong);
  if (!parts || !parts->port || wrong)
    throw std::invalid_argument(
        fmt::format("address '{}': write 127.0.0.1:8080, or port 0 for any free one; elsewhere this machine's own "
                    "address and port",
                    text));
  if (!address.is_loopback() && !is_public)
    throw std::invalid_argument(
        fmt::format("address '{}' is open to the network, where anybody could watch and stop the run, unencrypted: use "
                    "127.0.0.1:{} and a tunnel (ssh -L) from another machine; or say `public: true`",
                    text, *parts->port));
  return {address.to_string(), *parts->port, address.is_loopback()};
}

bool is_own_host(std::string_view host, const std::vector<std::string>& names) {
  const std::optional<HostAndPort> parts = split(host);
  if (!parts) return false;
  boost::system::error_code no_address;
  make_address(parts->host, no_address);
  return !no_address || parts->host == "localhost" ||
         std::ranges::any_of(names, [&](const std::string& name) { return lower(name) == parts->host; });
}

bool is_own_origin(std::string_view origin, std::string_view host) {
  return origin.empty() || lower(origin) == "http://" + lower(host);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
