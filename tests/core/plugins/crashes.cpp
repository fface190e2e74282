// Crashes in a static constructor.
#include <csignal>

#include "core/gadget.hpp"

namespace {

struct Innocent {
  void process(const int&) {}
};
TOFSTREAM_GADGET(Innocent, "plugin_crashes", "Comes with a constructor that crashes");

const struct Crashes {
  Crashes() { std::raise(SIGSEGV); }
} crashes;

}  // namespace
// SPDX-License-Identifier: Apache-2.0
