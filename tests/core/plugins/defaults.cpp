// A default outside its own limits.
#include "core/gadget.hpp"

namespace {

struct BadDefault {
  struct Params {
    int size = 0;
  };
  static constexpr auto params =
      tofstream::describe(tofstream::param<&Params::size>("size", tofstream::range(1, 9), "Out of its range"));
  void process(const int&) {}
};
TOFSTREAM_GADGET(BadDefault, "plugin_defaults", "Breaks its own limits");

}  // namespace
// SPDX-License-Identifier: Apache-2.0
