// Messages between a server and its clients as bytes: messages are read back, and anything else is refused in one line.
#include "tools/serve/protocol.hpp"

#include <doctest/doctest.h>

using namespace tofstream::serve;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The error for bytes that are not a message.
std::string refusal(const Bytes& bytes) {
  try {
    read_message(bytes);
  } catch (const BadMessage& bad) {
    return bad.what();
  }
  return "";
}

std::string refused_hello(std::string_view json) {
  try {
    read_hello(read_message(make_message(Kind::hello, bytes_of(json))));
  } catch (const BadMessage& bad) {
    return bad.what();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a message is its header of 8 bytes and its body, as they are documented") {
  const Bytes bytes = make_message(Kind::frame, bytes_of("abc"));
  CHECK(bytes == bytes_of(std::string_view("TOFS\x01\x02\0\0abc", 11)));
  const Message read = read_message(bytes);
  CHECK(read.kind == Kind::frame);
  CHECK(Bytes(read.body.begin(), read.body.end()) == bytes_of("abc"));
  CHECK(make_credit(0x0102) == bytes_of(std::string_view("TOFS\x01\x12\0\0\x02\x01\0\0\0\0\0\0", 16)));
}

TEST_CASE("bytes that are no message of this version are refused, and it is said why") {
  Bytes good = make_message(Kind::ping);
  CHECK(refusal(good).empty());
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK(contains(refusal({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}),
                   fmt::format("a message of {} bytes", size)));
  const auto with = [&](std::size_t at, int value) {
    Bytes bad = good;
    bad[at] = static_cast<std::byte>(value);
    return refusal(bad);
  };
  CHECK(contains(with(0, 'X'), "does not begin with TOFS"));
  CHECK(contains(with(4, 2), "a message of version 2, and this is version 1"));
  for (const int kind : {0, 8, 15, 26, 255}) CHECK(contains(with(5, kind), fmt::format("of kind {}", kind)));
  CHECK(contains(with(7, 1), "which there is not"));
}

TEST_CASE("a hello says what it said before it was sent") {
  const Hello said{.pipeline = "mine.yaml",
                   .yaml = "gadgets: {}\n# \"Bq/mL\", µ\n",
                   .settings = {"a.b=1", "image.size=[1, 2, 3]"},
                   .images = Images::last};
  const Bytes bytes = make_hello(said);
  const Hello read = read_hello(read_message(bytes));
  CHECK(read.pipeline == said.pipeline);
  CHECK(read.yaml == said.yaml);
  CHECK(read.settings == said.settings);
  CHECK(read.images == said.images);
  const Bytes short_one = make_message(Kind::hello, bytes_of(R"({"pipeline": "small"})"));
  const Hello least = read_hello(read_message(short_one));
  CHECK(least.yaml.empty());
  CHECK(least.settings.empty());
  CHECK(least.images == Images::newest);
}

TEST_CASE("a hello that is none is refused, and it is said why") {
  CHECK(contains(refused_hello("{"), "no JSON"));
  CHECK(contains(refused_hello("[]"), "no JSON object"));
  CHECK(contains(refused_hello("{}"), "names no 'pipeline'"));
  CHECK(contains(refused_hello(R"({"pipeline": 3})"), "'pipeline' is no text"));
  CHECK(contains(refused_hello(R"({"pipeline": "a", "settings": "b=1"})"), "'settings' are no list"));
  CHECK(contains(refused_hello(R"({"pipeline": "a", "settings": [1]})"), "'settings' is no text"));
  CHECK(contains(refused_hello(R"({"pipeline": "a", "images": "some"})"), "none of all, newest, last"));
  CHECK(contains(refused_hello(R"({"pipeline": "a", "yalm": "b"})"), "none of pipeline, yaml, settings, images"));
  CHECK(contains(refused_hello(std::string(longest_request + 1, ' ')), "send a shorter pipeline"));
  CHECK(contains(refused_hello(std::string(longest_request, '[')), "no JSON"));
}

TEST_CASE("credits and images hold what they say they hold") {
  CHECK(read_credit(read_message(make_credit(1ULL << 40U))) == 1ULL << 40U);
  const Bytes image = bytes_of("image"), bytes = make_image(image, R"({"a": 1})");
  const ImageBody body = read_image_body(read_message(bytes));
  CHECK(Bytes(body.image.begin(), body.image.end()) == image);
  CHECK(body.provenance == R"({"a": 1})");
  const auto of = [](Kind kind, std::string_view text) { return make_message(kind, bytes_of(text)); };
  const Bytes cut = of(Kind::credit, "1234567"), long_one = of(Kind::credit, "123456789");
  CHECK_THROWS_AS(read_credit(read_message(cut)), BadMessage);
  CHECK_THROWS_AS(read_credit(read_message(long_one)), BadMessage);
  const Bytes none = of(Kind::image, "1234"), beyond = of(Kind::image,
                                                          "\xff\xff\xff\xff\xff\xff\xff\xff"
                                                          "abc");
  CHECK_THROWS_AS(read_image_body(read_message(none)), BadMessage);
  CHECK_THROWS_AS(read_image_body(read_message(beyond)), BadMessage);
}

TEST_CASE("an error is told though its words are no UTF-8") {
  const Bytes bytes = make_json_message(Kind::error, {{"errors", {"cannot open \xff.nii"}}});
  const auto errors = json_body(read_message(bytes))["errors"];
  REQUIRE(errors.size() == 1);
  CHECK(contains(errors[0].get<std::string>(), "cannot open"));
}
// SPDX-License-Identifier: Apache-2.0
