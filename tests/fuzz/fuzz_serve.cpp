// Fuzzes the messages between a reconstruction server and its clients: arbitrary bytes, or a body after a correct
// header, must be either read as a message or refused in one line; the same for an image.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "gadgets/io/wire/image.hpp"
#include "tools/serve/health.hpp"
#include "tools/serve/protocol.hpp"

using namespace tofstream;
using namespace tofstream::serve;

namespace {

using Bytes = std::vector<std::byte>;

void read_body(const Message& message) {
  switch (message.kind) {
    case Kind::hello: {
      const Hello hello = read_hello(message);
      const Bytes again = make_hello(hello);
      if (make_hello(read_hello(read_message(again))) != again) std::abort();
      break;
    }
    case Kind::credit: {
      const Bytes again = make_credit(read_credit(message));
      if (read_credit(read_message(again)) != read_credit(message)) std::abort();
      break;
    }
    case Kind::image: {
      const auto decoded = wire::decode_image(read_image_body(message).image);
      if (const auto* received = std::get_if<wire::ReceivedImage>(&decoded)) {
        const Image image = received->image();
        if (wire::encode_image(received->header, image.voxels.span()).empty()) std::abort();
      }
      break;
    }
    case Kind::health: {
      const auto again = to_json(read_health(json_body(message)));
      if (to_json(read_health(again)) != again) std::abort();
      break;
    }
    case Kind::frame:
    case Kind::ping:
    case Kind::pong:
    case Kind::stop:
    case Kind::abort:
    case Kind::list:
    case Kind::ask_health:
      break;
    default:
      json_body(message);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto given = std::as_bytes(std::span(data, size)).subspan(1);
  const Bytes bytes =
      data[0] == 0 ? Bytes(given.begin(), given.end()) : make_message(static_cast<Kind>(data[0]), given);
  try {
    read_body(read_message(bytes));
  } catch (const BadMessage& bad) {
    const std::string why = bad.what();
    if (why.empty() || why.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
