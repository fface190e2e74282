// What gadgets that send events in several passes declare alike.
#pragma once

#include <cstdint>

#include "core/value/params.hpp"
#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/store_params.hpp"

namespace tofstream {

/// Passes over subsets of events; a gadget's own parameters come before these.
struct PassParams : EventStoreParams {
  int iterations = 1;
  PassRule order = PassRule::sequential;
  std::int64_t seed = 1;
  static constexpr auto params =
      describe(param<&PassParams::iterations>("iterations", range(1, 10000),
                                              "Passes over all subsets: of the stream, or of each frame or gate"),
               param<&PassParams::order>("order", pass_rule_words),
               param<&PassParams::seed>("seed", at_least(0), pass_seed_words)) +
      EventStoreParams::params;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
