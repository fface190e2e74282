// Who may reach the live page: its address, and which requests of a browser come from the page itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tofstream {

struct WebAddress {
  std::string host;  // an IPv4 or IPv6 address, without brackets
  unsigned short port = 0;
  bool is_loopback = false;
};

/// `127.0.0.1:8080`, `localhost:8080` or `[::1]:8080`; port 0 is any free one. Throws std::invalid_argument, in one
/// line, where it is none of these, or is open to the network and `is_public` is false.
WebAddress web_address(const std::string& text, bool is_public);

/// True where a request's Host is this machine's loopback, any literal address, or one of `names` (without a port). A
/// foreign name is refused: a page of that name could have been made to point here (DNS rebinding), and its scripts
/// would then pass for ours.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

/// True where a WebSocket's Origin is the page that the same Host serves, or is missing, as from programs that are no
/// browser.
bool is_own_origin(std::string_view origin, std::string_view host);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
