// Throws from a static constructor.
#include <stdexcept>

#include "core/gadget.hpp"

namespace {

struct Innocent {
  void process(const int&) {}
};
TOFSTREAM_GADGET(Innocent, "plugin_throws", "Comes with a constructor that throws");

const struct Throws {
  Throws() { throw std::logic_error("no licence found"); }
} throws;

}  // namespace
// SPDX-License-Identifier: Apache-2.0
