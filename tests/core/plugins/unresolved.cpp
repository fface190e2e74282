// Calls a function that no library has.
#include "core/gadget.hpp"

int function_of_no_library(int);

namespace {

struct Calls {
  void process(const int& value) { last = function_of_no_library(value); }
  int last = 0;
};
TOFSTREAM_GADGET(Calls, "plugin_unresolved", "Calls what is not there");

}  // namespace
// SPDX-License-Identifier: Apache-2.0
