// Messages to bytes and back: see protocol.hpp.
#include "tools/serve/protocol.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <utility>

#include <boost/endian/buffers.hpp>
#include <fmt/format.h>

namespace tofstream::serve {

namespace {

using Json = nlohmann::ordered_json;
using Bytes = std::vector<std::byte>;

constexpr std::array<char, 4> magic{'T', 'O', 'F', 'S'};
constexpr std::uint8_t protocol_version = 1;

struct Header {
  std::array<char, 4> magic;
  std::uint8_t version, kind, zeros[2];
};
static_assert(sizeof(Header) == message_header_bytes);

using Size = boost::endian::little_uint64_buf_t;
static_assert(sizeof(Size) == 8);

constexpr std::pair<Images, std::string_view> image_names[] = {
    {Images::all, "all"}, {Images::newest, "newest"}, {Images::last, "last"}};

// The bytes of all parts in order.
Bytes joined(std::initializer_list<std::span<const std::byte>> parts) {
  std::size_t size = 0;
  for (const auto part : parts) size += part.size();
  Bytes bytes(size);
  auto at = bytes.begin();
  for (const auto part : parts) at = std::ranges::copy(part, at).out;
  return bytes;
}

bool is_known(std::uint8_t kind) {
  const auto from = [kind](Kind first, Kind last) {
    return kind >= static_cast<std::uint8_t>(first) && kind <= static_cast<std::uint8_t>(last);
  };
  return from(Kind::hello, Kind::ask_health) || from(Kind::waiting, Kind::health);
}

std::uint64_t size_at_front(const Message& message, std::string_view of) {
  if (message.body.size() < sizeof(Size))
    throw BadMessage(fmt::format("{} of {} bytes: it begins with a number of 8", of, message.body.size()));
  Size size;
  std::memcpy(&size, message.body.data(), sizeof(size));
  return size.value();
}

std::span<const std::byte> bytes_of(const Size& size) {
  return std::as_bytes(std::span(&size, 1));
}

std::string text_of(const Json& value, const std::string& key) {
  if (!value.is_string()) throw BadMessage(fmt::format("a hello whose '{}' is no text", key));
  return value.get<std::string>();
}

std::vector<std::string> settings_of(const Json& value) {
  if (!value.is_array()) throw BadMessage("a hello whose 'settings' are no list");
  std::vector<std::string> settings;
  for (const Json& each : value) settings.push_back(text_of(each, "settings"));
  return settings;
}

Images images_of(const Json& value) {
  const std::string text = text_of(value, "images");
  const auto found = std::ranges::find(image_names, text, [](const auto& each) { return each.second; });
  if (found == std::end(image_names)) throw BadMessage("a hello whose 'images' is none of all, newest, last");
  return found->first;
}

}  // namespace

Message read_message(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Header))
    throw BadMessage(fmt::format("a message of {} bytes, which is less than its header", bytes.size()));
  Header header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != magic)
    throw BadMessage("a message that does not begin with TOFS: this is no client of this server, or no server");
  if (header.version != protocol_version)
    throw BadMessage(fmt::format("a message of version {}, and this is version {}: use one release at both ends",
                                 header.version, protocol_version));
  if (!is_known(header.kind) || header.zeros[0] != 0 || header.zeros[1] != 0)
    throw BadMessage(fmt::format("a message of kind {}, which there is not", header.kind));
  return {static_cast<Kind>(header.kind), bytes.subspan(sizeof(Header))};
}

Bytes make_message(Kind kind, std::span<const std::byte> body) {
  const Header header{magic, protocol_version, static_cast<std::uint8_t>(kind), {}};
  return joined({std::as_bytes(std::span(&header, 1)), body});
}

Json json_body(const Message& message) {
  const std::string_view text(reinterpret_cast<const char*>(message.body.data()), message.body.size());
  Json body = Json::parse(text, nullptr, false);
  if (body.is_discarded()) throw BadMessage("a message that is no JSON");
  return body;
}

Bytes make_json_message(Kind kind, const Json& body) {
  // Text that is not UTF-8, such as a file's name in an error, must not prevent the error from being reported.
  const std::string text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return make_message(kind, std::as_bytes(std::span(text)));
}

Bytes make_refusal(const std::vector<std::string>& why, bool another_may) {
  Json body{{"errors", why}};
  if (another_may) body["another_may"] = true;
  return make_json_message(Kind::error, body);
}

Hello read_hello(const Message& message) {
  if (message.body.size() > longest_request)
    throw BadMessage(fmt::format("a hello of {} bytes, and at most {} are taken: send a shorter pipeline",
                                 message.body.size(), longest_request));
  const Json body = json_body(message);
  if (!body.is_object()) throw BadMessage("a hello that is no JSON object");
  Hello hello;
  for (const auto& [key, value] : body.items()) {
    if (key == "pipeline")
      hello.pipeline = text_of(value, key);
    else if (key == "yaml")
      hello.yaml = text_of(value, key);
    else if (key == "settings")
      hello.settings = settings_of(value);
    else if (key == "images")
      hello.images = images_of(value);
    else
      throw BadMessage("a hello with a key that is none of pipeline, yaml, settings, images");
  }
  if (hello.pipeline.empty()) throw BadMessage("a hello that names no 'pipeline'");
  return hello;
}

Bytes make_hello(const Hello& hello) {
  Json body{{"pipeline", hello.pipeline}};
  if (!hello.yaml.empty()) body["yaml"] = hello.yaml;
  if (!hello.settings.empty()) body["settings"] = hello.settings;
  body["images"] = std::ranges::find(image_names, hello.images, [](const auto& each) { return each.first; })->second;
  return make_json_message(Kind::hello, body);
}

std::uint64_t read_credit(const Message& message) {
  const std::uint64_t bytes = size_at_front(message, "a credit");
  if (message.body.size() != sizeof(Size)) throw BadMessage("a credit with more than its number");
  return bytes;
}

Bytes make_credit(std::uint64_t bytes) {
  return make_message(Kind::credit, bytes_of(Size(bytes)));
}

ImageBody read_image_body(const Message& message) {
  const std::uint64_t size = size_at_front(message, "an image");
  const auto rest = message.body.subspan(sizeof(Size));
  if (size > rest.size())
    throw BadMessage(fmt::format("an image of {} bytes, in a message that has {}", size, rest.size()));
  const auto provenance = rest.subspan(size);
  return {rest.first(size), {reinterpret_cast<const char*>(provenance.data()), provenance.size()}};
}

Bytes make_image(std::span<const std::byte> image, std::string_view provenance) {
  const Size size(image.size());
  return make_message(Kind::image, joined({bytes_of(size), image, std::as_bytes(std::span(provenance))}));
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
