#include "gadgets/io/wire/loopback.hpp"

#include <boost/asio/ip/address.hpp>

namespace tofstream {

bool is_loopback(std::string host) {
  if (host == "localhost") return true;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  boost::system::error_code wrong;
  const auto address = boost::asio::ip::make_address(host, wrong);
  return !wrong && address.is_loopback();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
