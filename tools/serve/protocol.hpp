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

/// What a message says. Clients' are below 16.
enum class Kind : std::uint8_t {
  hello = 1,
  frame,
  ping,
  stop,
  abort,
  list,
  waiting = 16,
  accepted,
  credit,
  image,
  progress,
  error,
  done,
  pong,
  offer
};

inline constexpr std::size_t message_header_bytes = 8;

/// Bytes of a hello's body; no pipeline needs as much.
inline constexpr std::size_t longest_request = std::size_t{1} << 20;

/// Bytes that are no message, or one that says something else than its kind should; in one line.
struct BadMessage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A message where it lies.
struct Message {
  Kind kind = Kind::ping;
  std::span<const std::byte> body;
};

/// Throws BadMessage where the bytes do not begin as a message of this version does.
Message read_message(std::span<const std::byte> bytes);
std::vector<std::byte> make_message(Kind kind, std::span<const std::byte> body = {});

/// A body of JSON. Throws BadMessage where it is none.
nlohmann::ordered_json json_body(const Message& message);
std::vector<std::byte> make_json_message(Kind kind, const nlohmann::ordered_json& body);

/// Which images of its run a client wants: each update's, as many as there is time for, or the final one.
enum class Images { all, newest, last };

/// What a client asks for.
struct Hello {
  std::string pipeline;               // a name that the server knows; of a sent one, what to call it in errors
  std::string yaml = {};              // the text of a sent one; empty: the server's own
  std::vector<std::string> settings;  // "gadget.parameter=value"
  Images images = Images::newest;
};
/// Throws BadMessage where the body is too long, or does not have the fields of a hello.
Hello read_hello(const Message& message);
std::vector<std::byte> make_hello(const Hello& hello);

/// Bytes of frames that the client may send besides what it may send already. Throws BadMessage.
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
