// Where the live page may be served, and which requests are its own.
#include "gadgets/monitor/web_access.hpp"

#include <doctest/doctest.h>

using namespace tofstream;

TEST_CASE("the page's address is loopback, or open to the network only where that is said") {
  CHECK(web_address("127.0.0.1:8080", false).port == 8080);
  CHECK(web_address("localhost:0", false).host == "127.0.0.1");
  CHECK(web_address("[::1]:80", false).host == "::1");
  CHECK(web_address("127.9.9.9:1", false).is_loopback);
  CHECK_FALSE(web_address("0.0.0.0:8080", true).is_loopback);
  CHECK_FALSE(web_address("[::]:8080", true).is_loopback);
  for (const char* open : {"0.0.0.0:8080", "192.168.1.5:80", "[::]:80", "[fe80::1]:80"})
    CHECK_THROWS_WITH_AS(web_address(open, false), doctest::Contains("public: true"), std::invalid_argument);
  for (const char* wrong : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:80 ",
                            "host:80", "[::1", "[::1]80", "http://127.0.0.1:80"})
    CHECK_THROWS_WITH_AS(web_address(wrong, true), doctest::Contains("write 127.0.0.1:8080"), std::invalid_argument);
}

TEST_CASE("a request under a foreign name is refused, as a page that was made to point here sends it") {
  for (const char* own : {"127.0.0.1:8080", "localhost:9999", "LOCALHOST", "[::1]:8080", "192.168.1.5:80", "10.0.0.1"})
    CHECK(is_own_host(own, {}));
  for (const char* foreign :
       {"", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "a:b:c"})
    CHECK_FALSE(is_own_host(foreign, {}));
  CHECK(is_own_host("Console.Example:8080", {"other.example", "console.example"}));
  CHECK_FALSE(is_own_host("evil.example", {"console.example"}));
}

TEST_CASE("a WebSocket is opened by the page itself or by no browser") {
  CHECK(is_own_origin("", "127.0.0.1:8080"));
  CHECK(is_own_origin("http://127.0.0.1:8080", "127.0.0.1:8080"));
  CHECK(is_own_origin("http://Localhost:8080", "localhost:8080"));
  for (const char* foreign : {"http://evil.example", "null", "http://127.0.0.1:8081", "http://127.0.0.1",
                              "https://127.0.0.1:8080", "127.0.0.1:8080"})
    CHECK_FALSE(is_own_origin(foreign, "127.0.0.1:8080"));
}
// SPDX-License-Identifier: Apache-2.0
