// What lies on an edge: a payload and what core knows of it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/gadget/context.hpp"
#include "core/gadget/payload.hpp"

namespace tofstream {

struct Message {
  Payload payload;
  MessageInfo info;
  std::uint64_t events = 0;
  std::size_t bytes = 0;
};

}  // namespace tofstream
