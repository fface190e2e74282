// What a reconstruction server and its clients say to each other, byte by byte (share/doc/server.md). Pure functions
// over bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace tofstream::serve {

/// The kinds of messages. Those of clients are below 16.
enum class Kind : std::uint8_t {
  hello = 1,
  frame,
  ping,
  stop,
  abort,
  list,
  ask_health,
  waiting = 16,
  accepted,
  credit,
  image,
  progress,
  error,
  done,
  pong,
  offer,
  health
};

inline constexpr std::size_t message_header_bytes = 8;

/// Most bytes of a hello's body; no pipeline needs as many.
inline constexpr std::size_t longest_request = std::size_t{1} << 20;

/// The bytes are not a message, or its content does not fit its kind; one line.
struct BadMessage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A message, as views of its bytes.
struct Message {
  Kind kind = Kind::ping;
  std::span<const std::byte> body;
};

/// Throws BadMessage if the bytes do not begin like a message of this version.
Message read_message(std::span<const std::byte> bytes);
std::vector<std::byte> make_message(Kind kind, std::span<const std::byte> body = {});

/// A body of JSON. Throws BadMessage if it is not JSON.
nlohmann::ordered_json json_body(const Message& message);
std::vector<std::byte> make_json_message(Kind kind, const nlohmann::ordered_json& body);

/// An error that ends a session, with a line for each reason. `another_may`: it is this server's that it cannot, and
/// another one may.
std::vector<std::byte> make_refusal(const std::vector<std::string>& why, bool another_may);

/// Which images of its run a client wants: every update's, as many as there is time for, or the final one.
enum class Images { all, newest, last };

/// What a client asks for.
struct Hello {
  std::string pipeline;               // a name that the server knows; for a sent pipeline, its name in errors
  std::string yaml = {};              // the text of a sent pipeline; empty: the server's own
  std::vector<std::string> settings;  // "gadget.parameter=value"
  Images images = Images::newest;
};
/// Throws BadMessage if the body is too long or lacks the fields of a hello.
Hello read_hello(const Message& message);
std::vector<std::byte> make_hello(const Hello& hello);

/// Bytes of frames that the client may send in addition to earlier credit. Throws BadMessage.
std::uint64_t read_credit(const Message& message);
std::vector<std::byte> make_credit(std::uint64_t bytes);

/// An image (share/doc/images-on-the-wire.md), and what made it: JSON.
struct ImageBody {
  std::span<const std::byte> image;
  std::string_view provenance;
};
/// Throws BadMessage.
ImageBody read_image_body(const Message& message);
std::vector<std::byte> make_image(std::span<const std::byte> image, std::string_view provenance);

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
