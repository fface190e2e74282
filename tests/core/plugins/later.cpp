// Takes a name that another plug-in has, beside one that is free: none of its gadgets may appear.
#include "core/gadget.hpp"

namespace {

struct Taken {
  void process(const int&) {}
};
TOFSTREAM_GADGET(Taken, "plugin_sum", "A name that is taken");

struct Free {
  void process(const int&) {}
};
TOFSTREAM_GADGET(Free, "plugin_free", "A name that is free");

}  // namespace
// SPDX-License-Identifier: Apache-2.0
