// A scrape of a metrics endpoint, as Prometheus makes it.
#pragma once

#include <chrono>
#include <string>

#include <boost/asio/ip/tcp.hpp>

namespace tofstream::test {

/// The answer, with its header.
inline std::string scrape(int port, const std::string& host = "localhost", const std::string& page = "/metrics") {
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(std::chrono::seconds(10));
  stream.connect("127.0.0.1", std::to_string(port));
  stream << "GET " << page << " HTTP/1.1\r\nHost: " << host << "\r\nConnection: close\r\n\r\n" << std::flush;
  std::string text, line;
  std::size_t length = 0;
  while (std::getline(stream, line) && line != "\r") {
    if (line.starts_with("Content-Length: ")) length = std::stoul(line.substr(16));
    text += line + "\n";
  }
  std::string body(length, '\0');
  stream.read(body.data(), static_cast<std::streamsize>(length));
  return text + "\n" + body;
}

}  // namespace tofstream::test
// SPDX-License-Identifier: Apache-2.0
