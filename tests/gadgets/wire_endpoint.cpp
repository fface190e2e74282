// Where live streams may go: this machine, and others only with keys.
#include "gadgets/wire/endpoint.hpp"

#include <filesystem>
#include <string>

using namespace tofstream;

TEST_CASE("endpoints on this machine are taken") {
  for (const char* endpoint : {"tcp://127.0.0.1:5555", "tcp://127.1.2.3:1", "tcp://localhost:*", "tcp://[::1]:5555",
                               "ipc:///tmp/scan.socket", "ipc://scan.socket"})
    CHECK_NOTHROW(require_endpoint(endpoint, false));
}

TEST_CASE("a folder or a file where the socket is to be is named as what is in the way") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  CHECK_THROWS_WITH(require_endpoint("ipc://" + folder.string(), false), doctest::Contains("is a folder: name a"));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  CHECK_THROWS_WITH(require_endpoint("ipc://" + program, false), doctest::Contains(" is a file, and no socket: "));
}

TEST_CASE("public addresses are refused for want of keys, others because they are none") {
  for (const char* endpoint : {"tcp://*:5555", "tcp://0.0.0.0:5555", "tcp://192.168.1.7:5555", "tcp://eth0:5555",
                               "tcp://[::]:5555", "tcp://127.0.0.1.example.org:5555", "tcp://scanner:5555"}) {
    CHECK_THROWS_WITH(require_endpoint(endpoint, false), doctest::Contains("is open to the network, which needs keys"));
    CHECK_NOTHROW(require_endpoint(endpoint, true));
  }
  for (const char* endpoint : {"", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:", "udp://127.0.0.1:5555", "ipc://",
                               "127.0.0.1:5555", "tcp://:5555"})
    CHECK_THROWS_WITH(require_endpoint(endpoint, true), doctest::Contains("write tcp://127.0.0.1:PORT"));
}
// SPDX-License-Identifier: Apache-2.0
